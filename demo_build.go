package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/replay"
	"gpupool/nomad/embedded"
)

// demoBuilder makes the consortium through the use cases.
type demoBuilder struct {
	p        *portal
	story    story
	times    demoTimes
	pool     replay.Pool
	operator domain.Actor
	users    map[string]domain.User // by e-mail
	projects map[string]pool.ProjectID
	accounts map[string]domain.BillingAccount // by name
	node     map[pool.NodeID]pool.NodeID      // name -> the cluster's id
	unpaid   []storyPayment
}

func (b *demoBuilder) build(ctx context.Context, seed uint64) (*domain.History, error) {
	for _, step := range []func(context.Context) error{b.consortium, b.catalogue, b.members} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	trace, err := b.trace(seed)
	if err != nil {
		return nil, err
	}
	res, err := replay.Run(b.pool, trace.Jobs, replay.Options{Until: b.times.moment})
	if err != nil {
		return nil, err
	}
	h := b.history(res)
	if err := b.p.service.ImportJobs(ctx, h); err != nil {
		return nil, err
	}
	if err := b.months(ctx, h); err != nil {
		return nil, err
	}
	if err := b.takeOver(ctx, h); err != nil {
		return nil, err
	}
	return h, b.present(ctx)
}

// at moves the business clock.
func (b *demoBuilder) at(ctx context.Context, to pool.Instant) error {
	return b.p.service.StartClock(ctx, domain.System("demo"), to, 1)
}

// consortium makes settings, the operator, the clock and the nodes.
func (b *demoBuilder) consortium(ctx context.Context) error {
	s := b.p.service
	code, err := s.PrepareOperatorCode(ctx)
	if err != nil {
		return err
	}
	err = b.p.store.Update(ctx, func(tx domain.Tx) error {
		st, err := tx.Settings()
		if err != nil {
			return err
		}
		st.Demo, st.CreatedAt = true, b.times.start
		if err := tx.SetFlag(demoMarker, "building"); err != nil {
			return err
		}
		return tx.SaveSettings(st)
	})
	if err != nil {
		return err
	}
	if err := b.at(ctx, b.times.start); err != nil {
		return err
	}
	u, err := s.BecomeOperator(ctx, domain.Actor{Via: domain.ViaSystem}, domain.BecomeOperatorInput{Code: code, Email: b.story.Operator.Email,
		Name: b.story.Operator.Name, Password: demoPassword(b.p), Lang: "en"})
	if err != nil {
		return err
	}
	if b.operator, _, err = s.ActorFor(ctx, u.ID, domain.ViaSystem, ""); err != nil {
		return err
	}
	_, err = s.SaveSettings(ctx, b.operator, domain.SettingsInput{Name: b.pool.Name, NameZH: b.pool.NameZH, Currency: b.pool.Currency, Zone: b.pool.Zone,
		GraceHours: "24", SetupGraceMinutes: "10", SetupLimitMinutes: "30", ForgetAfterHours: "168", NoticeMinutes: "10", Signal: demoSignal, DefaultMaxRunHours: "24", LongestMaxRunHours: "744",
		InvoicePrefix: "NB", Seller: domain.Party{Name: b.pool.Name, Address: "Hafenallee 3\n20457 Hamburg", Country: "DE", TaxID: "DE000000001"},
		Bank: "IBAN DE00 0000 0000 0000 0000 00, BIC NBRDEXXX (invented)", Fair: b.pool.Fair})
	if err != nil {
		return err
	}
	var nodes []embedded.NodeSpec
	for _, n := range b.pool.Nodes {
		var class replay.Class
		for _, c := range b.pool.Classes {
			if c.ID == n.Class {
				class = c
			}
		}
		kind, power := "GPU", int64(400)
		if class.PerCard > 1 {
			kind, power = "MIG", 60
		}
		b.node[pool.NodeID(n.Name)] = pool.NodeID(embedded.NodeUUID(n.Name))
		nodes = append(nodes, embedded.NodeSpec{Name: n.Name, Datacenter: string(n.Site), Meta: map[string]string{"gpupool_site": string(n.Site)},
			Devices: []embedded.DeviceSpec{{Model: class.Model, IDs: embedded.DeviceIDs(kind, n.Name, n.GPUs), MemoryMiB: class.MemoryMiB, PowerW: power}}})
	}
	if err := b.p.openEmbedded(nodes); err != nil {
		return err
	}
	return b.p.openService(b.p.currency(ctx)) // again, now with its cluster
}

// demoPassword is one that nobody knows: people of the demo sign in by click.
func demoPassword(p *portal) string { return "demo-" + p.service.Secret(24) }

// catalogue makes classes, inventory, plans and price lists.
func (b *demoBuilder) catalogue(ctx context.Context) error {
	s := b.p.service
	for _, c := range b.pool.Classes {
		_, err := s.CreateClass(ctx, b.operator, domain.ClassInput{ID: string(c.ID), Name: c.Name, Vendor: "nvidia", Type: "gpu", Model: c.Model,
			MemoryMiB: strconv.FormatInt(c.MemoryMiB, 10), PerCard: strconv.Itoa(max(1, c.PerCard)), CPUPerGPU: "8000", MemPerGPU: "65536",
			CloudLow: c.CloudLow, CloudHigh: c.CloudHigh, CloudNote: c.CloudNote})
		if err != nil {
			return fmt.Errorf("class %s: %w", c.ID, err)
		}
	}
	if err := s.SyncInventory(ctx); err != nil {
		return err
	}
	for _, pl := range b.pool.Plans {
		if _, err := s.CreatePlan(ctx, b.operator, domain.PlanInput{ID: string(pl.ID), Name: pl.Name, NameZH: pl.NameZH}); err != nil {
			return fmt.Errorf("plan %s: %w", pl.ID, err)
		}
		in := domain.PlanVersionInput{Fee: pl.Fee}
		for _, c := range b.pool.Classes {
			q := pl.Classes[c.ID]
			in.Classes = append(in.Classes, domain.PlanClassInput{Class: c.ID, Guaranteed: strconv.Itoa(q.Guaranteed),
				IncludedHours: strconv.FormatInt(q.Included, 10), Borrow: strconv.Itoa(q.Borrow), Lend: strconv.Itoa(q.Lend)})
		}
		v, err := s.SavePlanDraft(ctx, b.operator, pl.ID, in)
		if err != nil {
			return fmt.Errorf("plan %s: %w", pl.ID, err)
		}
		if _, _, err := s.PublishPlan(ctx, b.operator, v.ID); err != nil {
			return fmt.Errorf("plan %s: %w", pl.ID, err)
		}
	}
	for i := range b.pool.Prices {
		if err := b.priceList(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// priceList publishes list i. Later lists are announced from the start.
func (b *demoBuilder) priceList(ctx context.Context, i int) error {
	s, l := b.p.service, b.pool.Prices[i]
	in := domain.PriceListInput{Name: string(l.ID)}
	if i > 0 {
		t, err := time.Parse(time.RFC3339, l.From)
		if err != nil {
			return err
		}
		in.From = pool.At(t)
	}
	for _, r := range l.Rows {
		from, to, _ := strings.Cut(r.Window, "-")
		in.Rows = append(in.Rows, domain.PriceRowInput{Class: r.Class, Cover: r.Cover, Price: r.Price,
			LenderShare: strconv.Itoa(r.Lender / 100), From: from, To: to})
	}
	draft, err := s.SavePriceListDraft(ctx, b.operator, in)
	if err != nil {
		return fmt.Errorf("price list %s: %w", l.ID, err)
	}
	if _, _, err := s.PublishPriceList(ctx, b.operator, draft.ID, "demo"); err != nil {
		return fmt.Errorf("price list %s: %w", l.ID, err)
	}
	return nil
}
