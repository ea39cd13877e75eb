package store

import (
	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
)

type priceListRow struct {
	ID         pool.PriceListID `gorm:"column:id;primaryKey"`
	Name       string           `gorm:"column:name"`
	From       pool.Instant     `gorm:"column:valid_from"`
	Published  pool.Instant     `gorm:"column:published_at"`
	ProposedBy pool.UserID      `gorm:"column:proposed_by"`
	ApprovedBy pool.UserID      `gorm:"column:approved_by"`
	Created    pool.Instant     `gorm:"column:created_at"`
}

func (priceListRow) TableName() string { return "price_lists" }

func priceListOf(r priceListRow) (domain.PriceList, error) {
	return domain.PriceList{ID: r.ID, Name: r.Name, From: r.From, PublishedAt: r.Published, ProposedBy: r.ProposedBy,
		ApprovedBy: r.ApprovedBy, CreatedAt: r.Created}, nil
}

type priceRow struct {
	ID          pool.PriceRowID  `gorm:"column:id;primaryKey"`
	List        pool.PriceListID `gorm:"column:list_id"`
	Class       pool.ClassID     `gorm:"column:class_id"`
	Cover       pool.Cover       `gorm:"column:cover"`
	Price       money.Price      `gorm:"column:price"`
	LenderShare int              `gorm:"column:lender_share"`
	FromMinute  int              `gorm:"column:from_minute"`
	ToMinute    int              `gorm:"column:to_minute"`
}

func (priceRow) TableName() string { return "price_rows" }

func (t *tx) PriceLists() ([]domain.PriceList, error) {
	ls, err := all(t, priceListOf, "valid_from, id", "")
	if err != nil {
		return nil, err
	}
	return ls, t.addPriceRows(ls, "")
}

func (t *tx) PriceList(id pool.PriceListID) (domain.PriceList, error) {
	if err := needed(id); err != nil {
		return domain.PriceList{}, err
	}
	l, err := one(t, priceListOf, "id = ?", id)
	if err != nil {
		return l, err
	}
	ls := []domain.PriceList{l}
	err = t.addPriceRows(ls, "list_id = ?", id)
	return ls[0], err
}

// addPriceRows reads the rows of all lists in one statement, by class, cover
// and minute.
func (t *tx) addPriceRows(ls []domain.PriceList, where string, args ...any) error {
	rs, err := list[priceRow](t, "list_id, class_id, cover, from_minute", where, args...)
	at := make(map[pool.PriceListID]int, len(ls))
	for i, l := range ls {
		at[l.ID] = i
	}
	for _, r := range rs {
		l := &ls[at[r.List]]
		l.Rows = append(l.Rows, domain.PriceRow(r))
	}
	return err
}

// SavePriceList writes a draft first and publishes it last, as SavePlanVersion.
func (t *tx) SavePriceList(l domain.PriceList) error {
	if err := needed(l.ID); err != nil {
		return err
	}
	r := priceListRow{l.ID, l.Name, l.From, 0, l.ProposedBy, l.ApprovedBy, l.CreatedAt}
	isNew, err := insertNew(t, r)
	if err != nil {
		return err
	}
	if !isNew {
		old, err := find[priceListRow](t, "id = ?", l.ID)
		if err != nil {
			return err
		}
		if old.Published != 0 {
			return conflict(r)
		}
		if err := change(t, r, []string{"name", "valid_from", "proposed_by", "approved_by"}, "id = ?", l.ID); err != nil {
			return err
		}
		if _, err := drop[priceRow](t, "list_id = ?", l.ID); err != nil {
			return err
		}
	}
	for _, p := range l.Rows {
		if err := needed(p.ID); err != nil {
			return err
		}
		p.List = l.ID
		if err := insert(t, priceRow(p)); err != nil {
			return err
		}
	}
	if l.PublishedAt == 0 {
		return nil
	}
	return change(t, priceListRow{Published: l.PublishedAt}, []string{"published_at"}, "id = ?", l.ID)
}
