package main

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

// shown is the command on a job's page, as a shell splits it into words.
func (s *shell) shown(id pool.JobID, env ...string) []string {
	s.t.Helper()
	jar, err := cookiejar.New(nil)
	s.must(err)
	person := &http.Client{Jar: jar}
	res, err := person.PostForm(s.url+"/signin", url.Values{"email": {"ming@rheinau.example"}, "password": {domaintest.Password}})
	s.must(err)
	res.Body.Close()
	res, err = person.Get(s.url + "/o/" + string(s.Org) + "/jobs/" + string(id))
	s.must(err)
	defer res.Body.Close()
	page, err := goquery.NewDocumentFromReader(res.Body)
	s.must(err)
	sh := exec.Command("sh", "-c", "gpupool() { printf '%s\\001' \"$@\"; }\n"+page.Find("#cli code").Text())
	sh.Env = env
	out, err := sh.Output()
	s.must(err)
	return strings.Split(strings.TrimSuffix(string(out), "\x01"), "\x01")
}

func TestTheCommandOnAJobsPageSubmitsTheSame(t *testing.T) {
	t.Parallel()
	s := openShell(t)
	hour := pool.At(s.Clock.Now().Time().Add(time.Hour).Truncate(time.Second))
	first, err := s.Service.SubmitJob(t.Context(), s.Member, s.Org, domain.JobInput{Project: s.Project.ID, Name: "first", Classes: []pool.ClassID{s.Class}, Nodes: 1, GPUsPerNode: 1,
		Tier: pool.Guaranteed, MaxRun: time.Hour, Spec: domain.JobSpec{Image: "busybox"}})
	s.must(err)
	for sentence, in := range map[string]domain.JobInput{
		"all that a job has": {Name: "it's a $HOME; rm -rf", Nodes: 2, GPUsPerNode: 3, Tier: pool.Burst, MaxRun: 90 * time.Minute, Priority: -5, NotBefore: hour, Deadline: hour.Add(48 * time.Hour), DependsOn: first.ID, Renewable: true,
			Spec: domain.JobSpec{Image: "ghcr.io/x/train:1", Command: "python", Args: []string{"train.py", "--epochs", "3", "", "two words", "--gpus"},
				Env: map[string]string{"SEED": "a secret"}, Sim: &domain.Sim{LengthMs: 600_000, Exit: 3}}},
		"an image alone":              {Name: "plain", Nodes: 1, GPUsPerNode: 1, Tier: pool.Spot, MaxRun: 24 * time.Hour, Spec: domain.JobSpec{Image: "busybox"}},
		"arguments without a command": {Name: "serve", Nodes: 1, GPUsPerNode: 1, Tier: pool.Guaranteed, MaxRun: time.Minute, Spec: domain.JobSpec{Image: "vllm/vllm-openai:latest", Args: []string{"--port=8000"}}},
	} {
		in.Project, in.Classes = s.Project.ID, []pool.ClassID{s.Class}
		a, err := s.Service.SubmitJob(t.Context(), s.Member, s.Org, in)
		s.must(err)
		words := s.shown(a.ID, "SEED=a secret")
		for _, w := range words {
			if w == "burst" {
				t.Errorf("%s: the tier is not the word of the command line: %q", sentence, words)
			}
		}
		out, errs, code := s.run(s.Member, words...)
		s.wants(0, nil, out, errs, code)
		b, err := s.Service.Job(t.Context(), s.Member, s.Org, pool.JobID(strings.TrimSpace(out)))
		s.must(err)
		if d := cmp.Diff(a, b.Job, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(domain.Job{}, "ID", "SubmittedAt", "Reasons", "Position", "StartsBy", "State", "Attempts")); d != "" {
			t.Errorf("%s: the pasted command submits another job:\n%s\n%q", sentence, d, words)
		}
	}
}

func TestALengthThatCannotBeIsToldInHours(t *testing.T) {
	t.Parallel()
	s := openShell(t)
	for _, length := range []string{"-10h", "745h"} {
		out, errs, code := s.run(s.Member, "job", "run", "--max-run", length, "busybox")
		s.wants(exitUsage, []string{"--max-run: From 1 minute to 744 hours, the longest of this pool."}, out, errs, code)
	}
}
