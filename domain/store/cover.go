package store

import (
	"gpupool/domain"
	"gpupool/domain/pool"
)

type coverRow struct {
	JobID    string `gorm:"column:job_id;primaryKey"`
	N        int64  `gorm:"column:n;primaryKey;autoIncrement:false"`
	FromAt   int64  `gorm:"column:from_at;primaryKey;autoIncrement:false"`
	OwnGPUs  int64  `gorm:"column:own_gpus"`
	LoanGPUs int64  `gorm:"column:loan_gpus"`
	SpotGPUs int64  `gorm:"column:spot_gpus"`
}

func (coverRow) TableName() string { return "covers" }

func (r coverRow) noun() (domain.CoverRow, error) {
	return domain.CoverRow{
		Attempt: pool.AttemptID{Job: pool.JobID(r.JobID), N: int(r.N)}, From: pool.Instant(r.FromAt),
		Split: pool.Split{Own: int(r.OwnGPUs), Loan: int(r.LoanGPUs), Spot: int(r.SpotGPUs)},
	}, nil
}

// InsertCover appends a decided change of cover; a second one from the same
// instant is Conflict. Rows are never changed: the past is not re-covered.
func (t *tx) InsertCover(c domain.CoverRow) error {
	if err := neededAttempt(c.Attempt); err != nil {
		return err
	}
	return insert(t, coverRow{
		JobID: string(c.Attempt.Job), N: int64(c.Attempt.N), FromAt: int64(c.From),
		OwnGPUs: int64(c.Split.Own), LoanGPUs: int64(c.Split.Loan), SpotGPUs: int64(c.Split.Spot),
	})
}

// Covers of the attempt, by From.
func (t *tx) Covers(a pool.AttemptID) ([]domain.CoverRow, error) {
	if err := neededAttempt(a); err != nil {
		return nil, err
	}
	return all(t, coverRow.noun, "from_at", "job_id = ? AND n = ?", a.Job, a.N)
}

// LiveCovers of all attempts that have not ended, of one member or of all with
// "", by From.
func (t *tx) LiveCovers(org pool.OrgID) ([]domain.CoverRow, error) {
	live := "(job_id, n) IN (SELECT a.job_id, a.n FROM attempts AS a WHERE a.state <> 'ended'"
	if org == "" {
		return all(t, coverRow.noun, "from_at, job_id, n", live+")")
	}
	return all(t, coverRow.noun, "from_at, job_id, n", live+" AND a.org_id = ?)", org)
}
