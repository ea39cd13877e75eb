package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/replay"
	"gpupool/nomad/embedded"
)

//go:embed testdata/demo/pool.json
var demoPool string

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
	Payments []struct {
		Org       pool.OrgID `json:"org"`
		Month     int        `json:"month"` // relative to the story month
		Short     string     `json:"short"` // paid so much less than the total
		Extra     bool       `json:"extra"` // paid again
		Reference string     `json:"reference"`
	} `json:"payments"`
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
	marked, err := isDemo(ctx, p.store)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		return err
	}
	if marked {
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
	text := strings.NewReplacer("STORY_MONTH", t.month.Bounds(zone).Start.In(zone).Format(time.RFC3339),
		"TRACE_START", t.traceStart.In(zone).Format(time.RFC3339)).Replace(demoPool)
	rp, err := replay.LoadPool(strings.NewReader(text))
	if err != nil {
		return fmt.Errorf("demo pool.json: %w", err)
	}
	if err := p.openService(p.currency(ctx)); err != nil {
		return err
	}
	b := demoBuilder{p: p, story: s, times: t, pool: rp, users: map[string]domain.User{}, projects: map[string]pool.ProjectID{},
		accounts: map[string]domain.BillingAccount{}, node: map[pool.NodeID]pool.NodeID{}}
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

func head(hash string) string { return hash[:min(12, len(hash))] }

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
		st.Demo = true
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
		GraceHours: "24", SetupGraceMinutes: "10", NoticeMinutes: "10", Signal: "SIGUSR1", DefaultMaxRunHours: "24", LongestMaxRunHours: "744",
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

// members makes organisations, people, accounts, projects and subscriptions.
func (b *demoBuilder) members(ctx context.Context) error {
	for _, o := range b.pool.Orgs {
		if err := b.member(ctx, o); err != nil {
			return fmt.Errorf("member %s: %w", o.ID, err)
		}
	}
	for _, n := range b.pool.Nodes {
		if n.Contributor == "" {
			continue
		}
		if _, err := b.p.service.AssignNode(ctx, b.operator, b.node[pool.NodeID(n.Name)], domain.NodeInput{Site: n.Site, Contributor: n.Contributor}); err != nil {
			return err
		}
		_, err := b.p.service.AddContribution(ctx, b.operator, domain.ContributionInput{Org: n.Contributor, Node: b.node[pool.NodeID(n.Name)], GPUs: strconv.Itoa(n.GPUs), Quota: "0"})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *demoBuilder) member(ctx context.Context, o replay.Org) error {
	s := b.p.service
	i := slices.IndexFunc(b.story.People, func(p storyPerson) bool { return p.Org == o.ID && p.Role == pool.RoleOwner })
	if i < 0 {
		return fmt.Errorf("story.json has no owner")
	}
	boss := b.story.People[i]
	_, _, token, err := s.CreateMember(ctx, b.operator, domain.CreateMemberInput{Slug: string(o.ID), Name: o.Name, NameZH: o.NameZH, OwnerEmail: boss.Email})
	if err != nil {
		return err
	}
	owner, err := b.join(ctx, token, boss)
	if err != nil {
		return err
	}
	for _, a := range b.story.Accounts {
		if a.Org != o.ID {
			continue
		}
		acc, err := s.CreateAccount(ctx, owner, o.ID, domain.AccountInput{Name: a.Name, Buyer: domain.Party{Name: a.Buyer, Address: a.Address, Country: a.Country, TaxID: a.VAT},
			Emails: "invoices@" + string(o.ID) + ".example", TaxKind: a.Tax, TaxRate: a.Rate, TaxReason: a.Reason, TermsDays: a.Terms, Language: "en", Issuer: "local", Advance: a.Advance})
		if err != nil {
			return err
		}
		b.accounts[a.Name] = acc
	}
	for _, p := range o.Projects {
		if err := b.project(ctx, owner, o, p); err != nil {
			return err
		}
	}
	for _, w := range b.story.People {
		if w.Org != o.ID || w.Role == pool.RoleOwner {
			continue
		}
		_, token, err := s.InviteMember(ctx, owner, o.ID, domain.InviteInput{Email: w.Email, Role: w.Role})
		if err != nil {
			return err
		}
		if _, err := b.join(ctx, token, w); err != nil {
			return err
		}
	}
	plans, err := s.Plans(ctx, b.operator)
	if err != nil {
		return err
	}
	for _, p := range plans {
		if p.ID != o.Plan {
			continue
		}
		v, _ := p.Published()
		if _, err := s.Subscribe(ctx, owner, o.ID, domain.SubscribeInput{Version: v.ID, Account: b.firstAccount(o.ID)}); err != nil {
			return err
		}
	}
	return nil
}

// firstAccount pays the fee.
func (b *demoBuilder) firstAccount(org pool.OrgID) pool.AccountID {
	for _, a := range b.story.Accounts {
		if a.Org == org {
			return b.accounts[a.Name].ID
		}
	}
	return ""
}

func (b *demoBuilder) project(ctx context.Context, owner domain.Actor, o replay.Org, p replay.Project) error {
	account := b.firstAccount(o.ID)
	for _, a := range b.story.Accounts {
		if a.Org == o.ID && slices.Contains(a.Projects, string(p.ID)) {
			account = b.accounts[a.Name].ID
		}
	}
	made, err := b.p.service.CreateProject(ctx, owner, o.ID, domain.ProjectInput{Name: p.Name, Sites: p.Sites, Nodes: "any", Account: account})
	if err != nil {
		return fmt.Errorf("project %s: %w", p.ID, err)
	}
	b.projects[string(p.ID)] = made.ID
	return nil
}

func (b *demoBuilder) join(ctx context.Context, token string, w storyPerson) (domain.Actor, error) {
	u, err := b.p.service.AcceptInvitation(ctx, domain.Actor{Via: domain.ViaSystem}, token, domain.AcceptInput{Name: w.Name, Lang: "en"})
	if err != nil {
		return domain.Actor{}, fmt.Errorf("%s: %w", w.Email, err)
	}
	b.users[w.Email] = u
	return b.actor(ctx, w.Email)
}

func (b *demoBuilder) actor(ctx context.Context, email string) (domain.Actor, error) {
	a, _, err := b.p.service.ActorFor(ctx, b.users[email].ID, domain.ViaWeb, "127.0.0.1")
	return a, err
}

// trace draws the crowd, adds the jobs of the story, and reads both back
// through the reader of traces.
func (b *demoBuilder) trace(seed uint64) (replay.Trace, error) {
	var buf bytes.Buffer
	t := b.times
	quiet := t.moment.Add(-8 * time.Hour) // then the story's own jobs have the stage
	if err := replay.WriteCrowd(&buf, b.story.Crowd, t.traceStart, quiet, t.zone, seed); err != nil {
		return replay.Trace{}, err
	}
	w := csv.NewWriter(&buf)
	for _, j := range b.story.Jobs {
		exit := ""
		switch {
		case j.OOM:
			exit = "oom"
		case j.Idle:
			exit = "idle"
		}
		err := w.Write([]string{string(j.Org), j.User, j.Project, j.Name, string(j.Class), string(j.Tier), strconv.Itoa(j.Nodes), strconv.Itoa(j.GPUs),
			strconv.FormatInt(int64(t.moment-t.traceStart)/1000-int64(j.Before)*60, 10), strconv.Itoa(j.Minutes * 60), strconv.Itoa(j.Limit * 60), exit})
		if err != nil {
			return replay.Trace{}, err
		}
	}
	w.Flush()
	tr, err := replay.Read(&buf, b.pool)
	if err == nil && len(tr.Skipped) > 0 {
		err = fmt.Errorf("%d rows of the demo's trace were skipped: %s", tr.Skipped[0].Rows, tr.Skipped[0].Cause)
	}
	return tr, err
}

// history turns a run's names into the store's ids.
func (b *demoBuilder) history(res replay.Result) *domain.History {
	h := &domain.History{Result: res, Setup: time.Duration(b.pool.Setup), Devices: map[pool.NodeID][]string{}, Users: map[pool.UserID]pool.UserID{}, Specs: demoSpec}
	for email, u := range b.users {
		h.Users[pool.UserID(email)] = u.ID
	}
	for _, n := range b.pool.Nodes {
		kind := "GPU"
		if n.GPUs > 8 {
			kind = "MIG"
		}
		h.Devices[b.node[pool.NodeID(n.Name)]] = embedded.DeviceIDs(kind, n.Name, n.GPUs)
	}
	for i := range h.Result.Jobs {
		o := &h.Result.Jobs[i]
		o.Project = b.projects[string(o.Project)]
		for k := range o.Attempts {
			for n := range o.Attempts[k].Placement {
				g := &o.Attempts[k].Placement[n]
				g.Node = b.node[g.Node]
			}
		}
	}
	return h
}

// demoSpec is what a job of the demo pretends to run.
func demoSpec(j replay.Job) domain.JobSpec {
	sim := &domain.Sim{LengthMs: j.Length.Milliseconds(), Exit: j.Exit, OOM: j.OOM, Idle: j.Idle}
	if j.OOM {
		sim.Exit = 0
	}
	return domain.JobSpec{Template: "train", Image: "ghcr.io/norbridge/pytorch:2.9", Command: "python", Args: []string{"train.py", "--name", j.Name}, Sim: sim}
}

// months stores the use of the history and closes its months when their time
// had come, then lets the story moment be now.
func (b *demoBuilder) months(ctx context.Context, h *domain.History) error {
	s := b.p.service
	for _, m := range []pool.Month{b.times.month.Plus(-2), b.times.month.Plus(-1)} {
		if err := s.IssueStarts(ctx); err != nil {
			return err
		}
		at := m.Bounds(b.times.zone).End.Add(24*time.Hour + 5*time.Minute)
		if err := s.ImportUse(ctx, h, at); err != nil {
			return err
		}
		if err := b.at(ctx, at); err != nil {
			return err
		}
		closed, err := s.CloseMonth(ctx, b.operator, m)
		if err != nil {
			return err
		}
		for _, c := range closed {
			if c.Err != nil {
				return fmt.Errorf("closing %s for %s: %w", m, c.Account.Name, c.Err)
			}
		}
	}
	if err := s.ImportUse(ctx, h, b.times.moment); err != nil {
		return err
	}
	if err := s.FinishImport(ctx, h); err != nil {
		return err
	}
	return b.at(ctx, b.times.moment)
}

// takeOver hands the jobs in flight to the cluster.
func (b *demoBuilder) takeOver(ctx context.Context, h *domain.History) error {
	classes, err := b.p.service.Classes(ctx)
	if err != nil {
		return err
	}
	var flights []embedded.InFlight
	for _, f := range h.InFlight(classes) {
		if err := b.p.client.EnsureNamespace(ctx, f.Spec.Org); err != nil {
			return err
		}
		job, ns, err := b.p.client.Render(f.Spec)
		if err != nil {
			return fmt.Errorf("job %s: %w", f.Spec.Attempt.NomadID(), err)
		}
		in := embedded.InFlight{Job: job, Namespace: ns}
		for i := range f.Alloc {
			in.Runs = append(in.Runs, embedded.Run{AllocID: string(f.Alloc[i]), Node: string(f.Node[i]), Devices: f.Device[i], Placed: f.Placed, Started: f.Start})
		}
		flights = append(flights, in)
	}
	return b.p.cluster.Import(flights)
}

// present is what people do at the story moment: payments that came in, caps,
// purchase orders, and the jobs of the cards on the first page.
func (b *demoBuilder) present(ctx context.Context) error {
	if err := b.money(ctx); err != nil {
		return err
	}
	for _, j := range b.story.Live {
		a, err := b.actor(ctx, j.User)
		if err != nil {
			return err
		}
		_, err = b.p.service.SubmitJob(ctx, a, j.Org, domain.JobInput{Project: b.projects[j.Project], Name: j.Name, Classes: []pool.ClassID{j.Class},
			Nodes: j.Nodes, GPUsPerNode: j.GPUs, Tier: j.Tier, MaxRun: time.Duration(j.Limit) * time.Minute,
			Spec: demoSpec(replay.Job{Name: j.Name, Length: time.Duration(j.Minutes) * time.Minute})})
		if err != nil {
			return fmt.Errorf("job %s: %w", j.Name, err)
		}
	}
	if err := b.p.service.SetClockSpeed(ctx, b.operator, 60); err != nil {
		return err
	}
	return b.p.store.Update(ctx, func(tx domain.Tx) error { return tx.SetFlag(demoMarker, "made") })
}

func (b *demoBuilder) money(ctx context.Context) error {
	s := b.p.service
	for _, c := range b.story.Caps {
		a, err := b.owner(ctx, c.Org)
		if err != nil {
			return err
		}
		if _, err := s.SetCap(ctx, a, c.Org, domain.CapInput{Amount: c.Amount, Mode: c.Mode}); err != nil {
			return fmt.Errorf("cap of %s: %w", c.Org, err)
		}
	}
	for _, o := range b.story.Orders {
		a, err := b.owner(ctx, o.Org)
		if err != nil {
			return err
		}
		if _, err := s.AddOrder(ctx, a, o.Org, b.accounts[o.Account].ID, domain.OrderInput{Number: o.Number, Amount: o.Amount, AtZero: o.AtZero}); err != nil {
			return fmt.Errorf("purchase order %s: %w", o.Number, err)
		}
	}
	rows, err := s.Invoices(ctx, b.operator, "")
	if err != nil {
		return err
	}
	st, err := s.Settings(ctx)
	if err != nil {
		return err
	}
	for _, p := range b.story.Payments {
		for _, r := range rows {
			if r.Invoice.Org != p.Org || r.Invoice.Month != b.times.month.Plus(p.Month) || r.Invoice.Total <= 0 {
				continue
			}
			amount := r.Invoice.Total
			if p.Short != "" {
				less, err := st.Currency.Parse(p.Short)
				if err != nil {
					return err
				}
				amount -= less
			}
			err := s.RecordPayment(ctx, b.operator, r.Invoice.Number, domain.PaymentInput{Amount: st.Currency.Format(amount), Reference: p.Reference + "-" + r.Invoice.Number, Note: "Bank transfer"})
			if err != nil {
				return fmt.Errorf("payment %s: %w", p.Reference, err)
			}
		}
	}
	return nil
}

func (b *demoBuilder) owner(ctx context.Context, org pool.OrgID) (domain.Actor, error) {
	for _, w := range b.story.People {
		if w.Org == org && w.Role == pool.RoleOwner {
			return b.actor(ctx, w.Email)
		}
	}
	return domain.Actor{}, fmt.Errorf("%s has no owner", org)
}
