// Command agent runs on a GPU node and tells what its GPUs are and do, read
// through NVIDIA's management library (NVML).
//
//	agent --once               prints the inventory as JSON and ends
//	agent --listen :9464       serves /metrics (Prometheus) and /inventory (JSON)
//
// Exit codes: 0 done, 1 failed, 2 wrong usage, 3 there is no NVML to read (no
// driver, no NVIDIA GPU, or built without cgo or not for Linux).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitNoNVML = 3
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], open, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, open func() (reader, error), stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	flags.SetOutput(stderr)
	once := flags.Bool("once", false, "print the inventory as JSON and end")
	listen := flags.String("listen", "", "serve /metrics and /inventory at this address, e.g. :9464")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return exitDone
	} else if err != nil {
		return exitUsage
	}
	if *once == (*listen != "") || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "agent: give either --once or --listen ADDRESS")
		return exitUsage
	}
	gpus, err := open()
	if err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		return exitNoNVML
	}
	defer gpus.Close()
	if *once {
		err = show(gpus, stdout)
	} else {
		err = serve(ctx, *listen, gpus, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "agent:", err)
		return exitFailed
	}
	return exitDone
}

func show(gpus reader, w io.Writer) error {
	inv, err := gpus.Read()
	if err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(inv)
}

func serve(ctx context.Context, addr string, gpus reader, log io.Writer) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(log, "agent: serving http://%s/metrics\n", l.Addr())
	srv := &http.Server{Handler: handler(gpus), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		shut, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer done()
		return srv.Shutdown(shut)
	}
}

func handler(gpus reader) http.Handler {
	mux := http.NewServeMux()
	give := func(kind string, write func(io.Writer, Inventory) error) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			inv, err := gpus.Read()
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			w.Header().Set("Content-Type", kind)
			_ = write(w, inv) // the reader went away
		}
	}
	mux.HandleFunc("GET /metrics", give("text/plain; version=0.0.4; charset=utf-8", metrics))
	mux.HandleFunc("GET /inventory", give("application/json", func(w io.Writer, inv Inventory) error {
		return json.NewEncoder(w).Encode(inv)
	}))
	return mux
}
