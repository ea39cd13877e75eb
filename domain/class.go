package domain

import (
	"context"
	"regexp"
	"time"

	"gpupool/domain/pool"
)

// ClassInput is the operator's form of a GPU class, numbers as typed.
type ClassInput struct {
	ID                string // only when it is created, e.g. a100-1g.10gb
	Name              string
	Vendor            string
	Type              string // empty: gpu
	Model             string
	MemoryMiB         string // 0 to 10 000 000; 0 or empty: devices of any memory
	PerCard           string // 1 to 64; empty: 1
	CPUPerGPU         string // MHz, 0 to 10 000 000; empty: 0
	MemPerGPU         string // MiB, 0 to 10 000 000; empty: 0
	DefaultMaxRunHour string // empty: the pool's
	MaxRunHour        string // empty: the pool's
	CloudLow          string // price per GPU-hour; empty: not known
	CloudHigh         string
	CloudNote         string // source and date
}

var classIDs = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,62}$`)

// Classes of the catalogue, by id. Everybody may see them.
func (s *Service) Classes(ctx context.Context) ([]GPUClass, error) {
	var out []GPUClass
	err := s.store.View(ctx, func(tx Tx) (err error) { out, err = tx.Classes(); return err })
	return out, err
}

// CreateClass adds a GPU class. No two classes select the same devices.
func (s *Service) CreateClass(ctx context.Context, a Actor, in ClassInput) (GPUClass, error) {
	return s.saveClass(ctx, a, pool.ClassID(trimmed(in.ID)), in, true)
}

// UpdateClass changes a GPU class; its id stays.
func (s *Service) UpdateClass(ctx context.Context, a Actor, id pool.ClassID, in ClassInput) (GPUClass, error) {
	return s.saveClass(ctx, a, id, in, false)
}

func (s *Service) saveClass(ctx context.Context, a Actor, id pool.ClassID, in ClassInput, create bool) (GPUClass, error) {
	if err := a.NeedOperator(); err != nil {
		return GPUClass{}, err
	}
	var c GPUClass
	err := s.update(ctx, "", func(tx Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		var f Fields
		c = in.class(&f, st)
		c.ID = id
		if create && !classIDs.MatchString(string(id)) {
			f.Add("id", "Must be 2 to 63 characters: small letters, digits, points and hyphens, not beginning with a point or hyphen.")
		}
		all, err := tx.Classes()
		if err != nil {
			return err
		}
		var old *GPUClass
		for i, x := range all {
			switch {
			case x.ID == id:
				old = &all[i]
			case x.Vendor == c.Vendor && x.Type == c.Type && x.Model == c.Model &&
				(x.MemoryMiB == c.MemoryMiB || x.MemoryMiB == 0 || c.MemoryMiB == 0):
				f.Add("model", "%s selects these devices already.", string(x.ID))
			}
		}
		if create && old != nil {
			f.Add("id", "There is a GPU type %s already.", string(id))
		}
		if err := f.Err(); err != nil {
			return err
		}
		if err := tx.BumpVersion(); err != nil {
			return err
		}
		if create {
			c.CreatedAt = tx.Now()
			if err := tx.InsertClass(c); err != nil {
				return err
			}
			return audit(tx, a, "", "class.create", string(id), nil, c)
		}
		if old == nil {
			return Errf(NotFound, "There is no such GPU type.")
		}
		c.CreatedAt = old.CreatedAt
		if err := tx.UpdateClass(c); err != nil {
			return err
		}
		return audit(tx, a, "", "class.update", string(id), old, c)
	})
	return c, err
}

// class reads the form; the id is left out.
func (in ClassInput) class(f *Fields, st Settings) GPUClass {
	or := func(s, d string) string {
		if trimmed(s) == "" {
			return d
		}
		return s
	}
	c := GPUClass{Name: checkName(f, "name", in.Name), Vendor: checkName(f, "vendor", in.Vendor),
		Type: checkName(f, "type", or(in.Type, "gpu")), Model: checkName(f, "model", in.Model), CloudNote: trimmed(in.CloudNote)}
	c.MemoryMiB = checkCount(f, "memory_mib", or(in.MemoryMiB, "0"), 0, 10_000_000)
	c.PerCard = int(checkCount(f, "per_card", or(in.PerCard, "1"), 1, 64))
	c.CPUPerGPU = int(checkCount(f, "cpu_per_gpu", or(in.CPUPerGPU, "0"), 0, 10_000_000))
	c.MemPerGPU = int(checkCount(f, "mem_per_gpu", or(in.MemPerGPU, "0"), 0, 10_000_000))
	c.DefaultMaxRun, c.MaxRun = st.DefaultMaxRun, st.LongestMaxRun
	longest := int64(st.LongestMaxRun / time.Hour)
	if trimmed(in.MaxRunHour) != "" {
		c.MaxRun = time.Duration(checkCount(f, "max_run_hour", in.MaxRunHour, 1, longest)) * time.Hour
	}
	if trimmed(in.DefaultMaxRunHour) != "" {
		c.DefaultMaxRun = time.Duration(checkCount(f, "default_max_run_hour", in.DefaultMaxRunHour, 1, longest)) * time.Hour
	}
	if c.DefaultMaxRun > c.MaxRun {
		f.Add("default_max_run_hour", "Longer than the longest, %d hours.", int64(c.MaxRun/time.Hour))
	}
	if trimmed(in.CloudLow) != "" || trimmed(in.CloudHigh) != "" {
		c.CloudLow = int64(checkPrice(f, "cloud_low", st.Currency, in.CloudLow))
		c.CloudHigh = int64(checkPrice(f, "cloud_high", st.Currency, in.CloudHigh))
		if c.CloudHigh < c.CloudLow {
			f.Add("cloud_high", "Below the low end of the range.")
		}
		checkText(f, "cloud_note", c.CloudNote, true, 200)
	}
	checkText(f, "cloud_note", c.CloudNote, false, 200)
	return c
}
