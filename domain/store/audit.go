package store

import (
	"math"

	"gpupool/domain"
	"gpupool/domain/pool"
)

type auditRow struct {
	Seq     int64  `gorm:"column:seq;primaryKey;autoIncrement"`
	At      int64  `gorm:"column:at"`
	Wall    int64  `gorm:"column:wall"`
	UserID  string `gorm:"column:user_id"`
	Name    string `gorm:"column:name"`
	Via     string `gorm:"column:via"`
	IP      string `gorm:"column:ip"`
	OrgID   string `gorm:"column:org_id"`
	Action  string `gorm:"column:action"`
	Subject string `gorm:"column:subject"`
	Before  string `gorm:"column:before_json"`
	After   string `gorm:"column:after_json"`
}

func (auditRow) TableName() string { return "audit" }

func (r auditRow) noun() (domain.AuditRow, error) {
	return domain.AuditRow{
		Seq: r.Seq, At: pool.Instant(r.At), Wall: pool.Instant(r.Wall), User: pool.UserID(r.UserID), Name: r.Name, Via: domain.Via(r.Via),
		IP: r.IP, Org: pool.OrgID(r.OrgID), Action: r.Action, Subject: r.Subject, Before: r.Before, After: r.After,
	}, nil
}

// InsertAudit appends a row; its Seq is given here. Numbers grow, but a
// transaction that failed may leave one out.
func (t *tx) InsertAudit(r domain.AuditRow) error {
	if err := needed(r.Action); err != nil {
		return err
	}
	return insert(t, auditRow{
		At: int64(r.At), Wall: int64(r.Wall), UserID: string(r.User), Name: r.Name, Via: string(r.Via), IP: r.IP, OrgID: string(r.Org),
		Action: r.Action, Subject: r.Subject, Before: r.Before, After: r.After,
	})
}

// Audit is a page of the trail of the organisation, or of the whole pool with
// "", newest first: rows before beforeSeq, or the newest with 0.
func (t *tx) Audit(org pool.OrgID, beforeSeq int64, limit int) ([]domain.AuditRow, error) {
	if beforeSeq <= 0 {
		beforeSeq = math.MaxInt64
	}
	q := t.db.Where("seq < ?", beforeSeq)
	if org != "" {
		q = q.Where("org_id = ?", org)
	}
	var rows []auditRow
	err := q.Order("seq DESC").Limit(page(limit)).Find(&rows).Error
	return mapped(rows, fail(err), auditRow.noun)
}
