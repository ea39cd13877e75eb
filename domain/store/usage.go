package store

import (
	"slices"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// usageRow is one sum of the ledger; it is no table.
type usageRow struct {
	JobID         string `gorm:"column:job_id"`
	ClassID       string `gorm:"column:class_id"`
	Cover         string `gorm:"column:cover"`
	PriceRowID    string `gorm:"column:price_row_id"`
	PlanVersionID string `gorm:"column:plan_version_id"`
	ProjectID     string `gorm:"column:project_id"`
	UserID        string `gorm:"column:user_id"`
	AccountID     string `gorm:"column:account_id"`
	OrgID         string `gorm:"column:org_id"`
	DayAt         int64  `gorm:"column:day_at"`
	Use           int64  `gorm:"column:use_sum"`
}

func (r usageRow) noun() domain.UsageRow {
	return domain.UsageRow{
		Class: pool.ClassID(r.ClassID), Cover: pool.Cover(r.Cover), Row: pool.PriceRowID(r.PriceRowID),
		Version: pool.PlanVersionID(r.PlanVersionID), Project: pool.ProjectID(r.ProjectID), User: pool.UserID(r.UserID),
		Account: pool.AccountID(r.AccountID), Org: pool.OrgID(r.OrgID), Job: pool.JobID(r.JobID), Day: pool.Instant(r.DayAt), Use: pool.GPUMillis(r.Use),
	}
}

// useSum is an integer on both engines: PostgreSQL sums integers to a numeric,
// and both refuse a sum that is out of range.
const useSum = "CAST(SUM(use_gpums) AS BIGINT) AS use_sum"

// Usage sums the ledger by class, cover, price row, plan version and what by
// names, in that order, in one statement.
func (t *tx) Usage(f domain.SegmentFilter, by domain.UsageGroup) ([]domain.UsageRow, error) {
	q, none := t.segmentsWhere(f)
	if none {
		return nil, nil
	}
	columns := []string{"class_id", "cover", "price_row_id", "plan_version_id"}
	for _, c := range []struct {
		split  bool
		column string
	}{{by.Project, "project_id"}, {by.User, "user_id"}, {by.Account, "account_id"}, {by.Org, "org_id"}, {by.Job, "job_id"}, {by.Day, "day_at"}} {
		if c.split {
			columns = append(columns, c.column)
		}
	}
	for _, c := range columns {
		q = q.Group(c).Order(c)
	}
	var rows []usageRow
	if err := q.Select(append(columns, useSum)).Scan(&rows).Error; err != nil {
		return nil, fail(err)
	}
	out := make([]domain.UsageRow, len(rows))
	for i, r := range rows {
		out[i] = r.noun()
	}
	return out, nil
}

// atOnce bounds the arguments of one IN list.
const atOnce = 1000

// JobUse sums the ledger per job, class, cover and price row, one statement
// per 1000 jobs; a job without use is absent.
func (t *tx) JobUse(jobs []pool.JobID) (map[pool.JobID][]domain.UsageRow, error) {
	out := map[pool.JobID][]domain.UsageRow{}
	const columns = "job_id, class_id, cover, price_row_id"
	jobs = slices.Compact(slices.Sorted(slices.Values(jobs))) // one asked for twice is summed once
	for ids := range slices.Chunk(jobs, atOnce) {
		var rows []usageRow
		err := t.db.Model(&segmentRow{}).Select(columns+", "+useSum).Where("job_id IN ?", ids).Group(columns).Order(columns).Scan(&rows).Error
		if err != nil {
			return nil, fail(err)
		}
		for _, r := range rows {
			id := pool.JobID(r.JobID)
			out[id] = append(out[id], r.noun())
		}
	}
	return out, nil
}

// NamesOf gives the names of users, one statement per 1000; an unknown id is absent.
func (t *tx) NamesOf(ids []pool.UserID) (map[pool.UserID]string, error) {
	out := make(map[pool.UserID]string, len(ids))
	for part := range slices.Chunk(ids, atOnce) {
		var rows []struct {
			ID   string `gorm:"column:id"`
			Name string `gorm:"column:name"`
		}
		if err := t.db.Table("users").Select("id, name").Where("id IN ?", part).Scan(&rows).Error; err != nil {
			return nil, fail(err)
		}
		for _, r := range rows {
			out[pool.UserID(r.ID)] = r.Name
		}
	}
	return out, nil
}
