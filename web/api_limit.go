package web

import (
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// pace is a rate limit: so many at once, then so many a second.
type pace struct {
	perSecond rate.Limit
	burst     int
}

var (
	requests = pace{20, 200}               // of one person, all tokens together
	guesses  = pace{rate.Limit(1) / 3, 20} // wrong tokens from one address
)

// limits counts requests by key, in memory: a portal that was restarted forgives.
type limits struct {
	wall func() time.Time
	mu   sync.Mutex
	all  map[string]*bucket
}

type bucket struct {
	*rate.Limiter
	used time.Time
}

func newLimits(wall func() time.Time) *limits {
	return &limits{wall: wall, all: map[string]*bucket{}}
}

// kept bounds the memory: beyond it, buckets that have long been full again are dropped.
const kept = 10_000

func (l *limits) bucket(key string, p pace, now time.Time) *bucket {
	b, ok := l.all[key]
	if !ok {
		if len(l.all) >= kept {
			for k, x := range l.all {
				if now.Sub(x.used) > 10*time.Minute {
					delete(l.all, k)
				}
			}
		}
		b = &bucket{Limiter: rate.NewLimiter(p.perSecond, p.burst)}
		l.all[key] = b
	}
	b.used = now
	return b
}

// take counts one; the answer is how long to wait, 0 when it is allowed.
func (l *limits) take(key string, p pace) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.wall()
	r := l.bucket(key, p, now).ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait
}

// spent is how long to wait until one is allowed again, without counting.
func (l *limits) spent(key string, p pace) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.wall()
	b, ok := l.all[key]
	if !ok {
		return 0
	}
	if have := b.TokensAt(now); have < 1 {
		return time.Duration((1 - have) / float64(p.perSecond) * float64(time.Second))
	}
	return 0
}

// seconds rounds up, at least 1.
func seconds(d time.Duration) string {
	return strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10)
}
