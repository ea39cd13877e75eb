package store

import (
	"gpupool/domain"
)

type jobLogRow struct {
	JobID string `gorm:"column:job_id;primaryKey"`
	Tail  []byte `gorm:"column:tail"`
}

func (jobLogRow) TableName() string { return "job_logs" }

// jobAndLog is a job with the last of what it wrote, read in one statement.
type jobAndLog struct {
	Job  jobRow `gorm:"embedded"`
	Tail []byte `gorm:"column:tail"`
}

func (r jobAndLog) noun() (domain.Job, error) {
	j, err := r.Job.noun()
	j.LogTail = r.Tail
	return j, err
}

func (t *tx) jobWithLog(where string, args ...any) (domain.Job, error) {
	var rows []jobAndLog
	err := t.db.Model(&jobRow{}).Select("jobs.*, (SELECT tail FROM job_logs WHERE job_id = jobs.id) AS tail").Where(where, args...).Scan(&rows).Error
	if err != nil {
		return domain.Job{}, fail(err)
	}
	if len(rows) == 0 {
		return domain.Job{}, notFound(jobRow{})
	}
	return rows[0].noun()
}

// saveLog keeps the log that came with the job; none leaves what is kept.
func (t *tx) saveLog(j domain.Job) error {
	if len(j.LogTail) == 0 {
		return nil
	}
	return put(t, jobLogRow{JobID: string(j.ID), Tail: j.LogTail}, []string{"job_id"}, []string{"tail"})
}
