package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
)

// fixed is a node that always reads the same.
type fixed struct {
	inv Inventory
	err error
}

func (f fixed) Read() (Inventory, error) { return f.inv, f.err }
func (fixed) Close()                     {}

func ptr[T any](v T) *T { return &v }

var node = Inventory{Driver: "550.54.15", Devices: []Device{
	{Index: 0, UUID: "GPU-a", Name: `A100 "80GB"`, MIG: "off", MemoryBytes: 85899345920, PowerMilliwatts: ptr(uint32(61_205)), GPUPercent: ptr(uint32(0))},
	{Index: 1, UUID: "GPU-b", MIG: "on"},
	{Index: 2, MIG: "none", Fault: "GPU is lost"},
}}

func TestTheProgramSaysHowItEnded(t *testing.T) {
	t.Parallel()
	tests := []struct {
		sentence string
		args     []string
		open     func() (reader, error)
		code     int
		stderr   string
	}{
		{"once with GPUs", []string{"--once"}, func() (reader, error) { return fixed{inv: node}, nil }, exitDone, ""},
		{"once without a driver", []string{"--once"}, func() (reader, error) { return nil, errors.New("no driver") }, exitNoNVML, "agent: no driver\n"},
		{"once with a driver that fails", []string{"--once"}, func() (reader, error) { return fixed{err: errors.New("lost")}, nil }, exitFailed, "agent: lost\n"},
		{"nothing asked", nil, nil, exitUsage, "agent: give either"},
		{"both asked", []string{"--once", "--listen", ":0"}, nil, exitUsage, "agent: give either"},
		{"an unknown flag", []string{"--twice"}, nil, exitUsage, "not defined"},
		{"an address that can't be taken", []string{"--listen", "256.0.0.1:1"}, func() (reader, error) { return fixed{inv: node}, nil }, exitFailed, "agent: "},
	}
	for _, tt := range tests {
		t.Run(tt.sentence, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), tt.args, tt.open, &stdout, &stderr)
			if code != tt.code || !strings.Contains(stderr.String(), tt.stderr) || tt.stderr == "" && stderr.Len() > 0 {
				t.Fatalf("code %d, stderr %q", code, stderr.String())
			}
			if (stdout.Len() > 0) != (tt.code == exitDone) {
				t.Fatalf("stdout %q", stdout.String())
			}
		})
	}
}

// Here there is a driver or there isn't: either way the program ends by itself
// with a code that its documentation names.
func TestTheRealLibraryNeverKillsTheProgram(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	switch code := run(t.Context(), []string{"--once"}, open, &stdout, &stderr); code {
	case exitDone:
		var inv Inventory
		if err := json.Unmarshal(stdout.Bytes(), &inv); err != nil || inv.Driver == "" {
			t.Fatalf("%v: %s", err, stdout.String())
		}
	case exitNoNVML:
		if strings.Count(stderr.String(), "\n") != 1 || stdout.Len() > 0 {
			t.Fatalf("not one clear sentence: %q", stderr.String())
		}
	default:
		t.Fatalf("code %d: %s", code, stderr.String())
	}
}

func TestMetricsOfANode(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	handler(fixed{inv: node}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	got := w.Body.String()
	for _, want := range []string{
		"gpupool_gpus 3\n",
		`gpupool_gpu_info{gpu="0",uuid="GPU-a",name="A100 \"80GB\"",mig="off",driver="550.54.15"} 1` + "\n",
		`gpupool_gpu_readable{gpu="2",uuid="",name=""} 0` + "\n",
		`gpupool_gpu_power_watts{gpu="0",uuid="GPU-a",name="A100 \"80GB\""} 61.205` + "\n",
		`gpupool_gpu_utilization_percent{gpu="0",uuid="GPU-a",name="A100 \"80GB\""} 0` + "\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, `gpupool_gpu_utilization_percent{gpu="1"`) {
		t.Error("a figure that is not known is shown")
	}
	w = httptest.NewRecorder()
	handler(fixed{err: errors.New("lost")}).ServeHTTP(w, httptest.NewRequest("GET", "/inventory", nil))
	if w.Code != 503 {
		t.Errorf("a node that can't be read answers %d", w.Code)
	}
}
