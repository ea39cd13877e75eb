package store

import (
	"gpupool/domain"
	"gpupool/domain/pool"
)

type timePolicyRow struct {
	ID         string       `gorm:"column:id;primaryKey"`
	Name       string       `gorm:"column:name"`
	Org        pool.OrgID   `gorm:"column:org_id"`
	Class      pool.ClassID `gorm:"column:class_id"`
	Closed     bool         `gorm:"column:closed"`
	Tier       pool.Tier    `gorm:"column:tier"`
	Guaranteed *int         `gorm:"column:guaranteed"`
	More       int          `gorm:"column:more"`
	Borrow     *int         `gorm:"column:borrow"`
	Lend       *int         `gorm:"column:lend"`
	First      string       `gorm:"column:first_day"`
	Last       string       `gorm:"column:last_day"`
	Days       int          `gorm:"column:weekdays"`
	From       int          `gorm:"column:from_minute"`
	To         int          `gorm:"column:to_minute"`
	Created    pool.Instant `gorm:"column:created_at"`
	Ended      pool.Instant `gorm:"column:ended_at"`
}

func (timePolicyRow) TableName() string { return "time_policies" }

func timePolicyOf(r timePolicyRow) (domain.TimePolicy, error) {
	return domain.TimePolicy{ID: r.ID, Name: r.Name, Org: r.Org, Class: r.Class, Closed: r.Closed, Tier: r.Tier, Guaranteed: r.Guaranteed,
		More: r.More, Borrow: r.Borrow, Lend: r.Lend, First: r.First, Last: r.Last, Days: r.Days, From: r.From, To: r.To,
		CreatedAt: r.Created, EndedAt: r.Ended}, nil
}

type announcementRow struct {
	ID          string       `gorm:"column:id;primaryKey"`
	Text        string       `gorm:"column:text"`
	Start       pool.Instant `gorm:"column:start_at"`
	End         pool.Instant `gorm:"column:end_at"`
	Maintenance bool         `gorm:"column:maintenance"`
	Node        pool.NodeID  `gorm:"column:node_id"`
	Site        pool.SiteID  `gorm:"column:site_id"`
	Class       pool.ClassID `gorm:"column:class_id"`
	Created     pool.Instant `gorm:"column:created_at"`
	Ended       pool.Instant `gorm:"column:ended_at"`
}

func (announcementRow) TableName() string { return "announcements" }

func announcementOf(r announcementRow) (domain.Announcement, error) {
	return domain.Announcement{ID: r.ID, Text: r.Text, Start: r.Start, End: r.End, Maintenance: r.Maintenance, Node: r.Node, Site: r.Site,
		Class: r.Class, CreatedAt: r.Created, EndedAt: r.Ended}, nil
}

func (t *tx) TimePolicies() ([]domain.TimePolicy, error) {
	return all(t, timePolicyOf, "created_at, id", "")
}

func (t *tx) InsertTimePolicy(p domain.TimePolicy) error {
	if err := needed(p.ID); err != nil {
		return err
	}
	return insert(t, timePolicyRow{p.ID, p.Name, p.Org, p.Class, p.Closed, p.Tier, p.Guaranteed, p.More, p.Borrow, p.Lend, p.First, p.Last,
		p.Days, p.From, p.To, p.CreatedAt, p.EndedAt})
}

func (t *tx) EndTimePolicy(id string, at pool.Instant) error {
	return end(t, timePolicyRow{Ended: at}, id)
}

func (t *tx) Announcements() ([]domain.Announcement, error) {
	return all(t, announcementOf, "start_at, created_at, id", "")
}

func (t *tx) InsertAnnouncement(a domain.Announcement) error {
	if err := needed(a.ID); err != nil {
		return err
	}
	return insert(t, announcementRow{a.ID, a.Text, a.Start, a.End, a.Maintenance, a.Node, a.Site, a.Class, a.CreatedAt, a.EndedAt})
}

func (t *tx) EndAnnouncement(id string, at pool.Instant) error {
	return end(t, announcementRow{Ended: at}, id)
}

// end closes a row that stands; Conflict for one that has ended.
func end[R row](t *tx, r R, id string) error {
	if err := needed(id); err != nil {
		return err
	}
	if _, err := find[R](t, "id = ?", id); err != nil {
		return err
	}
	err := change(t, r, []string{"ended_at"}, "id = ? AND ended_at = ?", id, pool.Never)
	if domain.CodeOf(err) == domain.NotFound {
		return domain.Errf(domain.Conflict, "This has ended already.")
	}
	return err
}
