package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"gpupool/domain"
	"gpupool/domain/meter"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

const (
	uni    pool.OrgID = "uni"
	clinic pool.OrgID = "clinic"
)

// hardText is what text must survive: quotes, a statement, emoji, Chinese,
// right-to-left, wild cards and a bare backslash.
const hardText = `Ω'; DROP TABLE jobs; -- "名前" 🚀 %_\ عربى é`

// inTx runs fn in Update and fails the test on an error.
func inTx(t testing.TB, s *store.Store, fn func(tx domain.Tx) error) {
	t.Helper()
	if err := s.Update(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

// inView runs fn in View and fails the test on an error.
func inView(t testing.TB, s *store.Store, fn func(tx domain.Tx) error) {
	t.Helper()
	if err := s.View(context.Background(), fn); err != nil {
		t.Fatal(err)
	}
}

// wantCode fails the test unless err has the code.
func wantCode(t testing.TB, what string, err error, want domain.Code) {
	t.Helper()
	if err == nil || domain.CodeOf(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

// twoMembers stores the settings and two organisations, each with a person, a
// project and a billing account named after it.
func twoMembers(t testing.TB, s *store.Store) {
	t.Helper()
	inTx(t, s, func(tx domain.Tx) error {
		err := tx.SaveSettings(domain.Settings{Name: "Pool", Currency: money.Currency{Code: "EUR", Exponent: 2}, Zone: "Europe/Berlin"})
		if err != nil {
			return err
		}
		for _, org := range []pool.OrgID{uni, clinic} {
			person := pool.UserID("ada-" + org)
			err := firstError(
				tx.InsertOrg(domain.Organisation{ID: org, Name: string(org)}),
				tx.InsertUser(domain.User{ID: person, Email: string(person) + "@example.org", Name: "Ada " + hardText}),
				tx.InsertProject(domain.Project{ID: pool.ProjectID("lab-" + org), Org: org, Name: "Lab", BudgetPeriod: "month"}),
				tx.InsertAccount(domain.BillingAccount{ID: pool.AccountID("acc-" + org), Org: org, Name: "Main", TaxKind: "standard", Issuer: "local"}),
			)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// aJob of the organisation, every field set; n tells jobs apart and orders
// them by time, two to a millisecond.
func aJob(org pool.OrgID, n int) domain.Job {
	return domain.Job{
		ID: pool.JobID(fmt.Sprintf("j-%s-%06d", org, n)), Org: org, Project: pool.ProjectID("lab-" + org), User: pool.UserID("ada-" + org),
		Name: fmt.Sprintf("train %d %s", n, hardText), Classes: []pool.ClassID{"a100-80g", "h100-80g"}, Nodes: 2, GPUsPerNode: 4,
		Tier: pool.Burst, Priority: 7, MaxRun: 90 * time.Minute, Renewable: true, NotBefore: 5, Deadline: 9, DependsOn: "j-other",
		Spec:  domain.JobSpec{Template: "train", Image: "python:3", Command: "python", Args: []string{"-c", hardText}, Env: map[string]string{"K": hardText}, Sim: &domain.Sim{LengthMs: 5, OOM: true}},
		State: domain.JobWaiting, Reasons: []pool.Reason{{Code: pool.QuotaFull, Class: "a100-80g", Need: 8, Have: 3, Limit: 10, Until: 9, Ref: hardText}},
		Position: 3, StartsBy: 77, UpTo: 38_400, Attempts: 2, SubmittedAt: storetest.Start + pool.Instant(n/2),
		EndedAt: 0, End: domain.EndTakenBack, EndDetail: hardText, StopBy: "ada", StopAsked: 4, LogTail: []byte{0, 0xff, 'x'},
	}
}

// anAttempt is the first try of the job, every field set.
func anAttempt(j domain.Job) domain.Attempt {
	return domain.Attempt{
		ID: pool.AttemptID{Job: j.ID, N: 1}, Org: j.Org, Project: j.Project, User: j.User, Class: "a100-80g",
		Placement: []domain.NodeGPUs{{Node: "n1", GPUs: 4}, {Node: "n2", GPUs: 4}}, Tier: pool.Burst, Priority: 7,
		Split: pool.Split{Own: 3, Loan: 4, Spot: 1}, State: domain.AttemptRunning, AdmittedAt: storetest.Start, StartedAt: storetest.Start + 1,
		MaxEnd: storetest.Start + 99, NoticeAt: 3, StopAt: 4, StopReason: domain.EndTakenBack, StopDetail: hardText, StopSent: 5, GuaranteedUntil: 6,
		EndedAt: 6, End: domain.EndExitCode, ExitCode: -9, EndDetail: hardText,
	}
}

// aRun stores a job of the organisation with its first attempt and gives both.
func aRun(t testing.TB, s *store.Store, org pool.OrgID, n int) (domain.Job, domain.Attempt) {
	t.Helper()
	j := aJob(org, n)
	a := anAttempt(j)
	inTx(t, s, func(tx domain.Tx) error { return firstError(tx.InsertJob(j), tx.InsertAttempt(a)) })
	return j, a
}

// aSegment of one GPU for an hour, n hours after the start.
func aSegment(org pool.OrgID, n int) domain.Segment {
	start := storetest.Start + pool.Instant(n)*pool.MillisPerHour
	return domain.Segment{
		Alloc: pool.AllocID(fmt.Sprintf("al-%s-%d", org, n)), Attempt: pool.AttemptID{Job: pool.JobID(fmt.Sprintf("j-%s-%06d", org, n)), N: 1},
		Start: start, End: start + pool.MillisPerHour, Class: "a100-80g", GPUs: 1, Cover: pool.Own, PriceRow: "p1", PlanVersion: "v1",
		Org: org, Project: pool.ProjectID("lab-" + org), User: pool.UserID("ada-" + org), Account: pool.AccountID("acc-" + org), Node: "n1",
		Source: "nomad", Quality: meter.Exact, Sign: 1,
	}
}
