package main

import (
	"io"
	"log/slog"
	"testing"

	"gpupool/domain"
	"gpupool/domain/pool"
)

// demoOf makes the demo with its history on a folder of its own.
func demoOf(t *testing.T, seed uint64) *portal {
	t.Helper()
	p := &portal{config: config{Data: t.TempDir(), Addr: "127.0.0.1:0"}, log: slog.New(slog.DiscardHandler), pace: demoPace}
	t.Cleanup(p.close)
	if err := p.openStore(ctx, true); err != nil {
		t.Fatal(err)
	}
	s, err := loadStory()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.openDemo(ctx, s, seed, io.Discard); err != nil {
		t.Fatal(err)
	}
	return p
}

// totals of the issued invoices by member and month.
func totals(t *testing.T, p *portal) map[pool.OrgID]map[string]int64 {
	t.Helper()
	out := map[pool.OrgID]map[string]int64{}
	err := p.store.View(ctx, func(tx domain.Tx) error {
		all, err := tx.Invoices("")
		for _, i := range all {
			if out[i.Org] == nil {
				out[i.Org] = map[string]int64{}
			}
			out[i.Org][i.Month.String()+i.Kind+string(i.Account)] += int64(i.Total)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheDemosHistoryIsWhatTheLivePathMakesOfIt(t *testing.T) {
	t.Parallel()
	p := demoOf(t, 1)
	again, err := p.service.Refold(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range again.Differences {
		if i == 5 {
			t.Errorf("and %d more", len(again.Differences)-i)
			break
		}
		t.Errorf("folded again: %s", d)
	}
	if again.Allocs < 100 || again.Segments < 100 {
		t.Errorf("only %d allocations and %d segments", again.Allocs, again.Segments)
	}
	err = p.store.View(ctx, func(tx domain.Tx) error { // who borrowed in these months is asked later than who lent
		uses, err := tx.LoanUses()
		if err != nil {
			return err
		}
		live, err := tx.LiveAttempts()
		if err != nil {
			return err
		}
		borrowed := 0
		for _, u := range uses {
			for _, a := range live {
				if a.Org == u.Org && a.Class == u.Class {
					u.Rate -= a.Split.Loan
				}
			}
			if u.Rate != 0 {
				t.Errorf("%s borrows %d more GPUs of %s than its jobs do", u.Org, u.Rate, u.Class)
			}
			if u.Use > pool.MillisPerHour {
				borrowed++
			}
		}
		if borrowed < 3 {
			t.Errorf("only %d members and types borrowed: %+v", borrowed, uses)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := p.service.Verify(ctx)
	if err != nil || len(v.Differences) > 0 || v.Invoices < 8 {
		t.Errorf("rated again: %+v, %v", v, err)
	}
	if _, err := p.service.RunEngine(ctx); err != nil {
		t.Errorf("the present goes on: %v", err)
	}
}

func TestAnotherSeedMakesOtherInvoices(t *testing.T) {
	t.Parallel()
	one, two := demoOf(t, 1), demoOf(t, 2)
	differ := 0
	sum := func(m map[string]int64) (n int64) {
		for _, x := range m {
			n += x
		}
		return n
	}
	a, b := totals(t, one), totals(t, two)
	for org := range a {
		if sum(a[org]) != sum(b[org]) {
			differ++
		}
	}
	if differ < 3 {
		t.Errorf("the invoices of %d members differ between two seeds, want most: %v %v", differ, a, b)
	}
}
