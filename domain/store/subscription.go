package store

import (
	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

type subscriptionRow struct {
	ID      pool.SubscriptionID `gorm:"column:id;primaryKey"`
	Org     pool.OrgID          `gorm:"column:org_id"`
	Account pool.AccountID      `gorm:"column:account_id"`
	Version pool.PlanVersionID  `gorm:"column:version_id"`
	Start   pool.Instant        `gorm:"column:start_at"`
	End     pool.Instant        `gorm:"column:end_at"`
	Payment string              `gorm:"column:payment"`
	Pauses  string              `gorm:"column:pauses"`
	Created pool.Instant        `gorm:"column:created_at"`
}

func (subscriptionRow) TableName() string { return "subscriptions" }

func subscriptionOf(r subscriptionRow) (domain.Subscription, error) {
	s := domain.Subscription{ID: r.ID, Org: r.Org, Account: r.Account, Version: r.Version, Start: r.Start, End: r.End,
		Payment: r.Payment, CreatedAt: r.Created}
	return s, fromJSON("pauses", r.Pauses, &s.Pauses)
}

type limitRow struct {
	Org    pool.OrgID   `gorm:"column:org_id;primaryKey"`
	Class  pool.ClassID `gorm:"column:class_id;primaryKey"`
	From   pool.Instant `gorm:"column:valid_from;primaryKey;autoIncrement:false"`
	Borrow *int         `gorm:"column:borrow"`
	Lend   *int         `gorm:"column:lend"`
}

func (limitRow) TableName() string { return "quota_limits" }

func limitOf(r limitRow) (domain.Limit, error) { return domain.Limit(r), nil }

type weightRow struct {
	Org    pool.OrgID   `gorm:"column:org_id;primaryKey"`
	Class  pool.ClassID `gorm:"column:class_id;primaryKey"`
	From   pool.Instant `gorm:"column:valid_from;primaryKey;autoIncrement:false"`
	Weight int          `gorm:"column:weight"`
}

func (weightRow) TableName() string { return "quota_weights" }

func weightOf(r weightRow) (domain.Weight, error) { return domain.Weight(r), nil }

type projectQuotaRow struct {
	Project    pool.ProjectID `gorm:"column:project_id;primaryKey"`
	Class      pool.ClassID   `gorm:"column:class_id;primaryKey"`
	From       pool.Instant   `gorm:"column:valid_from;primaryKey;autoIncrement:false"`
	Guaranteed int            `gorm:"column:guaranteed"`
	Borrow     *int           `gorm:"column:borrow"`
}

func (projectQuotaRow) TableName() string { return "project_quotas" }

func projectQuotaOf(r projectQuotaRow) (domain.ProjectQuota, error) {
	return domain.ProjectQuota(r), nil
}

type capRow struct {
	Org    pool.OrgID     `gorm:"column:org_id;primaryKey"`
	From   pool.Instant   `gorm:"column:valid_from;primaryKey;autoIncrement:false"`
	Amount *money.Amount  `gorm:"column:amount"`
	Mode   domain.CapMode `gorm:"column:mode"`
}

func (capRow) TableName() string { return "spending_caps" }

func capOf(r capRow) (domain.SpendingCap, error) { return domain.SpendingCap(r), nil }

// ofOrg lists the rows of one member, or of all with "".
func ofOrg[R row, D any](t *tx, noun func(R) (D, error), order string, org pool.OrgID) ([]D, error) {
	if org == "" {
		return all(t, noun, order, "")
	}
	return all(t, noun, order, "org_id = ?", org)
}

func (t *tx) Subscriptions(org pool.OrgID) ([]domain.Subscription, error) {
	return ofOrg(t, subscriptionOf, "start_at, id", org)
}

func (t *tx) InsertSubscription(s domain.Subscription) error {
	if err := needed(s.ID, s.Org, s.Account, s.Version); err != nil {
		return err
	}
	return insert(t, subscriptionRow{s.ID, s.Org, s.Account, s.Version, s.Start, s.End, s.Payment, toJSON(s.Pauses), s.CreatedAt})
}

func (t *tx) UpdateSubscription(s domain.Subscription) error {
	if err := needed(s.ID, s.Org, s.Account); err != nil {
		return err
	}
	r := subscriptionRow{Account: s.Account, End: s.End, Payment: s.Payment, Pauses: toJSON(s.Pauses)}
	return change(t, r, []string{"account_id", "end_at", "payment", "pauses"}, "org_id = ? AND id = ?", s.Org, s.ID)
}

func (t *tx) Limits(org pool.OrgID) ([]domain.Limit, error) {
	return ofOrg(t, limitOf, "valid_from, org_id, class_id", org)
}

func (t *tx) InsertLimit(l domain.Limit) error {
	if err := needed(l.Org, l.Class); err != nil {
		return err
	}
	return insert(t, limitRow(l))
}

func (t *tx) Weights() ([]domain.Weight, error) {
	return all(t, weightOf, "valid_from, org_id, class_id", "")
}

func (t *tx) InsertWeight(w domain.Weight) error {
	if err := needed(w.Org, w.Class); err != nil {
		return err
	}
	return insert(t, weightRow(w))
}

func (t *tx) ProjectQuotas() ([]domain.ProjectQuota, error) {
	return all(t, projectQuotaOf, "valid_from, project_id, class_id", "")
}

func (t *tx) InsertProjectQuota(q domain.ProjectQuota) error {
	if err := needed(q.Project, q.Class); err != nil {
		return err
	}
	return insert(t, projectQuotaRow(q))
}

func (t *tx) Caps(org pool.OrgID) ([]domain.SpendingCap, error) {
	return ofOrg(t, capOf, "valid_from, org_id", org)
}

func (t *tx) InsertCap(c domain.SpendingCap) error {
	if err := needed(c.Org); err != nil {
		return err
	}
	return insert(t, capRow(c))
}
