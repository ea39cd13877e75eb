package store

import (
	"cmp"
	"slices"
	"time"

	"gorm.io/gorm"

	"gpupool/domain"
	"gpupool/domain/meter"
	"gpupool/domain/pool"
)

type segmentRow struct {
	AccountID     string `gorm:"column:account_id;primaryKey"`
	Seq           int64  `gorm:"column:seq;primaryKey;autoIncrement:false"`
	AllocID       string `gorm:"column:alloc_id"`
	JobID         string `gorm:"column:job_id"`
	N             int64  `gorm:"column:n"`
	StartAt       int64  `gorm:"column:start_at"`
	EndAt         int64  `gorm:"column:end_at"`
	ClassID       string `gorm:"column:class_id"`
	GPUs          int64  `gorm:"column:gpus"`
	Cover         string `gorm:"column:cover"`
	PriceRowID    string `gorm:"column:price_row_id"`
	PlanVersionID string `gorm:"column:plan_version_id"`
	OrgID         string `gorm:"column:org_id"`
	ProjectID     string `gorm:"column:project_id"`
	UserID        string `gorm:"column:user_id"`
	NodeID        string `gorm:"column:node_id"`
	Source        string `gorm:"column:source"`
	Quality       string `gorm:"column:quality"`
	Sign          int64  `gorm:"column:sign"`
	Revision      int64  `gorm:"column:revision"`
	DayAt         int64  `gorm:"column:day_at"`
	UseGPUMs      int64  `gorm:"column:use_gpums"`
}

func (segmentRow) TableName() string { return "segments" }

func rowOfSegment(s domain.Segment, zone *time.Location) segmentRow {
	return segmentRow{
		AccountID: string(s.Account), Seq: s.Seq, AllocID: string(s.Alloc), JobID: string(s.Attempt.Job), N: int64(s.Attempt.N),
		StartAt: int64(s.Start), EndAt: int64(s.End), ClassID: string(s.Class), GPUs: int64(s.GPUs), Cover: string(s.Cover),
		PriceRowID: string(s.PriceRow), PlanVersionID: string(s.PlanVersion), OrgID: string(s.Org), ProjectID: string(s.Project),
		UserID: string(s.User), NodeID: string(s.Node), Source: s.Source, Quality: string(s.Quality), Sign: int64(s.Sign),
		Revision: int64(s.Revision), DayAt: int64(dayOf(s.Start, zone)), UseGPUMs: int64(s.Use()),
	}
}

func (r segmentRow) noun() (domain.Segment, error) {
	return domain.Segment{
		Seq: r.Seq, Alloc: pool.AllocID(r.AllocID), Attempt: pool.AttemptID{Job: pool.JobID(r.JobID), N: int(r.N)},
		Start: pool.Instant(r.StartAt), End: pool.Instant(r.EndAt), Class: pool.ClassID(r.ClassID), GPUs: int(r.GPUs),
		Cover: pool.Cover(r.Cover), PriceRow: pool.PriceRowID(r.PriceRowID), PlanVersion: pool.PlanVersionID(r.PlanVersionID),
		Org: pool.OrgID(r.OrgID), Project: pool.ProjectID(r.ProjectID), User: pool.UserID(r.UserID), Account: pool.AccountID(r.AccountID),
		Node: pool.NodeID(r.NodeID), Source: r.Source, Quality: meter.Quality(r.Quality), Sign: int(r.Sign), Revision: int(r.Revision),
	}, nil
}

// dayOf is the first instant of the zone's day in which i lies.
func dayOf(i pool.Instant, zone *time.Location) pool.Instant {
	y, m, d := i.In(zone).Date()
	return pool.DayStart(y, m, d, zone)
}

// insertAtOnce bounds the rows of one insert, so that its arguments stay below
// the limits of both engines (32 766 and 65 535).
const insertAtOnce = 400

// AppendSegments numbers the segments per billing account, in the order given
// and without gaps, and inserts them. A segment that is in the ledger already
// makes the whole call Conflict and the transaction fail, since a number
// would be lost; an unknown account is NotFound. It is one statement for the
// zone, one per account and one per 400 rows.
func (t *tx) AppendSegments(segments []domain.Segment) ([]domain.Segment, error) {
	if len(segments) == 0 {
		return nil, nil
	}
	zone, err := t.zone()
	if err != nil {
		return nil, err
	}
	out := slices.Clone(segments)
	if err := t.number(out); err != nil {
		return nil, err
	}
	rows := make([]segmentRow, len(out))
	for i, s := range out {
		if err := checkSegment(s); err != nil {
			return nil, err
		}
		rows[i] = rowOfSegment(s, zone)
	}
	return out, fail(t.db.CreateInBatches(rows, insertAtOnce).Error)
}

// number takes the next numbers of each account, accounts in order so that two
// writers never wait for each other in a circle.
func (t *tx) number(segments []domain.Segment) error {
	count := map[pool.AccountID]int64{}
	var accounts []pool.AccountID
	for _, s := range segments {
		if count[s.Account] == 0 {
			accounts = append(accounts, s.Account)
		}
		count[s.Account]++
	}
	slices.Sort(accounts)
	next := map[pool.AccountID]int64{}
	for _, a := range accounts {
		if err := needed(a); err != nil {
			return err
		}
		var last []int64
		err := t.db.Raw("UPDATE billing_accounts SET last_seq = last_seq + ? WHERE id = ? RETURNING last_seq", count[a], a).Scan(&last).Error
		if err != nil {
			return fail(err)
		}
		if len(last) == 0 {
			return notFound(segmentRow{})
		}
		next[a] = last[0] - count[a]
	}
	for i := range segments {
		next[segments[i].Account]++
		segments[i].Seq = next[segments[i].Account]
	}
	return nil
}

func checkSegment(s domain.Segment) error {
	if err := cmp.Or(needed(s.Alloc), neededAttempt(s.Attempt), needed(s.Org), needed(s.Project), needed(s.Class), needed(s.PriceRow)); err != nil {
		return err
	}
	if s.End <= s.Start || s.GPUs <= 0 || s.Sign != 1 && s.Sign != -1 || s.Revision < 0 || !s.Cover.Valid() {
		return domain.Errf(domain.Invalid, "This is no usage record.")
	}
	return nil
}

// zone is the billing zone, UTC before the pool has settings.
func (t *tx) zone() (*time.Location, error) {
	s, err := t.Settings()
	if domain.CodeOf(err) == domain.NotFound {
		return time.UTC, nil
	}
	if err != nil {
		return nil, err
	}
	return s.Location(), nil
}

// Segments by billing account, then number.
func (t *tx) Segments(f domain.SegmentFilter) ([]domain.Segment, error) {
	q, none := t.segmentsWhere(f)
	if none {
		return nil, nil
	}
	var rows []segmentRow
	err := q.Order("account_id, seq").Find(&rows).Error
	return mapped(rows, fail(err), segmentRow.noun)
}

// segmentsWhere is the filter as conditions; none: it can select nothing.
func (t *tx) segmentsWhere(f domain.SegmentFilter) (q *gorm.DB, none bool) {
	q = t.db.Model(&segmentRow{})
	if f.Projects != nil {
		if len(f.Projects) == 0 {
			return q, true
		}
		q = q.Where("project_id IN ?", f.Projects)
	}
	for _, c := range []struct {
		set   bool
		where string
		arg   any
	}{
		{f.Org != "", "org_id = ?", f.Org},
		{f.Account != "", "account_id = ?", f.Account},
		{f.Job != "", "job_id = ?", f.Job},
		{f.Project != "", "project_id = ?", f.Project},
		{f.User != "", "user_id = ?", f.User},
		{f.From != 0, "start_at >= ?", f.From},
		{f.To != 0, "start_at < ?", f.To},
		{f.AfterSeq != 0, "seq > ?", f.AfterSeq},
		{f.ToSeq != 0, "seq <= ?", f.ToSeq},
	} {
		if c.set {
			q = q.Where(c.where, c.arg)
		}
	}
	return q, false
}
