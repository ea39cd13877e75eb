package domain_test

import (
	"strings"
	"testing"

	"gpupool/domain"
	"gpupool/domain/domaintest"
	"gpupool/domain/pool"
)

func TestWhatIsShownOnOneLineHidesAndTurnsNothing(t *testing.T) {
	t.Parallel()
	p := domaintest.New(t)
	s := p.Service
	account := domaintest.Account()
	fields := map[string]func(text string) error{
		"job name": func(text string) error {
			return second(s.SubmitJob(ctx, p.Member, p.Org, domain.JobInput{Project: p.Project.ID, Name: text, Classes: []pool.ClassID{p.Class}, Nodes: 1, GPUsPerNode: 1,
				Tier: pool.Burst, Spec: domain.JobSpec{Image: "python:3.13"}}))
		},
		"project name": func(text string) error {
			return second(s.CreateProject(ctx, p.Owner, p.Org, domain.ProjectInput{Name: text}))
		},
		"organisation name": func(text string) error { return member(p, "other", text) },
		"plan name": func(text string) error {
			return second(s.CreatePlan(ctx, p.Operator, domain.PlanInput{ID: "other", Name: text}))
		},
		"class name": func(text string) error {
			in := domaintest.Class()
			in.ID, in.Model, in.Name = "other", "other", text
			return second(s.CreateClass(ctx, p.Operator, in))
		},
		"token name": func(text string) error {
			_, _, err := s.CreateToken(ctx, p.Member, domain.TokenInput{Name: text, Scopes: []string{domain.ScopeJobs}, Days: "30"})
			return err
		},
		"account name": func(text string) error {
			in := account
			in.Name = text
			return second(s.CreateAccount(ctx, p.Finance, p.Org, in))
		},
		"order number": func(text string) error {
			return second(s.AddOrder(ctx, p.Finance, p.Org, p.Account.ID, domain.OrderInput{Number: text, Amount: "1", AtZero: "stop"}))
		},
	}
	for field, send := range fields {
		of := "name"
		if field == "order number" {
			of = "number"
		}
		for text, want := range map[string]string{
			"a\nb":       "Must be one line.",
			"a\u2028b":   "Must be one line.",
			"a\tb":       "Invisible characters are not allowed.",
			"a\u009bb":   "Invisible characters are not allowed.",
			"\u202eabc":  "Invisible characters are not allowed.",
			"\u200b":     "Invisible characters are not allowed.",
			"\u200d":     "Needs at least one visible character.",
			"\u3164":     "Needs at least one visible character.",
			"":           "Please fill in this field.",
			"ok\xffname": "This is not text in UTF-8.",
		} {
			if err := send(text); domain.CodeOf(err) != domain.Invalid || !strings.Contains(err.Error(), of+": "+want) {
				t.Errorf("%s %q: %v", field, text, err)
			}
		}
		for _, text := range []string{"夜 训练", "👩\u200d🔬 lab", "Gäste № 1"} {
			if err := send(text); err != nil && strings.Contains(err.Error(), of+": ") {
				t.Errorf("%s %q: %v", field, text, err)
			}
		}
	}
}
