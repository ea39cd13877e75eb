package store

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

type jobRow struct {
	ID          string `gorm:"column:id;primaryKey"`
	OrgID       string `gorm:"column:org_id"`
	ProjectID   string `gorm:"column:project_id"`
	UserID      string `gorm:"column:user_id"`
	Name        string `gorm:"column:name"`
	Search      string `gorm:"column:search"`
	Classes     string `gorm:"column:classes"`
	Nodes       int64  `gorm:"column:nodes"`
	GPUsPerNode int64  `gorm:"column:gpus_per_node"`
	Tier        string `gorm:"column:tier"`
	Priority    int64  `gorm:"column:priority"`
	MaxRunMs    int64  `gorm:"column:max_run_ms"`
	Renewable   bool   `gorm:"column:renewable"`
	NotBefore   int64  `gorm:"column:not_before"`
	Deadline    int64  `gorm:"column:deadline"`
	DependsOn   string `gorm:"column:depends_on"`
	Spec        string `gorm:"column:spec"`
	State       string `gorm:"column:state"`
	Reasons     string `gorm:"column:reasons"`
	Position    int64  `gorm:"column:position"`
	StartsBy    int64  `gorm:"column:starts_by"`
	UpTo        int64  `gorm:"column:up_to"`
	Attempts    int64  `gorm:"column:attempts"`
	SubmittedAt int64  `gorm:"column:submitted_at"`
	EndedAt     int64  `gorm:"column:ended_at"`
	EndReason   string `gorm:"column:end_reason"`
	EndDetail   string `gorm:"column:end_detail"`
	StopBy      string `gorm:"column:stop_by"`
	StopAsked   int64  `gorm:"column:stop_asked"`
}

func (jobRow) TableName() string { return "jobs" }

func rowOfJob(j domain.Job) jobRow {
	return jobRow{
		ID: string(j.ID), OrgID: string(j.Org), ProjectID: string(j.Project), UserID: string(j.User),
		Name: j.Name, Search: strings.ToLower(j.Name + " " + string(j.ID)), Classes: toJSON(j.Classes),
		Nodes: int64(j.Nodes), GPUsPerNode: int64(j.GPUsPerNode), Tier: string(j.Tier), Priority: int64(j.Priority),
		MaxRunMs: j.MaxRun.Milliseconds(), Renewable: j.Renewable, NotBefore: int64(j.NotBefore), Deadline: int64(j.Deadline), DependsOn: string(j.DependsOn),
		Spec: toJSON(j.Spec), State: string(j.State), Reasons: toJSON(j.Reasons), Position: int64(j.Position),
		StartsBy: int64(j.StartsBy), UpTo: int64(j.UpTo), Attempts: int64(j.Attempts), SubmittedAt: int64(j.SubmittedAt),
		EndedAt: int64(j.EndedAt), EndReason: string(j.End), EndDetail: printable(j.EndDetail), StopBy: j.StopBy, StopAsked: int64(j.StopAsked),
	}
}

func (r jobRow) noun() (domain.Job, error) {
	j := domain.Job{
		ID: pool.JobID(r.ID), Org: pool.OrgID(r.OrgID), Project: pool.ProjectID(r.ProjectID), User: pool.UserID(r.UserID),
		Name: r.Name, Nodes: int(r.Nodes), GPUsPerNode: int(r.GPUsPerNode), Tier: pool.Tier(r.Tier),
		Priority: int(r.Priority), MaxRun: time.Duration(r.MaxRunMs) * time.Millisecond, Renewable: r.Renewable,
		NotBefore: pool.Instant(r.NotBefore), Deadline: pool.Instant(r.Deadline), DependsOn: pool.JobID(r.DependsOn), State: domain.JobState(r.State),
		Position: int(r.Position), StartsBy: pool.Instant(r.StartsBy), UpTo: money.Amount(r.UpTo),
		Attempts: int(r.Attempts), SubmittedAt: pool.Instant(r.SubmittedAt), EndedAt: pool.Instant(r.EndedAt),
		End: domain.EndReason(r.EndReason), EndDetail: r.EndDetail, StopBy: r.StopBy, StopAsked: pool.Instant(r.StopAsked),
	}
	return j, cmp.Or(fromJSON("classes", r.Classes, &j.Classes), fromJSON("spec", r.Spec, &j.Spec), fromJSON("reasons", r.Reasons, &j.Reasons))
}

// jobColumns are those that UpdateJob writes.
var jobColumns = []string{"project_id", "user_id", "name", "search", "classes", "nodes", "gpus_per_node", "tier", "priority",
	"max_run_ms", "renewable", "not_before", "deadline", "depends_on", "spec", "state", "reasons", "position", "starts_by", "up_to",
	"attempts", "ended_at", "end_reason", "end_detail", "stop_by", "stop_asked"}

// Job of the organisation.
func (t *tx) Job(org pool.OrgID, id pool.JobID) (domain.Job, error) {
	if err := cmp.Or(needed(org), needed(id)); err != nil {
		return domain.Job{}, err
	}
	return t.jobWithLog("id = ? AND org_id = ?", id, org)
}

// JobByID finds a job of any member, for loops.
func (t *tx) JobByID(id pool.JobID) (domain.Job, error) {
	if err := needed(id); err != nil {
		return domain.Job{}, err
	}
	return t.jobWithLog("id = ?", id)
}

// maxPage bounds every page of a list.
const maxPage = 200

// page is the limit asked for, or the most when none or too much was.
func page(limit int) int {
	if limit <= 0 || limit > maxPage {
		return maxPage
	}
	return limit
}

// Jobs is one page of jobs, newest first, without their logs. It is two
// statements with a cursor, else one, and reads no more rows than the page
// where an index serves the filter.
func (t *tx) Jobs(f domain.JobFilter) ([]domain.Job, error) {
	if f.Projects != nil && len(f.Projects) == 0 {
		return nil, nil
	}
	q := t.jobsWhere(f)
	if f.Before != "" {
		at, err := t.jobCursor(f)
		if err != nil {
			return nil, err
		}
		q = q.Where("(submitted_at, id) < (?, ?)", at.SubmittedAt, at.ID)
	}
	var rows []jobRow
	err := q.Order("submitted_at DESC, id DESC").Limit(page(f.Limit)).Find(&rows).Error
	return mapped(rows, fail(err), jobRow.noun)
}

// jobCursor is the place of the job after which the page begins; a foreign one
// is NotFound.
func (t *tx) jobCursor(f domain.JobFilter) (jobRow, error) {
	if f.Org == "" {
		return find[jobRow](t, "id = ?", f.Before)
	}
	return find[jobRow](t, "id = ? AND org_id = ?", f.Before, f.Org)
}

func (t *tx) jobsWhere(f domain.JobFilter) *gorm.DB {
	q := t.db
	if f.Org != "" {
		q = q.Where("org_id = ?", f.Org)
	}
	if f.Project != "" {
		q = q.Where("project_id = ?", f.Project)
	}
	if f.Projects != nil {
		q = q.Where("project_id IN ?", f.Projects)
	}
	if f.User != "" {
		q = q.Where("user_id = ?", f.User)
	}
	if f.Class != "" {
		id, _ := json.Marshal(f.Class) // a string always marshals
		q = q.Where(t.contains("classes"), string(id))
	}
	if len(f.States) > 0 {
		q = q.Where("state IN ?", f.States)
		if !slices.Contains(f.States, domain.JobEnded) {
			q = q.Where("state <> 'ended'") // lets the index of live jobs serve
		}
	}
	if f.Search != "" {
		q = q.Where(t.contains("search"), strings.ToLower(f.Search))
	}
	if f.From != 0 {
		q = q.Where("submitted_at >= ?", f.From)
	}
	if f.To != 0 {
		q = q.Where("submitted_at < ?", f.To)
	}
	return q
}

// contains is the condition that the text column holds the argument as it
// stands: no character of it is a pattern.
func (t *tx) contains(column string) string {
	if t.db.Name() == "postgres" {
		return "strpos(" + column + ", ?) > 0"
	}
	return "instr(" + column + ", ?) > 0"
}

// CountJobs of the organisation by state; a state without jobs is absent.
func (t *tx) CountJobs(org pool.OrgID) (map[domain.JobState]int64, error) {
	if err := needed(org); err != nil {
		return nil, err
	}
	var rows []struct {
		State string `gorm:"column:state"`
		N     int64  `gorm:"column:n"`
	}
	err := t.db.Model(&jobRow{}).Select("state, COUNT(*) AS n").Where("org_id = ?", org).Group("state").Scan(&rows).Error
	out := make(map[domain.JobState]int64, len(rows))
	for _, r := range rows {
		out[domain.JobState(r.State)] = r.N
	}
	return out, fail(err)
}

// Promised are the promises shown at submit of these jobs, one statement per 1000;
// an unknown job is absent.
func (t *tx) Promised(ids []pool.JobID) (map[pool.JobID]domain.Promised, error) {
	out := make(map[pool.JobID]domain.Promised, len(ids))
	for part := range slices.Chunk(ids, atOnce) {
		var rows []jobRow
		if err := t.db.Select("id", "name", "up_to").Where("id IN ?", part).Find(&rows).Error; err != nil {
			return nil, fail(err)
		}
		for _, r := range rows {
			out[pool.JobID(r.ID)] = domain.Promised{Name: r.Name, UpTo: money.Amount(r.UpTo)}
		}
	}
	return out, nil
}

// LiveJobs of all members that have not ended, oldest first.
func (t *tx) LiveJobs() ([]domain.Job, error) {
	return all(t, jobRow.noun, "submitted_at, id", "state <> 'ended'")
}

func (t *tx) InsertJob(j domain.Job) error {
	if err := cmp.Or(needed(j.ID), needed(j.Org), needed(j.Project), needed(j.User)); err != nil {
		return err
	}
	if err := insert(t, rowOfJob(j)); err != nil {
		return err
	}
	return t.saveLog(j)
}

// UpdateJob writes all but the id, the organisation and the instant of
// submission. A nil LogTail leaves the stored one, since lists come without.
func (t *tx) UpdateJob(j domain.Job) error {
	if err := cmp.Or(needed(j.ID), needed(j.Org)); err != nil {
		return err
	}
	if err := change(t, rowOfJob(j), jobColumns, "id = ? AND org_id = ?", j.ID, j.Org); err != nil {
		return err
	}
	return t.saveLog(j)
}

// SetReasons changes what the engine explains of a waiting job.
func (t *tx) SetReasons(id pool.JobID, reasons []pool.Reason, position int, startsBy pool.Instant) error {
	if err := needed(id); err != nil {
		return err
	}
	row := jobRow{Reasons: toJSON(reasons), Position: int64(position), StartsBy: int64(startsBy)}
	return change(t, row, []string{"reasons", "position", "starts_by"}, "id = ?", id)
}
