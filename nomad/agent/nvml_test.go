//go:build linux && cgo

package main

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"
)

// telemetry sets the functions that the mock leaves out.
func telemetry(s *server.Server) {
	for _, d := range s.Devices {
		d := d.(*server.Device)
		d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 61_205, nvml.SUCCESS }
		d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 7_000_000_001, nvml.SUCCESS }
		d.GetTemperatureFunc = func(nvml.TemperatureSensors) (uint32, nvml.Return) { return 34, nvml.SUCCESS }
		d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: 97, Memory: 12}, nvml.SUCCESS }
	}
}

func TestAnA100NodeIsReadWhole(t *testing.T) {
	t.Parallel()
	s := dgxa100.New()
	telemetry(s)
	gpus, err := start(s)
	if err != nil {
		t.Fatal(err)
	}
	defer gpus.Close()
	inv, err := gpus.Read()
	if err != nil {
		t.Fatal(err)
	}
	if inv.Driver != "550.54.15" || inv.CUDA != "12.4" || len(inv.Devices) != 8 {
		t.Fatalf("%+v", inv)
	}
	seen := map[string]bool{}
	for i, d := range inv.Devices {
		if d.Index != i || d.UUID == "" || seen[d.UUID] || d.MIG != "off" || d.MemoryBytes < 40_000_000_000 || d.Fault != "" {
			t.Fatalf("%+v", d)
		}
		seen[d.UUID] = true
		if *d.PowerMilliwatts != 61_205 || *d.EnergyMillijoules != 7_000_000_001 || *d.TemperatureC != 34 || *d.GPUPercent != 97 || *d.MemoryPercent != 12 {
			t.Fatalf("the figures of %d differ", i)
		}
	}
}

func TestASlicedGPUShowsItsSlicesAndNoUtilisation(t *testing.T) {
	t.Parallel()
	s := dgxa100.New()
	telemetry(s)
	d := s.Devices[3].(*server.Device)
	d.GetMigModeFunc = func() (int, int, nvml.Return) { return nvml.DEVICE_MIG_ENABLE, nvml.DEVICE_MIG_ENABLE, nvml.SUCCESS }
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	d.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i != 2 {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return &mock.Device{
			GetUUIDFunc:       func() (string, nvml.Return) { return "MIG-1", nvml.SUCCESS },
			GetNameFunc:       func() (string, nvml.Return) { return "A100 MIG 1g.5gb", nvml.SUCCESS },
			GetMemoryInfoFunc: func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 5 << 30, Used: 1}, nvml.SUCCESS },
		}, nvml.SUCCESS
	}
	gpus, err := start(s)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := gpus.Read()
	if err != nil {
		t.Fatal(err)
	}
	got := inv.Devices[3]
	if got.MIG != "on" || got.GPUPercent != nil || len(got.Slices) != 1 || got.Slices[0].UUID != "MIG-1" || got.Slices[0].Index != 2 {
		t.Fatalf("%+v", got)
	}
}

func TestABrokenGPUDoesNotHideTheOthers(t *testing.T) {
	t.Parallel()
	s := dgxa100.New()
	telemetry(s)
	whole := s.DeviceGetHandleByIndexFunc
	s.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i == 5 {
			return nil, nvml.ERROR_GPU_IS_LOST
		}
		return whole(i)
	}
	s.ErrorStringFunc = func(nvml.Return) string { return "GPU is lost" }
	gpus, err := start(s)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := gpus.Read()
	if err != nil || len(inv.Devices) != 8 || inv.Devices[5].Fault != "GPU is lost" || inv.Devices[6].Fault != "" {
		t.Fatalf("%v %+v", err, inv)
	}
}

func TestANodeWithoutADriverIsOneSentence(t *testing.T) {
	t.Parallel()
	for _, r := range []nvml.Return{nvml.ERROR_LIBRARY_NOT_FOUND, nvml.ERROR_DRIVER_NOT_LOADED, nvml.ERROR_UNKNOWN} {
		s := dgxa100.New()
		s.InitFunc = func() nvml.Return { return r }
		if _, err := start(s); err == nil {
			t.Errorf("code %d starts", r)
		}
	}
}
