package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/replay"
)

//go:embed testdata/demo/story.json
var demoStory []byte

// story is story.json: who is there, what they ran, claimed and paid.
type story struct {
	People   []storyPerson  `json:"people"`
	Operator storyPerson    `json:"operator"`
	Crowd    []replay.Crowd `json:"crowd"`
	Jobs     []storyJob     `json:"jobs"` // ran or waited before the story moment
	Live     []storyJob     `json:"live"` // submitted at the story moment
	Caps     []struct {
		Org    pool.OrgID     `json:"org"`
		First  string         `json:"first"` // from the start of the history
		Amount string         `json:"amount"`
		Mode   domain.CapMode `json:"mode"`
	} `json:"caps"`
	Accounts []storyAccount `json:"accounts"`
	Orders   []struct {
		Org     pool.OrgID `json:"org"`
		Account string     `json:"account"`
		Number  string     `json:"number"`
		Amount  string     `json:"amount"`
		AtZero  string     `json:"at_zero"`
	} `json:"orders"`
	Payments []storyPayment `json:"payments"`
}

// storyPayment is money that came in for the invoices of a month.
type storyPayment struct {
	Org       pool.OrgID `json:"org"`
	Month     int        `json:"month"`      // relative to the story month
	After     int        `json:"after_days"` // after the month was closed
	Short     string     `json:"short"`      // paid so much less than the total
	Reference string     `json:"reference"`
}

type storyPerson struct {
	Org   pool.OrgID `json:"org"`
	Email string     `json:"email"`
	Name  string     `json:"name"`
	Role  pool.Role  `json:"role"`
	Title string     `json:"title"`
}

type storyJob struct {
	Before  int          `json:"before_minutes"`
	Org     pool.OrgID   `json:"org"`
	User    string       `json:"user"`
	Project string       `json:"project"`
	Name    string       `json:"name"`
	Class   pool.ClassID `json:"class"`
	Tier    pool.Tier    `json:"tier"`
	Nodes   int          `json:"nodes"`
	GPUs    int          `json:"gpus"`
	Minutes int          `json:"minutes"`
	Limit   int          `json:"limit_minutes"`
	Exit    int          `json:"exit"`
	OOM     bool         `json:"oom"`
	Idle    bool         `json:"idle"`
}

type storyAccount struct {
	Org      pool.OrgID `json:"org"`
	Name     string     `json:"name"`
	Buyer    string     `json:"buyer"`
	Address  string     `json:"address"`
	Country  string     `json:"country"`
	Tax      string     `json:"tax"`
	Rate     string     `json:"rate"`
	Reason   string     `json:"reason"`
	VAT      string     `json:"vat"`
	Terms    string     `json:"terms"`
	Advance  bool       `json:"advance"`
	Projects []string   `json:"projects"`
}

func loadStory() (story, error) {
	var s story
	d := json.NewDecoder(bytes.NewReader(demoStory))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return s, fmt.Errorf("story.json: %w", err)
	}
	return s, nil
}
