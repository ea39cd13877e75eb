package main

// reader reads the GPUs of this node.
type reader interface {
	// Read takes the figures now. An error means that none could be taken; a
	// figure that a GPU doesn't have is nil.
	Read() (Inventory, error)
	Close()
}

// Inventory is what the agent tells of its node. It is this program's own wire
// type; fields are only ever added.
type Inventory struct {
	Driver  string   `json:"driver"`
	NVML    string   `json:"nvml"`
	CUDA    string   `json:"cuda"`
	Devices []Device `json:"devices"`
}

// Device is a GPU, or a slice of one in Slices.
type Device struct {
	Index       int     `json:"index"`
	UUID        string  `json:"uuid"`
	Name        string  `json:"name"`
	PCI         string  `json:"pci,omitempty"`
	MemoryBytes uint64  `json:"memory_bytes"`
	UsedBytes   *uint64 `json:"used_bytes"`
	MIG         string  `json:"mig"` // off, on, or none: the GPU can't be sliced

	PowerMilliwatts   *uint32 `json:"power_mw"`
	EnergyMillijoules *uint64 `json:"energy_mj"` // since the driver was loaded
	TemperatureC      *uint32 `json:"temperature_c"`
	GPUPercent        *uint32 `json:"gpu_percent"`    // not known of a sliced GPU
	MemoryPercent     *uint32 `json:"memory_percent"` // share of time in which memory moved

	Slices []Device `json:"slices,omitempty"`
	Fault  string   `json:"fault,omitempty"` // why this GPU could not be read
}
