package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"gpupool/domain/meter"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/domain/rating"
)

// Pool is pool.json: the consortium that a trace is run on. Money is decimal
// text in Currency, durations are like "10m".
type Pool struct {
	Name     string   `json:"name"`
	NameZH   string   `json:"name_zh,omitempty"`
	Currency string   `json:"currency"`
	Zone     string   `json:"zone"`
	Notice   Duration `json:"notice"`
	Setup    Duration `json:"setup,omitempty"` // from placement to start
	MinRun   Duration `json:"minimum_run,omitempty"`
	Fair     bool     `json:"fair_reclaim"`
	// Checkpoint is how often work is saved: what is stopped goes on from the
	// last whole one. 0: at the signal, so that only the notice is lost.
	Checkpoint Duration    `json:"checkpoint,omitempty"`
	Classes    []Class     `json:"classes"`
	Nodes      []Node      `json:"nodes"`
	Plans      []Plan      `json:"plans"`
	Orgs       []Org       `json:"organisations"`
	Prices     []PriceList `json:"prices"`
	Trace      Mapping     `json:"trace"`
}

// Duration reads "10m" or "24h", up to a year.
type Duration time.Duration

func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("a duration is a text like \"10m\", not %s", b)
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 || v > 366*24*time.Hour {
		return fmt.Errorf("%q is not a duration like \"10m\" or \"24h\", at most a year", s)
	}
	*d = Duration(v)
	return nil
}

func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(d).String()) }

// Class is a GPU class of the pool.
type Class struct {
	ID        pool.ClassID `json:"id"`
	Name      string       `json:"name"`
	Model     string       `json:"model,omitempty"`
	MemoryMiB int64        `json:"memory_mib,omitempty"`
	PerCard   int          `json:"per_card,omitempty"`
	CloudLow  string       `json:"cloud_low,omitempty"` // of the pool's currency per GPU-hour
	CloudHigh string       `json:"cloud_high,omitempty"`
	CloudNote string       `json:"cloud_note,omitempty"`
}

// Node is Count equal machines, named Name or Name-01, Name-02, …
type Node struct {
	Name        string       `json:"name"`
	Count       int          `json:"count,omitempty"`
	Class       pool.ClassID `json:"class"`
	GPUs        int          `json:"gpus"`
	Site        pool.SiteID  `json:"site,omitempty"`
	Contributor pool.OrgID   `json:"contributor,omitempty"`
}

// Plan has what it gives by class.
type Plan struct {
	ID      pool.PlanID                `json:"id"`
	Name    string                     `json:"name"`
	NameZH  string                     `json:"name_zh,omitempty"`
	Fee     string                     `json:"fee"`
	Classes map[pool.ClassID]PlanClass `json:"classes"`
}

// PlanClass: guaranteed GPUs, included GPU-hours a month, borrow and lend limit.
type PlanClass struct {
	Guaranteed int   `json:"guaranteed"`
	Included   int64 `json:"included_hours"`
	Borrow     int   `json:"borrow"`
	Lend       int   `json:"lend"`
}

// Org is a member. Trace names the tenants of the trace whose jobs are its.
type Org struct {
	ID       pool.OrgID  `json:"id"`
	Name     string      `json:"name"`
	NameZH   string      `json:"name_zh,omitempty"`
	Plan     pool.PlanID `json:"plan"`
	Weight   *int        `json:"weight,omitempty"` // share of the surplus, 1 when absent; 0 last in line
	Trace    []string    `json:"trace,omitempty"`
	Projects []Project   `json:"projects,omitempty"`
}

// Project of a member; the jobs of the trace are spread over them by user.
type Project struct {
	ID    pool.ProjectID `json:"id"`
	Name  string         `json:"name"`
	Sites []pool.SiteID  `json:"sites,omitempty"`
}

// PriceList is in force from From (RFC 3339), the first one always.
type PriceList struct {
	ID   pool.PriceListID `json:"id"`
	From string           `json:"from,omitempty"`
	Rows []PriceRow       `json:"rows"`
}

// PriceRow is a price per GPU-hour in a window of the day, "22:00-06:00".
type PriceRow struct {
	Class  pool.ClassID `json:"class"`
	Cover  pool.Cover   `json:"cover"`
	Price  string       `json:"price"`
	Window string       `json:"window,omitempty"`
	Lender int          `json:"lender_share_bp,omitempty"`
}

// Mapping says how columns of a trace become ours, and what is made up where a
// trace says nothing. Made-up values are synthetic and called so in the report.
type Mapping struct {
	Tiers   map[string]pool.Tier    `json:"tiers,omitempty"`   // job type -> tier; "" for the rest
	Classes map[string]pool.ClassID `json:"classes,omitempty"` // model -> class; "" for the rest
	Days    int                     `json:"days,omitempty"`    // only the first days; 0 all
	Start   string                  `json:"start,omitempty"`   // RFC 3339, the second 0 of a trace without dates
	// LimitFactor makes a declared limit for traces that have none: duration
	// times the factor, or by LimitModel "habit". 0: no declared limit.
	LimitFactor int               `json:"synthetic_limit_factor,omitempty"`
	LimitModel  string            `json:"synthetic_limit_model,omitempty"`
	TierPercent map[pool.Tier]int `json:"synthetic_tier_percent,omitempty"` // of jobs in traces without tiers
	DrawMembers bool              `json:"draw_members,omitempty"`           // of traces without tenants
	Seed        uint64            `json:"seed,omitempty"`                   // of all that is drawn; 1 when 0
}

func (m Mapping) seed() uint64 { return max(1, m.Seed) }

// ErrPool says that pool.json can't be used.
var ErrPool = errors.New("pool file")

// LoadPool reads and checks pool.json; an error names the field.
func LoadPool(r io.Reader) (Pool, error) {
	var p Pool
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return p, fmt.Errorf("%w: %w", ErrPool, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return p, fmt.Errorf("%w: there is more after the closing brace", ErrPool)
	}
	if err := p.check(); err != nil {
		return p, fmt.Errorf("%w: %w", ErrPool, err)
	}
	return p, nil
}

// NodeList spells out the counted nodes.
func (p Pool) NodeList() []quota.Node {
	var out []quota.Node
	for _, n := range p.Nodes {
		owner := n.Contributor
		if owner == "" {
			owner = pool.Consortium
		}
		for i := range max(n.Count, 1) {
			name := n.Name
			if n.Count > 1 {
				name = fmt.Sprintf("%s-%02d", n.Name, i+1)
			}
			out = append(out, quota.Node{ID: pool.NodeID(name), Class: n.Class, Site: n.Site, Contributor: owner, GPUs: n.GPUs, State: quota.Ready})
		}
	}
	return out
}

// Terms are the dated money terms of a replay: every organisation has its
// plan over the whole span.
type Terms struct {
	Currency money.Currency
	Zone     *time.Location
	Prices   []rating.PriceRow
	Plans    map[pool.OrgID][]rating.PlanWindow
}

// Terms reads prices and fees; an error names the field.
func (p Pool) Terms(from, to pool.Instant) (Terms, error) {
	t := Terms{Plans: map[pool.OrgID][]rating.PlanWindow{}}
	var err error
	if t.Currency, err = money.CurrencyOf(p.Currency); err != nil {
		return t, err
	}
	if t.Zone, err = time.LoadLocation(p.Zone); err != nil {
		return t, err
	}
	for i, l := range p.Prices {
		valid := pool.Interval{Start: 0, End: pool.Never}
		if i > 0 { // each list begins where the one before it ends
			if valid.Start, err = instant(l.From); err != nil {
				return t, fmt.Errorf("prices[%d].from: %w", i, err)
			}
		}
		if i+1 < len(p.Prices) {
			if valid.End, err = instant(p.Prices[i+1].From); err != nil {
				return t, fmt.Errorf("prices[%d].from: %w", i+1, err)
			}
			if valid.End <= valid.Start {
				return t, fmt.Errorf("prices[%d].from: %q is not after the list before it", i+1, p.Prices[i+1].From)
			}
		}
		for k, r := range l.Rows {
			row, err := r.rating(t.Currency, l.ID, k, valid)
			if err != nil {
				return t, fmt.Errorf("prices[%d].rows[%d]: %w", i, k, err)
			}
			t.Prices = append(t.Prices, row)
		}
	}
	for i, pl := range p.Plans {
		fee, err := t.Currency.Parse(pl.Fee)
		if err != nil {
			return t, fmt.Errorf("plans[%d].fee: %w", i, err)
		}
		for _, o := range p.Orgs {
			if o.Plan != pl.ID {
				continue
			}
			w := rating.PlanWindow{Version: pool.PlanVersionID(pl.ID), Account: pool.AccountID(o.ID), Fee: fee,
				Valid: pool.Interval{Start: from, End: to}, Included: map[pool.ClassID]pool.GPUMillis{}}
			for c, q := range pl.Classes {
				w.Included[c] = rating.Hours(q.Included)
			}
			t.Plans[o.ID] = []rating.PlanWindow{w}
		}
	}
	return t, nil
}

func instant(s string) (pool.Instant, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, fmt.Errorf("%q is not a time like 2026-11-01T00:00:00+01:00", s)
	}
	return pool.At(t), nil
}

func (r PriceRow) rating(cur money.Currency, list pool.PriceListID, k int, valid pool.Interval) (rating.PriceRow, error) {
	out := rating.PriceRow{List: list, LenderShare: money.BasisPoints(r.Lender)}
	price, err := cur.ParsePrice(r.Price)
	if err != nil {
		return out, fmt.Errorf("price: %w", err)
	}
	if !r.Cover.Valid() {
		return out, fmt.Errorf("cover: %q is not own, loan or spot", r.Cover)
	}
	from, to, err := r.Minutes()
	if err != nil {
		return out, fmt.Errorf("window: %w", err)
	}
	out.Price = price
	out.PriceWindow = meter.PriceWindow{ID: pool.PriceRowID(fmt.Sprintf("%s-%d", list, k+1)), Class: r.Class, Cover: r.Cover, Valid: valid}
	if to-from != 1440 {
		out.Daily = meter.TimeOfDay{From: from, To: to % 1440}
	}
	return out, nil
}

// Minutes of the window: [from, to) after midnight, to up to 1440.
func (r PriceRow) Minutes() (from, to int, err error) {
	if r.Window == "" {
		return 0, 1440, nil
	}
	var h1, m1, h2, m2 int
	if n, err := fmt.Sscanf(r.Window, "%d:%d-%d:%d", &h1, &m1, &h2, &m2); n != 4 || err != nil ||
		r.Window != fmt.Sprintf("%02d:%02d-%02d:%02d", h1, m1, h2, m2) || min(m1, m2) < 0 || max(m1, m2) > 59 {
		return 0, 0, fmt.Errorf("%q is not like 22:00-06:00", r.Window)
	}
	from, to = h1*60+m1, h2*60+m2
	if from < 0 || from >= 1440 || to < 0 || to > 1440 || from == to {
		return 0, 0, fmt.Errorf("%q is not inside a day", r.Window)
	}
	return from, to, nil
}
