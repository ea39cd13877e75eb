package main

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkFiguresOfStart builds the program as it is shipped and starts the
// demo in an empty folder: goal, measured, and whether it is met.
func BenchmarkFiguresOfStart(b *testing.B) {
	dir := b.TempDir()
	program := filepath.Join(dir, "gpupool")
	build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("CGO_ENABLED=0 go build: %v\n%s", err, out)
	}
	const goal = 5 * time.Second
	for b.Loop() {
		page, cpu := firstPage(b, program)
		b.Logf("start to the first page with its history: goal %v, measured %v, %s", goal, page.Round(time.Millisecond), verdict(page < goal))
		b.Logf("CPU of start, history and first page: goal %v, measured %v, %s", goal, cpu.Round(time.Millisecond), verdict(cpu < goal))
	}
}

// firstPage starts a demo of its own, and returns the time until its first
// page has come whole and the CPU time that the program took until it had ended.
func firstPage(b *testing.B, program string) (page, cpu time.Duration) {
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, program)
	c.Env = []string{"GPUPOOL_ADDR=127.0.0.1:0", "GPUPOOL_DATA=" + filepath.Join(b.TempDir(), "data"), "HOME=" + b.TempDir()}
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		address, found := strings.CutPrefix(lines.Text(), "Open ")
		if !found {
			continue
		}
		res, err := http.Get(address)
		if err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			b.Fatalf("the first page answers %s", res.Status)
		}
		page = time.Since(began)
		break
	}
	if page == 0 {
		b.Fatal("the program ended before it named its address")
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		b.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := c.Wait(); err != nil {
		b.Fatal(err)
	}
	return page, c.ProcessState.UserTime() + c.ProcessState.SystemTime()
}

func verdict(ok bool) string {
	if ok {
		return "ok"
	}
	return "missed"
}
