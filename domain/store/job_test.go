package store_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

func TestAJobComesBackAsItWasStored(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		full := aJob(uni, 1)
		bare := domain.Job{ID: "j-bare", Org: uni, Project: "lab-uni", User: "ada-uni", Nodes: 1, GPUsPerNode: 1, Tier: pool.Spot, State: domain.JobWaiting}
		inTx(t, s, func(tx domain.Tx) error { return firstError(tx.InsertJob(full), tx.InsertJob(bare)) })
		inView(t, s, func(tx domain.Tx) error {
			for _, want := range []domain.Job{full, bare} {
				got, err := tx.Job(uni, want.ID)
				if d := cmp.Diff(want, got); d != "" || err != nil {
					t.Errorf("%v %s", err, d)
				}
				byID, err := tx.JobByID(want.ID)
				if d := cmp.Diff(want, byID); d != "" || err != nil {
					t.Errorf("by id: %v %s", err, d)
				}
			}
			return nil
		})
	})
}

func TestAJobOfAnotherMemberIsNotFound(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		j := aJob(uni, 1)
		inTx(t, s, func(tx domain.Tx) error { return tx.InsertJob(j) })
		inTx(t, s, func(tx domain.Tx) error {
			_, err := tx.Job(clinic, j.ID)
			wantCode(t, "read", err, domain.NotFound)
			theirs := j
			theirs.Org, theirs.Name = clinic, "taken"
			wantCode(t, "update", tx.UpdateJob(theirs), domain.NotFound)
			_, err = tx.Jobs(domain.JobFilter{Org: clinic, Before: string(j.ID)})
			wantCode(t, "a cursor of another member", err, domain.NotFound)
			if page, err := tx.Jobs(domain.JobFilter{Org: clinic}); len(page) != 0 || err != nil {
				t.Errorf("list: %v %v", page, err)
			}
			if n, err := tx.CountJobs(clinic); len(n) != 0 || err != nil {
				t.Errorf("count: %v %v", n, err)
			}
			_, err = tx.JobByID("j-none")
			wantCode(t, "an unknown id", err, domain.NotFound)
			return nil
		})
	})
}

func TestAJobWithoutAnIDOrTwiceIsRefused(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			j := aJob(uni, 1)
			for what, zero := range map[string]func(j *domain.Job){
				"id": func(j *domain.Job) { j.ID = "" }, "organisation": func(j *domain.Job) { j.Org = "" },
				"project": func(j *domain.Job) { j.Project = "" }, "user": func(j *domain.Job) { j.User = "" },
			} {
				bad := j
				zero(&bad)
				wantCode(t, "no "+what, tx.InsertJob(bad), domain.Invalid)
			}
			_, err := tx.Job("", j.ID)
			wantCode(t, "read without a member", err, domain.Invalid)
			_, err = tx.Job(uni, "")
			wantCode(t, "read without an id", err, domain.Invalid)
			_, err = tx.CountJobs("")
			wantCode(t, "count without a member", err, domain.Invalid)
			wantCode(t, "reasons of nothing", tx.SetReasons("", nil, 0, 0), domain.Invalid)
			wantCode(t, "reasons of an unknown job", tx.SetReasons("j-none", nil, 0, 0), domain.NotFound)
			if err := tx.InsertJob(j); err != nil {
				return err
			}
			wantCode(t, "twice", tx.InsertJob(j), domain.Conflict)
			return nil // the refused insert leaves the transaction usable
		})
		inView(t, s, func(tx domain.Tx) error {
			_, err := tx.JobByID(aJob(uni, 1).ID)
			return err
		})
	})
}

func TestUpdatingAJobKeepsItsOriginAndItsLog(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		j, other := aJob(uni, 1), aJob(uni, 2)
		inTx(t, s, func(tx domain.Tx) error { return firstError(tx.InsertJob(j), tx.InsertJob(other)) })
		changed := domain.Job{ID: j.ID, Org: uni, Project: "lab-uni", User: "ada-uni", Name: "plain", Nodes: 1, GPUsPerNode: 1, Tier: pool.Spot,
			State: domain.JobEnded, EndedAt: 9, SubmittedAt: 1}
		inTx(t, s, func(tx domain.Tx) error { return tx.UpdateJob(changed) })
		want := changed
		want.SubmittedAt, want.LogTail = j.SubmittedAt, j.LogTail
		inTx(t, s, func(tx domain.Tx) error {
			got, err := tx.Job(uni, j.ID)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			if found, err := tx.Jobs(domain.JobFilter{Org: uni, Search: "PLAIN"}); len(found) != 1 || err != nil {
				t.Errorf("the new name is found: %v %v", found, err)
			}
			got.LogTail = []byte("new")
			if err := tx.UpdateJob(got); err != nil {
				return err
			}
			return tx.SetReasons(other.ID, []pool.Reason{{Code: pool.Behind, Have: 2}}, 4, 5)
		})
		inView(t, s, func(tx domain.Tx) error {
			if got, err := tx.Job(uni, j.ID); string(got.LogTail) != "new" || err != nil {
				t.Errorf("log %q %v", got.LogTail, err)
			}
			want := other
			want.Reasons, want.Position, want.StartsBy = []pool.Reason{{Code: pool.Behind, Have: 2}}, 4, 5
			got, err := tx.Job(uni, other.ID)
			if d := cmp.Diff(want, got); d != "" || err != nil {
				t.Errorf("reasons: %v %s", err, d)
			}
			return nil
		})
	})
}

// A model of Jobs: the same filter over a slice.
func matches(f domain.JobFilter, j domain.Job) bool {
	return (f.Org == "" || f.Org == j.Org) && (f.Project == "" || f.Project == j.Project) &&
		(f.Projects == nil || slices.Contains(f.Projects, j.Project)) && (f.User == "" || f.User == j.User) &&
		(f.Class == "" || slices.Contains(j.Classes, f.Class)) && (len(f.States) == 0 || slices.Contains(f.States, j.State)) &&
		(f.From == 0 || j.SubmittedAt >= f.From) && (f.To == 0 || j.SubmittedAt < f.To)
}

func TestPagesOfJobsTogetherAreTheFilteredListNewestFirst(t *testing.T) {
	t.Parallel()
	states := []domain.JobState{domain.JobWaiting, domain.JobStarting, domain.JobRunning, domain.JobStopping, domain.JobEnded}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		var all []domain.Job
		inTx(t, s, func(tx domain.Tx) error {
			all = all[:0]
			for n := range 60 {
				j := aJob([]pool.OrgID{uni, clinic}[n%3/2], n)
				j.State = states[n%len(states)]
				j.Classes = [][]pool.ClassID{{"a100-80g"}, {"h100-80g", "a100"}, {"a100-80g", "l40s"}}[n%7%3]
				if err := tx.InsertJob(j); err != nil {
					return err
				}
				j.LogTail = nil // lists come without
				all = append(all, j)
			}
			return nil
		})
		slices.SortFunc(all, func(a, b domain.Job) int {
			if a.SubmittedAt != b.SubmittedAt {
				return int(b.SubmittedAt - a.SubmittedAt)
			}
			return -slices.Compare([]byte(a.ID), []byte(b.ID))
		})
		paged := 0
		rapid.Check(t, func(rt *rapid.T) {
			f := domain.JobFilter{
				Org:     rapid.SampledFrom([]pool.OrgID{"", uni, clinic}).Draw(rt, "org"),
				Project: rapid.SampledFrom([]pool.ProjectID{"", "", "lab-uni", "none"}).Draw(rt, "project"),
				User:    rapid.SampledFrom([]pool.UserID{"", "", "ada-uni"}).Draw(rt, "user"),
				Class:   rapid.SampledFrom([]pool.ClassID{"", "", "a100-80g", "a100", "%"}).Draw(rt, "class"),
				States:  rapid.SliceOfDistinct(rapid.SampledFrom(states), rapid.ID).Draw(rt, "states"),
				Limit:   rapid.IntRange(1, 9).Draw(rt, "limit"),
			}
			if rapid.Bool().Draw(rt, "narrowed") {
				f.Projects = rapid.SliceOf(rapid.SampledFrom([]pool.ProjectID{"lab-uni", "lab-clinic"})).Draw(rt, "projects")
				f.Projects = append([]pool.ProjectID{}, f.Projects...)
			}
			if rapid.Bool().Draw(rt, "dated") {
				f.From = storetest.Start + pool.Instant(rapid.IntRange(0, 20).Draw(rt, "from"))
				f.To = f.From + pool.Instant(rapid.IntRange(0, 20).Draw(rt, "length"))
			}
			want := []domain.Job{}
			for _, j := range all {
				if matches(f, j) {
					want = append(want, j)
				}
			}
			got := []domain.Job{}
			inView(t, s, func(tx domain.Tx) error {
				got = got[:0]
				for {
					page, err := tx.Jobs(f)
					if err != nil || len(page) == 0 {
						return err
					}
					got = append(got, page...)
					f.Before = string(page[len(page)-1].ID)
				}
			})
			if len(got) > f.Limit {
				paged++
			}
			if d := cmp.Diff(want, got); d != "" {
				rt.Fatalf("%+v: %s", f, d)
			}
		})
		if paged < 5 {
			t.Errorf("only %d of the generated filters had a second page", paged)
		}
	})
}

func TestSearchFindsTheTextAsItStands(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			plain := aJob(uni, 1)
			plain.Name = "Plain ÄRZTE"
			return firstError(tx.InsertJob(plain), tx.InsertJob(aJob(uni, 2)))
		})
		inView(t, s, func(tx domain.Tx) error {
			for text, want := range map[string]int{"": 2, "j-uni": 2, "000002": 1, "ärzte": 1, "PLAIN": 1, "名前": 1, "🚀": 1, "%": 1, "_": 1,
				`\`: 1, "'; drop table": 1, "no such": 0, hardText: 1} {
				if found, err := tx.Jobs(domain.JobFilter{Org: uni, Search: text}); len(found) != want || err != nil {
					t.Errorf("%q finds %d, want %d (%v)", text, len(found), want, err)
				}
			}
			return nil
		})
	})
}

func TestLiveJobsAndCountsFollowTheState(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		inTx(t, s, func(tx domain.Tx) error {
			for n := range 6 {
				j := aJob([]pool.OrgID{uni, clinic}[n%2], 9-n)
				if n >= 4 {
					j.State = domain.JobEnded
				}
				if err := tx.InsertJob(j); err != nil {
					return err
				}
			}
			return nil
		})
		inView(t, s, func(tx domain.Tx) error {
			live, err := tx.LiveJobs()
			var ids []string
			for _, j := range live {
				ids = append(ids, string(j.ID))
			}
			want := []string{"j-clinic-000006", "j-uni-000007", "j-clinic-000008", "j-uni-000009"}
			if d := cmp.Diff(want, ids); d != "" || err != nil {
				t.Errorf("live: %v %s", err, d)
			}
			n, err := tx.CountJobs(uni)
			if d := cmp.Diff(map[domain.JobState]int64{domain.JobWaiting: 2, domain.JobEnded: 1}, n); d != "" || err != nil {
				t.Errorf("count: %v %s", err, d)
			}
			return nil
		})
	})
}

func TestPromisesOfManyJobsAreFound(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		dear := aJob(clinic, 2)
		dear.UpTo = 1 << 60
		inTx(t, s, func(tx domain.Tx) error { return firstError(tx.InsertJob(aJob(uni, 1)), tx.InsertJob(dear)) })
		ids := []pool.JobID{dear.ID}
		for n := range 2100 {
			ids = append(ids, pool.JobID(fmt.Sprint("none-", n)))
		}
		inView(t, s, func(tx domain.Tx) error {
			got, err := tx.Promised(append(ids, aJob(uni, 1).ID))
			if d := cmp.Diff(map[pool.JobID]domain.Promised{dear.ID: {Name: dear.Name, UpTo: 1 << 60}, aJob(uni, 1).ID: {Name: aJob(uni, 1).Name, UpTo: 38_400}}, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			return nil
		})
	})
}

// The plan of every page must come from an index in its order: then its cost
// does not grow with the number of jobs.
func TestEveryPageOfJobsIsServedByAnIndex(t *testing.T) {
	t.Parallel()
	c := storetest.SQLite(t) // both engines have the same indexes; PostgreSQL plans by statistics
	storetest.Open(t, nil, c)
	hand := byHand(t, "sqlite", c.SQLitePath)
	for where, index := range map[string]string{
		"org_id = 'uni'":                        "jobs_org",
		"org_id = 'uni' AND project_id = 'p'":   "jobs_org_project",
		"org_id = 'uni' AND user_id = 'u'":      "jobs_org_user",
		"org_id = 'uni' AND state IN ('ended')": "jobs_org_state",
		"submitted_at > 0":                      "jobs_newest",
		"state <> 'ended'":                      "jobs_live",
		"org_id = 'uni' AND state IN ('waiting', 'running') AND state <> 'ended'": "jobs_org_live",
	} {
		plan := explain(t, hand, fmt.Sprintf("SELECT id FROM jobs WHERE %s AND (submitted_at, id) < (5, 'x') ORDER BY submitted_at DESC, id DESC LIMIT 50", where))
		if !slices.Contains(plan.indexes, index) || plan.sorts {
			t.Errorf("%s: %+v, want %s and no sort", where, plan, index)
		}
	}
}
