package store

import (
	"cmp"

	"gpupool/domain"
	"gpupool/domain/pool"
)

type promiseRow struct {
	ID        string `gorm:"column:id;primaryKey"`
	JobID     string `gorm:"column:job_id"`
	ClassID   string `gorm:"column:class_id"`
	Placement string `gorm:"column:placement"`
	Victims   string `gorm:"column:victims"`
	Rule      string `gorm:"column:rule"`
	MadeAt    int64  `gorm:"column:made_at"`
	StopAt    int64  `gorm:"column:stop_at"`
	State     string `gorm:"column:state"`
}

func (promiseRow) TableName() string { return "promises" }

// victim is the stored form of an attempt's id.
type victim struct {
	Job pool.JobID `json:"job"`
	N   int        `json:"n"`
}

func rowOfPromise(p domain.Promise) promiseRow {
	var victims []victim
	for _, a := range p.Victims {
		victims = append(victims, victim(a))
	}
	return promiseRow{
		ID: p.ID, JobID: string(p.Job), ClassID: string(p.Class), Placement: toJSON(p.Placement), Victims: toJSON(victims),
		Rule: p.Rule, MadeAt: int64(p.MadeAt), StopAt: int64(p.StopAt), State: string(p.State),
	}
}

func (r promiseRow) noun() (domain.Promise, error) {
	p := domain.Promise{
		ID: r.ID, Job: pool.JobID(r.JobID), Class: pool.ClassID(r.ClassID),
		Rule: r.Rule, MadeAt: pool.Instant(r.MadeAt), StopAt: pool.Instant(r.StopAt), State: domain.PromiseState(r.State),
	}
	var victims []victim
	if err := cmp.Or(fromJSON("placement", r.Placement, &p.Placement), fromJSON("victims", r.Victims, &victims)); err != nil {
		return p, err
	}
	for _, v := range victims {
		p.Victims = append(p.Victims, pool.AttemptID(v))
	}
	return p, nil
}

// OpenPromises of all members, oldest first.
func (t *tx) OpenPromises() ([]domain.Promise, error) {
	return all(t, promiseRow.noun, "made_at, id", "state = 'open'")
}

func (t *tx) InsertPromise(p domain.Promise) error {
	if err := cmp.Or(needed(p.ID), needed(string(p.Job)), needed(string(p.Class))); err != nil {
		return err
	}
	return insert(t, rowOfPromise(p))
}

// UpdatePromise writes all but the id, the job and the instant it was made.
func (t *tx) UpdatePromise(p domain.Promise) error {
	if err := needed(p.ID); err != nil {
		return err
	}
	return change(t, rowOfPromise(p), []string{"class_id", "placement", "victims", "rule", "stop_at", "state"}, "id = ?", p.ID)
}
