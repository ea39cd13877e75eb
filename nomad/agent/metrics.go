package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// metric is a figure of each GPU in Prometheus' text format.
type metric struct {
	name, kind, help string
	value            func(Device) (string, bool)
}

func number[T uint32 | uint64](v *T) (string, bool) {
	if v == nil {
		return "", false
	}
	return fmt.Sprint(*v), true
}

// scaled prints an integer with three decimals moved, without a float.
func scaled[T uint32 | uint64](v *T) (string, bool) {
	if v == nil {
		return "", false
	}
	return fmt.Sprintf("%d.%03d", uint64(*v)/1000, uint64(*v)%1000), true
}

var perGPU = []metric{
	{"gpupool_gpu_memory_bytes", "gauge", "Memory of the GPU.", func(d Device) (string, bool) { return number(&d.MemoryBytes) }},
	{"gpupool_gpu_memory_used_bytes", "gauge", "Memory in use.", func(d Device) (string, bool) { return number(d.UsedBytes) }},
	{"gpupool_gpu_power_watts", "gauge", "Power drawn.", func(d Device) (string, bool) { return scaled(d.PowerMilliwatts) }},
	{"gpupool_gpu_energy_joules_total", "counter", "Energy since the driver was loaded.", func(d Device) (string, bool) { return scaled(d.EnergyMillijoules) }},
	{"gpupool_gpu_temperature_celsius", "gauge", "Temperature.", func(d Device) (string, bool) { return number(d.TemperatureC) }},
	{"gpupool_gpu_utilization_percent", "gauge", "Share of time in which a kernel ran.", func(d Device) (string, bool) { return number(d.GPUPercent) }},
	{"gpupool_gpu_memory_utilization_percent", "gauge", "Share of time in which memory moved.", func(d Device) (string, bool) { return number(d.MemoryPercent) }},
}

// metrics writes the inventory in Prometheus' text format.
func metrics(w io.Writer, inv Inventory) error {
	var b bytes.Buffer
	head := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
	}
	// An alarm belongs on this count: a GPU that vanishes sends no event.
	head("gpupool_gpus", "gauge", "GPUs that NVML shows.")
	fmt.Fprintf(&b, "gpupool_gpus %d\n", len(inv.Devices))
	head("gpupool_gpu_info", "gauge", "What the GPU is; always 1.")
	for _, d := range inv.Devices {
		fmt.Fprintf(&b, "gpupool_gpu_info{%s,mig=%q,driver=%s} 1\n", labels(d), d.MIG, quoted(inv.Driver))
	}
	head("gpupool_gpu_readable", "gauge", "1 when the GPU could be read.")
	for _, d := range inv.Devices {
		readable := 1
		if d.Fault != "" {
			readable = 0
		}
		fmt.Fprintf(&b, "gpupool_gpu_readable{%s} %d\n", labels(d), readable)
	}
	for _, m := range perGPU {
		head(m.name, m.kind, m.help)
		for _, d := range inv.Devices {
			if v, ok := m.value(d); ok && d.Fault == "" {
				fmt.Fprintf(&b, "%s{%s} %s\n", m.name, labels(d), v)
			}
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func labels(d Device) string {
	return fmt.Sprintf("gpu=\"%d\",uuid=%s,name=%s", d.Index, quoted(d.UUID), quoted(d.Name))
}

var escape = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func quoted(s string) string { return `"` + escape.Replace(s) + `"` }
