package quota

import (
	"syscall"
	"time"
	"unsafe"
)

// cpu is the processor time of this thread: what a decision costs, also on a
// machine that does other work.
func cpu() time.Duration {
	const threadTime = 3 // CLOCK_THREAD_CPUTIME_ID
	var t syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, threadTime, uintptr(unsafe.Pointer(&t)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(t.Nano())
}
