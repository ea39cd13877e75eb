package domain

import (
	"context"
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

const operatorCode = "operator_code" // the flag that keeps its hash

// DefaultSettings are those of a pool that nobody has set up yet.
func DefaultSettings(now pool.Instant) Settings {
	return Settings{Name: "GPU Pool", Currency: money.Currencies[0], Zone: "UTC", Grace: 24 * time.Hour,
		SetupGrace: 10 * time.Minute, SetupLimit: 30 * time.Minute, ForgetAfter: 7 * 24 * time.Hour, Notice: 10 * time.Minute, Signal: "SIGUSR1", DefaultMaxRun: 24 * time.Hour,
		LongestMaxRun: 31 * 24 * time.Hour, Fair: true, CreatedAt: now}
}

// PrepareOperatorCode makes a new pool ready for its first visitor: settings
// to begin with, and a one-time code that makes its owner the operator. Only
// the hash is kept, so the code is returned once, for the log; it is empty
// when there is an operator. A new code replaces the last.
func (s *Service) PrepareOperatorCode(ctx context.Context) (string, error) {
	var code string
	secret := s.secret(15)
	err := s.store.Update(ctx, func(tx Tx) error {
		code = ""
		if ok, err := known(second(tx.Settings())); err != nil {
			return err
		} else if !ok {
			if err := tx.SaveSettings(DefaultSettings(tx.Now())); err != nil {
				return err
			}
		}
		if has, err := hasOperator(tx); err != nil || has {
			return err
		}
		code = secret
		return tx.SetFlag(operatorCode, HashSecret(code))
	})
	return code, err
}

func second[T any](_ T, err error) error { return err }

func hasOperator(tx Tx) (bool, error) {
	users, err := tx.Users()
	if err != nil {
		return false, err
	}
	for _, u := range users {
		if u.Operator {
			return true, nil
		}
	}
	return false, nil
}

// BecomeOperatorInput is the form of the first visitor.
type BecomeOperatorInput struct{ Code, Email, Name, Password, Lang string }

// BecomeOperator makes the first visitor the operator, once, with the code
// from the log.
func (s *Service) BecomeOperator(ctx context.Context, a Actor, in BecomeOperatorInput) (User, error) {
	var f Fields
	u := User{ID: pool.UserID(s.newID("u-")), Operator: true, Lang: in.Lang}
	u.Name, u.Email = checkName(&f, "name", in.Name), checkEmail(&f, "email", in.Email)
	checkPassword(&f, "password", in.Password, u.Email)
	if trimmed(in.Code) == "" {
		f.Add("code", "Please fill in this field.")
	}
	u.Lang = language(u.Lang)
	if err := f.Err(); err != nil {
		return User{}, err
	}
	if err := s.store.View(ctx, func(tx Tx) error { return checkOperatorCode(tx, in.Code) }); err != nil {
		return User{}, err // before any work is spent on the password
	}
	hash, err := s.passwords.Hash(in.Password)
	if err != nil {
		return User{}, err
	}
	u.PasswordHash = hash
	err = s.update(ctx, "", func(tx Tx) error {
		if err := checkOperatorCode(tx, in.Code); err != nil {
			return err
		}
		u.CreatedAt = tx.Now()
		if err := tx.InsertUser(u); err != nil {
			return err
		}
		if err := tx.SetFlag(operatorCode, ""); err != nil {
			return err
		}
		a.User, a.Name = u.ID, u.Name
		return audit(tx, a, "", "operator.create", string(u.ID), nil, auditUser(u))
	})
	return u, err
}

func checkOperatorCode(tx Tx, code string) error {
	if has, err := hasOperator(tx); err != nil {
		return err
	} else if has {
		return Errf(Conflict, "This pool has its operator already.")
	}
	hash, err := tx.Flag(operatorCode)
	if err != nil {
		return err
	}
	if hash == "" || hash != HashSecret(trimmed(code)) {
		return Fields{{Field: "code", Message: "This is not the code that the server printed when it last started."}}.Err()
	}
	return nil
}

// auditUser is a person as the trail may show: without the password's hash.
func auditUser(u User) map[string]any {
	return map[string]any{"email": u.Email, "name": u.Name, "operator": u.Operator, "lang": u.Lang, "time_zone": u.TimeZone}
}

// SetupStep is one line of the checklist of a new pool.
type SetupStep struct {
	Code  string // operator, nomad, classes, plan, prices, issuer, member
	Title string // English sentence, the key of its translation
	Done  bool
}

// SetupChecklist tells how far the set-up of the pool is. It names no numbers,
// so that everybody may see it while the pool is not open.
func (s *Service) SetupChecklist(ctx context.Context, _ Actor) ([]SetupStep, error) {
	steps := []SetupStep{
		{Code: "operator", Title: "Operator signed in with the code from the log"},
		{Code: "nomad", Title: "Nomad answers", Done: s.ClusterHealth().OK},
		{Code: "classes", Title: "At least one GPU type"},
		{Code: "node", Title: "A node with GPUs of such a type is ready"},
		{Code: "plan", Title: "A published plan"},
		{Code: "prices", Title: "Published prices"},
		{Code: "issuer", Title: "Issuer and bank details for invoices"},
		{Code: "member", Title: "First member organisation"},
	}
	done := func(code string, ok bool) {
		for i := range steps {
			if steps[i].Code == code {
				steps[i].Done = ok
			}
		}
	}
	err := s.store.View(ctx, func(tx Tx) error {
		has, err := hasOperator(tx)
		if err != nil {
			return err
		}
		done("operator", has)
		classes, err := tx.Classes()
		if err != nil {
			return err
		}
		done("classes", len(classes) > 0)
		nodes, err := tx.Nodes()
		if err != nil {
			return err
		}
		for _, n := range nodes {
			if n.Class != "" && n.GPUs > 0 && n.State == NodeReady {
				done("node", true)
			}
		}
		versions, err := tx.PlanVersions()
		if err != nil {
			return err
		}
		for _, v := range versions {
			if v.PublishedAt != 0 {
				done("plan", true)
			}
		}
		lists, err := tx.PriceLists()
		if err != nil {
			return err
		}
		for _, l := range lists {
			if l.PublishedAt != 0 {
				done("prices", true)
			}
		}
		st, err := tx.Settings()
		if ok, err := known(err); err != nil {
			return err
		} else if ok {
			done("issuer", st.Seller.Name != "" && st.Bank != "")
		}
		orgs, err := tx.Orgs()
		done("member", len(orgs) > 0)
		return err
	})
	return steps, err
}
