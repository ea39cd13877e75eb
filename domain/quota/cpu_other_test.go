//go:build !linux

package quota

import "time"

var began = time.Now()

func cpu() time.Duration { return time.Since(began) }
