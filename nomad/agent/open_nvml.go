//go:build linux && cgo

package main

import (
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

func open() (reader, error) { return start(nvml.New()) }

// library reads GPUs through NVML.
type library struct{ nvml nvml.Interface }

// start initialises NVML. After a failed start no other call may follow: it
// would end the process.
func start(lib nvml.Interface) (reader, error) {
	switch r := lib.Init(); r {
	case nvml.SUCCESS:
		return &library{lib}, nil
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, fmt.Errorf("this node has no NVIDIA driver (libnvidia-ml.so.1 was not found)")
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return nil, fmt.Errorf("the NVIDIA driver is installed but not loaded")
	default:
		return nil, fmt.Errorf("NVML does not start (code %d)", r)
	}
}

func (l *library) Close() { l.nvml.Shutdown() }

// has tells whether the driver's NVML has the function: calling one that an
// old driver lacks ends the process.
func (l *library) has(symbol string) bool {
	return l.nvml.Extensions().LookupSymbol(symbol) == nil
}

func (l *library) Read() (Inventory, error) {
	var inv Inventory
	var r nvml.Return
	if inv.Driver, r = l.nvml.SystemGetDriverVersion(); r != nvml.SUCCESS {
		return inv, fmt.Errorf("NVML does not tell the driver's version: %s", l.nvml.ErrorString(r))
	}
	if v, r := l.nvml.SystemGetNVMLVersion(); r == nvml.SUCCESS {
		inv.NVML = v
	}
	if v, r := l.nvml.SystemGetCudaDriverVersion(); r == nvml.SUCCESS {
		inv.CUDA = fmt.Sprintf("%d.%d", v/1000, v%1000/10)
	}
	n, r := l.nvml.DeviceGetCount()
	if r != nvml.SUCCESS {
		return inv, fmt.Errorf("NVML does not count the GPUs: %s", l.nvml.ErrorString(r))
	}
	inv.Devices = make([]Device, 0, n)
	for i := range n {
		h, r := l.nvml.DeviceGetHandleByIndex(i)
		if r != nvml.SUCCESS {
			// One broken GPU must not hide the others.
			inv.Devices = append(inv.Devices, Device{Index: i, MIG: "none", Fault: l.nvml.ErrorString(r)})
			continue
		}
		inv.Devices = append(inv.Devices, l.device(i, h))
	}
	return inv, nil
}

func (l *library) device(i int, h nvml.Device) Device {
	d := l.identity(i, h)
	if v, r := h.GetPowerUsage(); r == nvml.SUCCESS {
		d.PowerMilliwatts = &v
	}
	if l.has("nvmlDeviceGetTotalEnergyConsumption") {
		if v, r := h.GetTotalEnergyConsumption(); r == nvml.SUCCESS {
			d.EnergyMillijoules = &v
		}
	}
	if v, r := h.GetTemperature(nvml.TEMPERATURE_GPU); r == nvml.SUCCESS {
		d.TemperatureC = &v
	}
	d.MIG = "none"
	if l.has("nvmlDeviceGetMigMode") {
		if mode, _, r := h.GetMigMode(); r == nvml.SUCCESS {
			d.MIG = "off"
			if mode == nvml.DEVICE_MIG_ENABLE {
				d.MIG = "on"
				d.Slices = l.slices(h)
			}
		}
	}
	if d.MIG != "on" { // a sliced GPU does not tell
		if u, r := h.GetUtilizationRates(); r == nvml.SUCCESS {
			d.GPUPercent, d.MemoryPercent = &u.Gpu, &u.Memory
		}
	}
	return d
}

// identity is what whole GPUs and slices share.
func (l *library) identity(i int, h nvml.Device) Device {
	d := Device{Index: i, MIG: "none"}
	var r nvml.Return
	if d.UUID, r = h.GetUUID(); r != nvml.SUCCESS {
		d.Fault = l.nvml.ErrorString(r)
	}
	if d.Name, r = h.GetName(); r != nvml.SUCCESS {
		d.Fault = l.nvml.ErrorString(r)
	}
	if p, r := h.GetPciInfo(); r == nvml.SUCCESS {
		d.PCI = text(p.BusId[:])
	}
	if m, r := h.GetMemoryInfo(); r == nvml.SUCCESS {
		d.MemoryBytes, d.UsedBytes = m.Total, &m.Used
	}
	return d
}

func (l *library) slices(h nvml.Device) []Device {
	n, r := h.GetMaxMigDeviceCount()
	if r != nvml.SUCCESS {
		return nil
	}
	var out []Device
	for i := range n {
		s, r := h.GetMigDeviceHandleByIndex(i)
		if r != nvml.SUCCESS {
			continue // this place is empty
		}
		d := Device{Index: i, MIG: "none"}
		d.UUID, _ = s.GetUUID()
		d.Name, _ = s.GetName()
		if m, r := s.GetMemoryInfo(); r == nvml.SUCCESS {
			d.MemoryBytes, d.UsedBytes = m.Total, &m.Used
		}
		out = append(out, d)
	}
	return out
}

// text is a C string in an array.
func text[T int8 | uint8](b []T) string {
	var s strings.Builder
	for _, c := range b {
		if c == 0 {
			break
		}
		s.WriteByte(byte(c))
	}
	return s.String()
}
