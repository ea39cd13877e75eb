package store

import (
	"gpupool/domain"
	"gpupool/domain/pool"
)

type siteRow struct {
	ID   pool.SiteID `gorm:"column:id;primaryKey"`
	Name string      `gorm:"column:name"`
}

func (siteRow) TableName() string { return "sites" }

func siteOf(r siteRow) (domain.Site, error) { return domain.Site(r), nil }

type nodeRow struct {
	ID          pool.NodeID      `gorm:"column:id;primaryKey"`
	Name        string           `gorm:"column:name"`
	Class       pool.ClassID     `gorm:"column:class_id"`
	Site        pool.SiteID      `gorm:"column:site_id"`
	Contributor pool.OrgID       `gorm:"column:contributor"`
	GPUs        int              `gorm:"column:gpus"`
	Devices     string           `gorm:"column:devices"`
	Unhealthy   string           `gorm:"column:unhealthy"`
	Foreign     int              `gorm:"column:foreign_gpus"`
	State       domain.NodeState `gorm:"column:state"`
	Cordoned    bool             `gorm:"column:cordoned"`
	Seen        pool.Instant     `gorm:"column:seen_at"`
}

func (nodeRow) TableName() string { return "nodes" }

func nodeOf(r nodeRow) (domain.Node, error) {
	n := domain.Node{ID: r.ID, Name: r.Name, Class: r.Class, Site: r.Site, Contributor: r.Contributor, GPUs: r.GPUs,
		Foreign: r.Foreign, State: r.State, Cordoned: r.Cordoned, SeenAt: r.Seen}
	if err := fromJSON("devices", r.Devices, &n.Devices); err != nil {
		return n, err
	}
	return n, fromJSON("unhealthy", r.Unhealthy, &n.Unhealthy)
}

type contributionRow struct {
	ID    string       `gorm:"column:id;primaryKey"`
	Org   pool.OrgID   `gorm:"column:org_id"`
	Node  pool.NodeID  `gorm:"column:node_id"`
	Class pool.ClassID `gorm:"column:class_id"`
	GPUs  int          `gorm:"column:gpus"`
	Quota int          `gorm:"column:quota"`
	From  pool.Instant `gorm:"column:valid_from"`
	To    pool.Instant `gorm:"column:valid_to"`
}

func (contributionRow) TableName() string { return "contributions" }

func contributionOf(r contributionRow) (domain.Contribution, error) {
	return domain.Contribution(r), nil
}

// Sites by name.
func (t *tx) Sites() ([]domain.Site, error) { return all(t, siteOf, "name, id", "") }

func (t *tx) SaveSite(s domain.Site) error {
	if err := needed(s.ID); err != nil {
		return err
	}
	return put(t, siteRow(s), []string{"id"}, []string{"name"})
}

func (t *tx) Nodes() ([]domain.Node, error) { return all(t, nodeOf, "name, id", "") }

func (t *tx) SaveNode(n domain.Node) error {
	if err := needed(n.ID); err != nil {
		return err
	}
	r := nodeRow{n.ID, n.Name, n.Class, n.Site, n.Contributor, n.GPUs, toJSON(n.Devices), toJSON(n.Unhealthy), n.Foreign,
		n.State, n.Cordoned, n.SeenAt}
	return put(t, r, []string{"id"}, []string{"name", "class_id", "site_id", "contributor", "gpus", "devices", "unhealthy",
		"foreign_gpus", "state", "cordoned", "seen_at"})
}

// Contributions by the begin of their validity.
func (t *tx) Contributions() ([]domain.Contribution, error) {
	return all(t, contributionOf, "valid_from, id", "")
}

func (t *tx) InsertContribution(c domain.Contribution) error {
	if err := needed(c.ID, c.Org, c.Class); err != nil {
		return err
	}
	return insert(t, contributionRow(c))
}
