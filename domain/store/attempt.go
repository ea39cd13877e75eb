package store

import (
	"cmp"

	"gpupool/domain"
	"gpupool/domain/pool"
)

type attemptRow struct {
	JobID      string `gorm:"column:job_id;primaryKey"`
	N          int64  `gorm:"column:n;primaryKey;autoIncrement:false"`
	OrgID      string `gorm:"column:org_id"`
	ProjectID  string `gorm:"column:project_id"`
	UserID     string `gorm:"column:user_id"`
	ClassID    string `gorm:"column:class_id"`
	Placement  string `gorm:"column:placement"`
	Tier       string `gorm:"column:tier"`
	Priority   int64  `gorm:"column:priority"`
	OwnGPUs    int64  `gorm:"column:own_gpus"`
	LoanGPUs   int64  `gorm:"column:loan_gpus"`
	SpotGPUs   int64  `gorm:"column:spot_gpus"`
	State      string `gorm:"column:state"`
	AdmittedAt int64  `gorm:"column:admitted_at"`
	StartedAt  int64  `gorm:"column:started_at"`
	MaxEnd     int64  `gorm:"column:max_end"`
	NoticeAt   int64  `gorm:"column:notice_at"`
	StopAt     int64  `gorm:"column:stop_at"`
	StopReason string `gorm:"column:stop_reason"`
	StopDetail string `gorm:"column:stop_detail"`
	StopSent   int64  `gorm:"column:stop_sent"`
	EndedAt    int64  `gorm:"column:ended_at"`
	EndReason  string `gorm:"column:end_reason"`
	ExitCode   int64  `gorm:"column:exit_code"`
	EndDetail  string `gorm:"column:end_detail"`
	Until      int64  `gorm:"column:guaranteed_until"`
}

func (attemptRow) TableName() string { return "attempts" }

func rowOfAttempt(a domain.Attempt) attemptRow {
	return attemptRow{
		JobID: string(a.ID.Job), N: int64(a.ID.N), OrgID: string(a.Org), ProjectID: string(a.Project), UserID: string(a.User),
		ClassID: string(a.Class), Placement: toJSON(a.Placement), Tier: string(a.Tier), Priority: int64(a.Priority),
		OwnGPUs: int64(a.Split.Own), LoanGPUs: int64(a.Split.Loan), SpotGPUs: int64(a.Split.Spot), State: string(a.State),
		AdmittedAt: int64(a.AdmittedAt), StartedAt: int64(a.StartedAt), MaxEnd: int64(a.MaxEnd), NoticeAt: int64(a.NoticeAt),
		StopAt: int64(a.StopAt), StopReason: string(a.StopReason), StopDetail: printable(a.StopDetail), StopSent: int64(a.StopSent),
		EndedAt: int64(a.EndedAt), EndReason: string(a.End), ExitCode: int64(a.ExitCode), EndDetail: printable(a.EndDetail),
		Until: int64(a.GuaranteedUntil),
	}
}

func (r attemptRow) noun() (domain.Attempt, error) {
	a := domain.Attempt{
		ID: pool.AttemptID{Job: pool.JobID(r.JobID), N: int(r.N)}, Org: pool.OrgID(r.OrgID), Project: pool.ProjectID(r.ProjectID),
		User: pool.UserID(r.UserID), Class: pool.ClassID(r.ClassID), Tier: pool.Tier(r.Tier),
		Priority: int(r.Priority), Split: pool.Split{Own: int(r.OwnGPUs), Loan: int(r.LoanGPUs), Spot: int(r.SpotGPUs)},
		State: domain.AttemptState(r.State), AdmittedAt: pool.Instant(r.AdmittedAt), StartedAt: pool.Instant(r.StartedAt),
		MaxEnd: pool.Instant(r.MaxEnd), NoticeAt: pool.Instant(r.NoticeAt), StopAt: pool.Instant(r.StopAt),
		StopReason: domain.EndReason(r.StopReason), StopDetail: r.StopDetail, StopSent: pool.Instant(r.StopSent),
		EndedAt: pool.Instant(r.EndedAt), End: domain.EndReason(r.EndReason), ExitCode: int(r.ExitCode), EndDetail: r.EndDetail,
		GuaranteedUntil: pool.Instant(r.Until),
	}
	return a, fromJSON("placement", r.Placement, &a.Placement)
}

// attemptColumns are those that UpdateAttempt writes.
var attemptColumns = []string{"class_id", "placement", "tier", "priority", "own_gpus", "loan_gpus", "spot_gpus", "state",
	"started_at", "max_end", "notice_at", "stop_at", "stop_reason", "stop_detail", "stop_sent", "ended_at", "end_reason",
	"exit_code", "end_detail", "guaranteed_until"}

func (t *tx) Attempt(id pool.AttemptID) (domain.Attempt, error) {
	if err := neededAttempt(id); err != nil {
		return domain.Attempt{}, err
	}
	return one(t, attemptRow.noun, "job_id = ? AND n = ?", id.Job, id.N)
}

// Attempts of the job, by n.
func (t *tx) Attempts(job pool.JobID) ([]domain.Attempt, error) {
	if err := needed(job); err != nil {
		return nil, err
	}
	return all(t, attemptRow.noun, "n", "job_id = ?", job)
}

// LiveAttempts of all members that have not ended, oldest first.
func (t *tx) LiveAttempts() ([]domain.Attempt, error) {
	return all(t, attemptRow.noun, "admitted_at, job_id, n", "state <> 'ended'")
}

// LiveAttemptsOf one member that have not ended, oldest first.
func (t *tx) LiveAttemptsOf(org pool.OrgID) ([]domain.Attempt, error) {
	if err := needed(org); err != nil {
		return nil, err
	}
	return all(t, attemptRow.noun, "admitted_at, job_id, n", "org_id = ? AND state <> 'ended'", org)
}

// LastAttempts of the jobs that a member submitted last, by job and n: an index
// finds those jobs, so that it costs the same however long the history is.
func (t *tx) LastAttempts(org pool.OrgID, jobs int) ([]domain.Attempt, error) {
	if err := needed(org); err != nil {
		return nil, err
	}
	return all(t, attemptRow.noun, "job_id, n", "job_id IN (SELECT id FROM jobs WHERE org_id = ? ORDER BY submitted_at DESC, id DESC LIMIT ?)", org, max(0, jobs))
}

func (t *tx) InsertAttempt(a domain.Attempt) error {
	if err := cmp.Or(neededAttempt(a.ID), needed(a.Org), needed(a.Project), needed(a.User), needed(a.Class)); err != nil {
		return err
	}
	return insert(t, rowOfAttempt(a))
}

// UpdateAttempt writes all but the id, whose it is and when it was admitted.
func (t *tx) UpdateAttempt(a domain.Attempt) error {
	if err := neededAttempt(a.ID); err != nil {
		return err
	}
	return change(t, rowOfAttempt(a), attemptColumns, "job_id = ? AND n = ?", a.ID.Job, a.ID.N)
}

// neededAttempt refuses the zero id.
func neededAttempt(id pool.AttemptID) error {
	if id.N <= 0 {
		return needed(pool.JobID(""))
	}
	return needed(id.Job)
}
