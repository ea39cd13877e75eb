package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"strings"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/replay"
)

//go:embed testdata/demo/pool.json
var demoPool string

// storyMoment is the latest Thursday between the 20th and the 26th at 14:05
// in the billing zone that has passed.
func storyMoment(now time.Time, zone *time.Location) pool.Instant {
	for m := pool.MonthOf(pool.At(now), zone); ; m = m.Prev() {
		for day := 20; day <= 26; day++ {
			t := time.Date(m.Year, m.Month, day, 14, 5, 0, 0, zone)
			if t.Weekday() == time.Thursday && !t.After(now) {
				return pool.At(t)
			}
		}
	}
}

// demoTimes are the instants that the demo's data hang on.
type demoTimes struct {
	zone       *time.Location
	moment     pool.Instant // the story moment
	month      pool.Month   // its month
	start      pool.Instant // of the history: the first of the month before last
	traceStart pool.Instant
}

func newDemoTimes(now time.Time, zone *time.Location) demoTimes {
	t := demoTimes{zone: zone, moment: storyMoment(now, zone)}
	t.month = pool.MonthOf(t.moment, zone)
	t.start = t.month.Plus(-2).Bounds(zone).Start
	t.traceStart = t.start.Add(12 * time.Hour) // the pool opens at noon of its first day
	return t
}

// openDemo opens the embedded cluster and the service, and makes the
// consortium with its history on a first start.
func (p *portal) openDemo(ctx context.Context, s story, seed uint64, out io.Writer) error {
	began := wall()
	made, err := demoMade(ctx, p.store)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return err
	}
	if made {
		if err := p.openEmbedded(nil); err != nil {
			return err
		}
		if err := p.openService(p.currency(ctx)); err != nil {
			return err
		}
		st, err := p.service.Settings(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: the demo goes on where it was (--fresh starts over).\n", st.Name)
		return nil
	}
	t := newDemoTimes(wall(), zone)
	rp, err := demoPoolAt(t)
	if err != nil {
		return err
	}
	if err := p.openService(p.currency(ctx)); err != nil {
		return err
	}
	b := demoBuilder{p: p, story: s, times: t, pool: rp, users: map[string]domain.User{}, projects: map[string]pool.ProjectID{},
		accounts: map[string]domain.BillingAccount{}, node: map[pool.NodeID]pool.NodeID{}, unpaid: s.Payments}
	history, err := b.build(ctx, seed)
	if err != nil {
		return fmt.Errorf("making the demo's history: %w", err)
	}
	v, err := p.service.Verify(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: history of %d days with %d jobs and %d invoices made in %.1f s; verify: %d differences, chain head %s\n", rp.Name,
		int(t.moment.Sub(t.start).Hours()/24), len(history.Result.Jobs), v.Invoices, wall().Sub(began).Seconds(), len(v.Differences), head(v.Head["local"]))
	for _, d := range v.Differences {
		fmt.Fprintln(out, "  differs: "+d)
	}
	return nil
}

// demoPoolAt is the demo's pool.json with the dates of t in place of its own: the
// newer price list begins with the story month.
func demoPoolAt(t demoTimes) (replay.Pool, error) {
	p, err := replay.LoadPool(strings.NewReader(demoPool))
	if err != nil {
		return p, fmt.Errorf("demo pool.json: %w", err)
	}
	p.Prices[1].From = t.month.Bounds(t.zone).Start.In(t.zone).Format(time.RFC3339)
	p.Trace.Start = t.traceStart.In(t.zone).Format(time.RFC3339)
	return p, nil
}

func head(hash string) string { return hash[:min(12, len(hash))] }

// demoMade tells whether the demo's history was made to its end.
func demoMade(ctx context.Context, st domain.Store) (bool, error) {
	state := ""
	err := st.View(ctx, func(tx domain.Tx) (err error) { state, err = tx.Flag(demoMarker); return err })
	return state == "made", err
}
