//go:build !linux || !cgo

package main

import (
	"errors"
	"runtime"
)

// open says why this build can't read GPUs.
func open() (reader, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("GPUs are read on Linux only, this is " + runtime.GOOS)
	}
	return nil, errors.New("this program was built without cgo, which NVML needs: build it with CGO_ENABLED=1 and a C compiler")
}
