package store_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain"
	"gpupool/domain/meter"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestSegmentsAreNumberedPerAccountWithoutGaps(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		odd := aSegment(uni, 3)
		odd.PlanVersion, odd.Source, odd.Quality, odd.Revision, odd.Sign, odd.GPUs = "", hardText, meter.Estimated, 4, -1, 70_000
		batch := []domain.Segment{aSegment(clinic, 9), aSegment(uni, 2), aSegment(clinic, 1), odd}
		var stored []domain.Segment
		inTx(t, s, func(tx domain.Tx) (err error) {
			if _, err := tx.AppendSegments([]domain.Segment{aSegment(uni, 7)}); err != nil {
				return err
			}
			stored, err = tx.AppendSegments(batch)
			return err
		})
		var numbers []int64
		for i, g := range stored {
			numbers = append(numbers, g.Seq)
			g.Seq = 0
			if d := cmp.Diff(batch[i], g); d != "" {
				t.Errorf("only the number is new: %s", d)
			}
		}
		if d := cmp.Diff([]int64{1, 2, 2, 3}, numbers); d != "" {
			t.Errorf("numbers: %s", d)
		}
		lost := errors.New("lost")
		err := s.Update(t.Context(), func(tx domain.Tx) error {
			if _, err := tx.AppendSegments([]domain.Segment{aSegment(uni, 4)}); err != nil {
				return err
			}
			return lost
		})
		if !errors.Is(err, lost) {
			t.Fatal(err)
		}
		inTx(t, s, func(tx domain.Tx) error {
			after, err := tx.AppendSegments([]domain.Segment{aSegment(uni, 5)})
			if err != nil || after[0].Seq != 4 {
				t.Errorf("a rollback leaves no gap: %v %v", after, err)
			}
			got, err := tx.Segments(domain.SegmentFilter{Account: "acc-clinic"})
			if d := cmp.Diff([]domain.Segment{stored[0], stored[2]}, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			got, err = tx.Segments(domain.SegmentFilter{Account: "acc-uni", AfterSeq: 1, ToSeq: 3})
			if d := cmp.Diff([]domain.Segment{stored[1], stored[3]}, got); d != "" || err != nil {
				t.Errorf("a range: %v %s", err, d)
			}
			a, err := tx.Account(uni, "acc-uni")
			if a.LastSeq != 4 || err != nil {
				t.Errorf("last number %d %v", a.LastSeq, err)
			}
			none, err := tx.AppendSegments(nil)
			if len(none) != 0 || err != nil {
				t.Errorf("nothing to append: %v %v", none, err)
			}
			return nil
		})
	})
}

func TestASegmentThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			_, err := tx.AppendSegments([]domain.Segment{aSegment(uni, 1)})
			return err
		})
		for what, c := range map[string]struct {
			spoil func(g *domain.Segment)
			want  domain.Code
		}{
			"the same again":           {func(g *domain.Segment) {}, domain.Conflict},
			"the same with other GPUs": {func(g *domain.Segment) { g.GPUs, g.End = 7, g.End+1 }, domain.Conflict},
			"no length":                {func(g *domain.Segment) { g.End = g.Start }, domain.Invalid},
			"no GPUs":                  {func(g *domain.Segment) { g.GPUs = 0 }, domain.Invalid},
			"no sign":                  {func(g *domain.Segment) { g.Sign = 0 }, domain.Invalid},
			"a revision below zero":    {func(g *domain.Segment) { g.Revision = -1 }, domain.Invalid},
			"another cover":            {func(g *domain.Segment) { g.Cover = "gift" }, domain.Invalid},
			"no allocation":            {func(g *domain.Segment) { g.Alloc = "" }, domain.Invalid},
			"no attempt":               {func(g *domain.Segment) { g.Attempt.N = 0 }, domain.Invalid},
			"no organisation":          {func(g *domain.Segment) { g.Org = "" }, domain.Invalid},
			"no account":               {func(g *domain.Segment) { g.Account = "" }, domain.Invalid},
			"an unknown account":       {func(g *domain.Segment) { g.Account = "acc-none" }, domain.NotFound},
			"no price":                 {func(g *domain.Segment) { g.PriceRow = "" }, domain.Invalid},
		} {
			bad := aSegment(uni, 1)
			c.spoil(&bad)
			err := s.Update(t.Context(), func(tx domain.Tx) error {
				_, err := tx.AppendSegments([]domain.Segment{aSegment(uni, 2), bad})
				return err
			})
			wantCode(t, what, err, c.want)
		}
		inView(t, s, func(tx domain.Tx) error {
			got, err := tx.Segments(domain.SegmentFilter{})
			a, err2 := tx.Account(uni, "acc-uni")
			if len(got) != 1 || err != nil || a.LastSeq != 1 || err2 != nil {
				t.Errorf("refused segments leave nothing: %v %v, last number %d %v", got, err, a.LastSeq, err2)
			}
			return nil
		})
	})
}

func TestTheLedgerIsNeverChangedByHand(t *testing.T) {
	t.Parallel()
	eachByHand(t, func(t *testing.T, s *store.Store, hand *sql.DB) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			_, err := tx.AppendSegments([]domain.Segment{aSegment(uni, 1)})
			return err
		})
		refused(t, hand, "UPDATE segments SET gpus = 2, use_gpums = 2 * use_gpums", "UPDATE segments SET seq = 9", "DELETE FROM segments")
		if s.Engine() == "postgres" {
			refused(t, hand, "TRUNCATE segments", "TRUNCATE audit", "TRUNCATE covers", "TRUNCATE payments", "TRUNCATE invoice_states", "TRUNCATE invoices CASCADE")
		}
	})
}

// BC01: a claim that outlives the failed write would answer the retry with
// "already seen", and the use would never be metered.
func TestUseWhoseFirstWriteFailsIsMeteredExactlyOnceByTheRetry(t *testing.T) {
	t.Parallel()
	var c struct {
		Given struct {
			Event struct {
				GPUSeconds int64 `json:"gpu_seconds"`
			} `json:"event"`
		} `json:"given"`
		Right struct {
			Metered  int64 `json:"metered_gpu_seconds"`
			Segments int   `json:"segments"`
		} `json:"right"`
	}
	readCase(t, "BC01", &c)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		_, a := aRun(t, s, uni, 1)
		use := aSegment(uni, 1)
		use.Attempt, use.End = a.ID, use.Start+pool.Instant(c.Given.Event.GPUSeconds*1000)
		seen := domain.Observation{Alloc: use.Alloc, ModifyIndex: 5, Attempt: a.ID, ReceivedAt: use.End}
		inTx(t, s, func(tx domain.Tx) error {
			return tx.InsertMeter(domain.Meter{Alloc: use.Alloc, Attempt: a.ID, Org: uni, From: use.Start, Until: use.Start, End: pool.Never, Quality: meter.Exact})
		})
		down := errors.New("the write fails after the claim")
		deliver := func(fault error) error {
			return s.Update(t.Context(), func(tx domain.Tx) error {
				if _, err := tx.InsertObservation(seen); err != nil {
					return err
				}
				first, err := tx.AdvanceMeter(use.Alloc, use.Start, use.End)
				if err != nil || !first {
					return err
				}
				if fault != nil {
					return fault
				}
				_, err = tx.AppendSegments([]domain.Segment{use})
				return err
			})
		}
		if err := deliver(down); !errors.Is(err, down) {
			t.Fatal(err)
		}
		for range 2 { // the retry and a third delivery
			if err := deliver(nil); err != nil {
				t.Fatal(err)
			}
		}
		inView(t, s, func(tx domain.Tx) error {
			got, err := tx.Segments(domain.SegmentFilter{Org: uni})
			sums, err2 := tx.Usage(domain.SegmentFilter{Org: uni}, domain.UsageGroup{})
			if err != nil || err2 != nil || len(got) != c.Right.Segments || len(sums) != 1 || int64(sums[0].Use) != c.Right.Metered*1000 {
				t.Errorf("%d segments, sums %v (%v, %v), want %+v", len(got), sums, err, err2, c.Right)
			}
			return nil
		})
	})
}

// readCase reads one of the public cases into v.
func readCase(t *testing.T, id string, v any) {
	t.Helper()
	b, err := os.ReadFile("testdata/billing_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	for _, raw := range file.Cases {
		var head struct{ ID string }
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		if len(head.ID) >= len(id) && head.ID[:len(id)] == id {
			if err := json.Unmarshal(raw, v); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no case %s", id)
}

// genSegments draws segments whose keys differ, some of them reversals.
func genSegments(tag int) *rapid.Generator[[]domain.Segment] {
	return rapid.Custom(func(rt *rapid.T) []domain.Segment {
		out := make([]domain.Segment, rapid.IntRange(1, 40).Draw(rt, "segments"))
		for i := range out {
			g := aSegment(rapid.SampledFrom([]pool.OrgID{uni, clinic}).Draw(rt, "org"), 0)
			g.Alloc = pool.AllocID(fmt.Sprintf("al-%d-%d", tag, i))
			g.Attempt.Job = pool.JobID(rapid.SampledFrom([]string{"j1", "j2", "j3"}).Draw(rt, "job"))
			g.Start += pool.Instant(rapid.IntRange(-50, 50).Draw(rt, "hour")) * pool.MillisPerHour
			g.End = g.Start + pool.Instant(rapid.Int64Range(1, 100_000_000).Draw(rt, "length"))
			g.GPUs = rapid.IntRange(1, 64).Draw(rt, "gpus")
			g.Cover = rapid.SampledFrom(pool.Covers).Draw(rt, "cover")
			g.Class = rapid.SampledFrom([]pool.ClassID{"a100-80g", "h100-80g"}).Draw(rt, "class")
			g.PriceRow = rapid.SampledFrom([]pool.PriceRowID{"p1", "p2"}).Draw(rt, "price")
			g.PlanVersion = rapid.SampledFrom([]pool.PlanVersionID{"", "v1"}).Draw(rt, "version")
			g.Project = rapid.SampledFrom([]pool.ProjectID{"lab", "ward"}).Draw(rt, "project")
			g.User = rapid.SampledFrom([]pool.UserID{"ada", "bo"}).Draw(rt, "user")
			if rapid.IntRange(0, 3).Draw(rt, "reversal") == 0 {
				g.Sign = -1
			}
			out[i] = g
		}
		return out
	})
}

// naiveUsage is Usage over a slice.
func naiveUsage(ledger []domain.Segment, f domain.SegmentFilter, by domain.UsageGroup, day func(pool.Instant) pool.Instant) map[domain.UsageRow]pool.GPUMillis {
	out := map[domain.UsageRow]pool.GPUMillis{}
	for _, g := range ledger {
		if f.Org != "" && f.Org != g.Org || f.Account != "" && (f.Account != g.Account || g.Seq <= f.AfterSeq || f.ToSeq != 0 && g.Seq > f.ToSeq) ||
			f.Job != "" && f.Job != g.Attempt.Job || f.Project != "" && f.Project != g.Project || f.User != "" && f.User != g.User ||
			f.Projects != nil && !slices.Contains(f.Projects, g.Project) || f.From != 0 && g.Start < f.From || f.To != 0 && g.Start >= f.To {
			continue
		}
		key := domain.UsageRow{Class: g.Class, Cover: g.Cover, Row: g.PriceRow, Version: g.PlanVersion}
		if by.Project {
			key.Project = g.Project
		}
		if by.User {
			key.User = g.User
		}
		if by.Account {
			key.Account = g.Account
		}
		if by.Org {
			key.Org = g.Org
		}
		if by.Job {
			key.Job = g.Attempt.Job
		}
		if by.Day {
			key.Day = day(g.Start)
		}
		out[key] += g.Use()
	}
	return out
}

func TestUsageIsTheSumOfTheLedger(t *testing.T) {
	t.Parallel()
	berlin := domain.Settings{Zone: "Europe/Berlin"}.Location()
	day := func(i pool.Instant) pool.Instant { // the last midnight not after i, found forwards
		d := i - 3*24*pool.MillisPerHour
		for n := pool.NextMidnight(d, berlin); n <= i; n = pool.NextMidnight(d, berlin) {
			d = n
		}
		return d
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		var ledger []domain.Segment
		tag, negative, days := 0, 0, 0
		rapid.Check(t, func(rt *rapid.T) {
			tag++
			batch := genSegments(tag).Draw(rt, "batch")
			f := domain.SegmentFilter{
				Org:     rapid.SampledFrom([]pool.OrgID{"", uni, clinic}).Draw(rt, "only org"),
				Account: rapid.SampledFrom([]pool.AccountID{"", "acc-uni"}).Draw(rt, "only account"),
				Job:     rapid.SampledFrom([]pool.JobID{"", "", "j2"}).Draw(rt, "only job"),
				Project: rapid.SampledFrom([]pool.ProjectID{"", "", "ward"}).Draw(rt, "only project"),
				User:    rapid.SampledFrom([]pool.UserID{"", "", "bo"}).Draw(rt, "only user"),
			}
			if rapid.Bool().Draw(rt, "narrowed") {
				f.Projects = []pool.ProjectID{"lab", "none"}
			}
			if rapid.Bool().Draw(rt, "dated") {
				f.From = storetest.Start + pool.Instant(rapid.IntRange(-50, 50).Draw(rt, "from"))*pool.MillisPerHour
				f.To = f.From + pool.Instant(rapid.IntRange(0, 90).Draw(rt, "hours"))*pool.MillisPerHour
			}
			if f.Account != "" && rapid.Bool().Draw(rt, "numbered") {
				f.AfterSeq = rapid.Int64Range(0, 20).Draw(rt, "after")
				f.ToSeq = f.AfterSeq + rapid.Int64Range(1, 500).Draw(rt, "numbers")
			}
			flag := func(name string) bool { return rapid.Bool().Draw(rt, name) }
			by := domain.UsageGroup{Project: flag("by project"), User: flag("by user"), Account: flag("by account"), Org: flag("by org"), Job: flag("by job"), Day: flag("by day")}
			inTx(t, s, func(tx domain.Tx) error {
				stored, err := tx.AppendSegments(batch)
				if err == nil {
					batch = stored
				}
				return err
			})
			ledger = append(ledger, batch...)
			want := naiveUsage(ledger, f, by, day)
			inView(t, s, func(tx domain.Tx) error {
				rows, err := tx.Usage(f, by)
				got := map[domain.UsageRow]pool.GPUMillis{}
				for _, r := range rows {
					key := r
					key.Use = 0
					got[key] = r.Use
					if r.Use < 0 {
						negative++
					}
				}
				if by.Day && len(rows) > 1 {
					days++
				}
				if d := cmp.Diff(want, got); d != "" || err != nil || len(got) != len(rows) {
					rt.Fatalf("%+v by %+v: %v %s", f, by, err, d)
				}
				return nil
			})
		})
		if negative == 0 || days == 0 {
			t.Errorf("the generator met %d negative sums and %d splits by day", negative, days)
		}
	})
}

func TestUseOfJobsIsSummedPerJobHoweverOftenItIsAskedFor(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		back := aSegment(uni, 1)
		back.Sign = -1
		loan := aSegment(uni, 1)
		loan.Cover, loan.GPUs, loan.Revision = pool.Loan, 3, 1
		again := loan
		again.Start, again.End, again.PlanVersion = loan.End, loan.End+1, "v2"
		inTx(t, s, func(tx domain.Tx) error {
			_, err := tx.AppendSegments([]domain.Segment{aSegment(uni, 1), back, loan, again, aSegment(clinic, 2)})
			return err
		})
		asked := []pool.JobID{"j-uni-000001", "j-none"}
		for n := range 2500 {
			asked = append(asked, pool.JobID(fmt.Sprint("x", n)))
		}
		asked = append(asked, "j-uni-000001", "j-clinic-000002")
		inView(t, s, func(tx domain.Tx) error {
			got, err := tx.JobUse(asked)
			want := map[pool.JobID][]domain.UsageRow{
				"j-uni-000001": {
					{Job: "j-uni-000001", Class: "a100-80g", Cover: pool.Loan, Row: "p1", Use: 3*pool.MillisPerHour + 3},
					{Job: "j-uni-000001", Class: "a100-80g", Cover: pool.Own, Row: "p1"},
				},
				"j-clinic-000002": {{Job: "j-clinic-000002", Class: "a100-80g", Cover: pool.Own, Row: "p1", Use: pool.MillisPerHour}},
			}
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			return nil
		})
	})
}

func TestNamesOfManyPeopleAreFound(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		ids := []pool.UserID{"ada-uni"}
		for n := range 2100 {
			ids = append(ids, pool.UserID(fmt.Sprint("nobody-", n)))
		}
		inView(t, s, func(tx domain.Tx) error {
			got, err := tx.NamesOf(append(ids, "ada-clinic"))
			if d := cmp.Diff(map[pool.UserID]string{"ada-uni": "Ada " + hardText, "ada-clinic": "Ada " + hardText}, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			none, err := tx.NamesOf(nil)
			if len(none) != 0 || err != nil {
				t.Errorf("of nobody: %v %v", none, err)
			}
			return nil
		})
	})
}

// The sums of pages and of the engine read an index alone, and of it no more
// than the interval asked for.
func TestUsageIsServedByCoveringIndexes(t *testing.T) {
	t.Parallel()
	c := storetest.SQLite(t)
	storetest.Open(t, nil, c)
	hand := byHand(t, "sqlite", c.SQLitePath)
	const columns = "class_id, cover, price_row_id, plan_version_id, project_id, user_id, account_id, org_id, job_id, day_at"
	for where, want := range map[string]string{
		"org_id = 'uni' AND ": "SEARCH segments USING COVERING INDEX segments_org_use (org_id=? AND start_at>? AND start_at<?)",
		"":                    "SEARCH segments USING COVERING INDEX segments_pool_use (start_at>? AND start_at<?)",
	} {
		p := explain(t, hand, "SELECT "+columns+", SUM(use_gpums) FROM segments WHERE "+where+"start_at >= 1 AND start_at < 2 GROUP BY "+columns)
		if !slices.Contains(p.text, want) {
			t.Errorf("%q: %+v", where, p)
		}
	}
}

// What the loops ask for at each tick costs by what is open, not by what was.
func TestOpenWorkIsServedByPartialIndexes(t *testing.T) {
	t.Parallel()
	c := storetest.SQLite(t)
	storetest.Open(t, nil, c)
	hand := byHand(t, "sqlite", c.SQLitePath)
	for query, want := range map[string]string{
		"meters WHERE NOT closed ORDER BY alloc_id":                                                                                  "meters_open",
		"meters WHERE org_id = 'uni' AND NOT closed ORDER BY alloc_id":                                                               "meters_org_open",
		"jobs WHERE state <> 'ended' ORDER BY submitted_at, id":                                                                      "jobs_live",
		"attempts WHERE state <> 'ended' ORDER BY admitted_at, job_id, n":                                                            "attempts_live",
		"attempts WHERE org_id = 'uni' AND state <> 'ended' ORDER BY admitted_at, job_id":                                            "attempts_live",
		"promises WHERE state = 'open' ORDER BY made_at, id":                                                                         "promises_open",
		"outbox WHERE done_at = 0 AND next_at <= 5 ORDER BY id LIMIT 10":                                                             "outbox_open",
		"covers WHERE (job_id, n) IN (SELECT a.job_id, a.n FROM attempts AS a WHERE a.state <> 'ended') ORDER BY from_at, job_id, n": "attempts_live",
	} {
		if p := explain(t, hand, "SELECT * FROM "+query); !slices.Contains(p.indexes, want) {
			t.Errorf("%s: %+v", query, p)
		}
	}
}
