package store

import (
	"gpupool/domain"
	"gpupool/domain/pool"
)

type classRow struct {
	ID         pool.ClassID `gorm:"column:id;primaryKey"`
	Name       string       `gorm:"column:name"`
	Vendor     string       `gorm:"column:vendor"`
	Type       string       `gorm:"column:type"`
	Model      string       `gorm:"column:model"`
	MemoryMiB  int64        `gorm:"column:memory_mib"`
	PerCard    int          `gorm:"column:per_card"`
	CPUPerGPU  int          `gorm:"column:cpu_per_gpu"`
	MemPerGPU  int          `gorm:"column:mem_per_gpu"`
	DefaultRun int64        `gorm:"column:default_run_ms"`
	LongestRun int64        `gorm:"column:longest_run_ms"`
	CloudLow   int64        `gorm:"column:cloud_low"`
	CloudHigh  int64        `gorm:"column:cloud_high"`
	CloudNote  string       `gorm:"column:cloud_note"`
	Created    pool.Instant `gorm:"column:created_at"`
}

func (classRow) TableName() string { return "gpu_classes" }

func classOf(r classRow) (domain.GPUClass, error) {
	return domain.GPUClass{ID: r.ID, Name: r.Name, Vendor: r.Vendor, Type: r.Type, Model: r.Model, MemoryMiB: r.MemoryMiB,
		PerCard: r.PerCard, CPUPerGPU: r.CPUPerGPU, MemPerGPU: r.MemPerGPU, DefaultMaxRun: duration(r.DefaultRun),
		MaxRun: duration(r.LongestRun), CloudLow: r.CloudLow, CloudHigh: r.CloudHigh, CloudNote: r.CloudNote, CreatedAt: r.Created}, nil
}

func rowOfClass(c domain.GPUClass) classRow {
	return classRow{c.ID, c.Name, c.Vendor, c.Type, c.Model, c.MemoryMiB, c.PerCard, c.CPUPerGPU, c.MemPerGPU,
		millis(c.DefaultMaxRun), millis(c.MaxRun), c.CloudLow, c.CloudHigh, c.CloudNote, c.CreatedAt}
}

func (t *tx) Class(id pool.ClassID) (domain.GPUClass, error) {
	if err := needed(id); err != nil {
		return domain.GPUClass{}, err
	}
	return one(t, classOf, "id = ?", id)
}

func (t *tx) Classes() ([]domain.GPUClass, error) { return all(t, classOf, "id", "") }

func (t *tx) InsertClass(c domain.GPUClass) error {
	if err := needed(c.ID); err != nil {
		return err
	}
	return insert(t, rowOfClass(c))
}

func (t *tx) UpdateClass(c domain.GPUClass) error {
	if err := needed(c.ID); err != nil {
		return err
	}
	return change(t, rowOfClass(c), []string{"name", "vendor", "type", "model", "memory_mib", "per_card", "cpu_per_gpu",
		"mem_per_gpu", "default_run_ms", "longest_run_ms", "cloud_low", "cloud_high", "cloud_note"}, "id = ?", c.ID)
}
