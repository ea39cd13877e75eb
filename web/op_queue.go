package web

import (
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"gpupool/domain"
	"gpupool/domain/pool"
	"gpupool/domain/quota"
	"gpupool/views"
	"gpupool/views/ui"
)

// opQueue explains the engine's last decision in words.
func (s *Server) opQueue(v *visit) error {
	page := views.Page{Title: v.T("Queue"), Heading: v.T("Queue"), Live: v.live(), Wide: true, Actions: v.pauseAdmission()}
	f := domain.QueueFilter{Class: pool.ClassID(v.query("class")), Org: pool.OrgID(v.query("member")), Page: pageOf(v.query("page"))}
	q, err := s.service.Queue(v.ctx, v.actor, f)
	if err != nil {
		return err
	}
	e := explained{v, q.Names, q.Asked}
	ask := v.askPanel(q.Names, domain.WhatIfInput{}, refusal{})
	if q.Decision == nil {
		return v.page(page, views.Arrange(ui.Empty{Title: v.T("No decision yet"), Text: v.T("The engine decides when a job is submitted, ends, or a node changes.")}.Show(), ask))
	}
	plan := q.Decision.Plan
	page.Lead = v.T("Decision of %s on version %d of the pool: %d jobs waited, %d start, %d still wait.", v.at(q.Decision.At), plan.Version,
		len(q.Decision.Snapshot.Pending), len(plan.Admit), len(plan.Wait))
	for _, p := range plan.Problems {
		page.Notices = append(page.Notices, ui.Notice{Tone: ui.Bad, Title: v.T("The pool contradicts itself."), Text: p})
	}
	return v.page(page, views.Arrange(v.queueFilters(q, f), e.classes(q).Show(), e.waiting(q, f).Show(),
		views.Columns(e.freeing(q).Show(), e.reserved(q).Show()), e.unpaid(q), e.starting(q).Show(), e.order(q), ask))
}

// pageOf is the page of a list, counted from 1 in the address and from 0 here.
func pageOf(typed string) int {
	n, err := strconv.Atoi(typed)
	if err != nil || n < 1 || n > 1_000_000 {
		return 0
	}
	return n - 1
}

func (v *visit) pauseAdmission() templ.Component {
	if v.settings.Paused {
		return views.Row(ui.ToneBadge(ui.Warn, v.T("Admission is paused")).Show(),
			ui.PostButton{Action: "/op/pause", Nonce: newNonce(), Fields: []ui.Value{hidden("paused", "no")}, Button: ui.Button{Label: v.T("Resume admission"), Kind: "primary", Icon: "play"}}.Show())
	}
	return ui.Confirm{ID: "pause", Label: v.T("Pause admission"), Title: v.T("Pause the start of new jobs in the whole pool?"), Plain: true, Do: v.T("Pause admission"), Action: "/op/pause", Nonce: newNonce(),
		Fields: []ui.Value{hidden("paused", "yes")}, Loses: []string{v.T("No job starts until you resume."), v.T("What runs goes on and is charged.")}}.Show()
}

func (s *Server) opPause(v *visit) error {
	paused := v.text("paused") == "yes"
	if err := s.service.PauseAdmission(v.ctx, v.actor, paused); err != nil {
		return err
	}
	if paused {
		return v.done("/op/queue", "Admission is paused.")
	}
	return v.done("/op/queue", "Admission goes on.")
}

func (v *visit) queueFilters(q domain.Queue, f domain.QueueFilter) templ.Component {
	class := ui.Field{Name: "class", ID: "f-class", Label: v.T("GPU type"), Value: string(f.Class), Options: append([]ui.Option{{Label: v.T("All GPU types")}}, options(q.Names.Classes)...)}
	member := ui.Field{Name: "member", ID: "f-member", Label: v.T("Member"), Value: string(f.Org), Options: append([]ui.Option{{Label: v.T("All members")}}, options(q.Names.Orgs)...)}
	return views.Form{ID: "filters", Action: "/op/queue", Filter: true, Submit: v.T("Filter"), Fields: []views.Input{{Kind: "select", Field: class}, {Kind: "select", Field: member}}}.Show()
}

// explained is what a page needs to say ids in words.
type explained struct {
	v     *visit
	names domain.PoolNames
	jobs  map[pool.JobID]quota.Job // those that wait
}

func (e explained) org(id pool.OrgID) string     { return named(e.names.Orgs, id) }
func (e explained) class(id pool.ClassID) string { return named(e.names.Classes, id) }

func (e explained) job(id pool.JobID) string {
	if j := e.names.Jobs[id]; j.Name != "" {
		return j.Name
	}
	return string(id)
}

// cell names a job and leads to it. Ids are kept under names that may be alike.
func (e explained) cell(id pool.JobID, org pool.OrgID) ui.Cell {
	if _, ok := e.names.Jobs[id]; !ok {
		return sub(head(string(id), ""), e.v.T("ended since"))
	}
	if org == "" {
		org = e.jobs[id].Org
	}
	return sub(head(e.job(id), "/o/"+string(org)+"/jobs/"+string(id)), string(id))
}

func (e explained) asks(id pool.JobID) string {
	j := e.jobs[id]
	if j.Nodes > 1 {
		return e.v.T("%d × %d GPUs, %s", j.Nodes, j.GPUs, e.v.typeNames(j.Classes))
	}
	return e.v.T("%d GPUs, %s", j.GPUs, e.v.typeNames(j.Classes))
}

// why says all reasons of a job with what lifts each.
func (e explained) why(all []pool.Reason) []views.Wait {
	out := make([]views.Wait, len(all))
	for i, r := range all {
		out[i] = views.Wait{Reason: e.reason(r), Lifts: e.v.outlook(r.Code)}
	}
	return out
}

// reason names the job that a reason means.
func (e explained) reason(r pool.Reason) string {
	if r.Code == pool.Reserved || r.Code == pool.Dependency {
		r.Ref = e.job(pool.JobID(r.Ref))
	}
	return e.v.reason(r)
}

// placed says where GPUs are.
func (e explained) placed(all []quota.NodeGPUs) string {
	parts := make([]string, 0, min(len(all), 9))
	for i, p := range all {
		if i == 8 {
			parts = append(parts, e.v.T("%d more nodes", len(all)-i))
			break
		}
		parts = append(parts, e.v.T("%d on %s", p.GPUs, named(e.names.Nodes, p.Node)))
	}
	return strings.Join(parts, ", ")
}

// fewTold starts say nothing of how true they are.
const fewTold = 10

// kept tells how the last starts that were told came true.
func (v *visit) kept(k domain.StartsKept) string {
	if k.Told < fewTold {
		return ""
	}
	return " " + v.T("Of the last %d likely starts that were told at a submit, %d came inside their interval (it should be eight of ten), %d sooner and %d later; the interval was %s long at a wait of %s, in the middle. Of %d latest starts %d were missed.",
		k.Told, k.Inside, k.Sooner, k.Later, v.span(k.Width), v.span(k.Wait), k.Bounds, k.Missed)
}

// waiting lists a page of the queue in its order, with every reason.
func (e explained) waiting(q domain.Queue, f domain.QueueFilter) ui.Table {
	t := ui.Table{ID: "queue", Caption: e.v.T("Waiting, in the order of the queue"), Topics: "pool", Columns: e.v.columns("#Place", "Job", "Member", "Asks for", "Why it waits, and what lifts it", "Expected start"), Empty: ui.Empty{Title: e.v.T("Nothing waits")},
		Note: e.v.T("Places are counted in each member's queue for a GPU type. The expected start is what the job's own page says.") + e.v.kept(q.Kept)}
	for _, w := range q.Waiting {
		j := e.jobs[w.Job]
		start := text(e.v.T("not known"))
		if x := q.Starts[w.Job]; e.v.soon(x) != "" {
			start = text(e.v.expected(x))
		}
		t.Rows = append(t.Rows, row(num(e.v.count(int64(w.Position))), e.cell(w.Job, j.Org), text(e.org(j.Org)), ui.Cell{Text: e.asks(w.Job), Badges: []ui.Badge{e.v.tier(j.Tier)}},
			ui.Cell{Body: views.SaidWhy(e.why(w.Reasons))}, start))
	}
	from := f.Page * domain.QueuePage
	if q.Total > domain.QueuePage {
		here := e.v.echo.QueryParams()
		t.Pager.Summary = e.v.T("%d to %d of %d jobs", from+1, from+len(q.Waiting), q.Total)
		if f.Page > 0 {
			t.Pager.Prev = withQuery("/op/queue", here, "page", number(f.Page))
		}
		if from+len(q.Waiting) < q.Total {
			t.Pager.Next = withQuery("/op/queue", here, "page", number(f.Page+2))
		}
	}
	return t
}

// rules say why work is stopped for another job.
var rules = map[quota.Rule]string{
	quota.ByQuota:    "the owner takes its guaranteed GPUs back",
	quota.ByPriority: "a job of higher priority of the same organisation",
	quota.ByFairness: "a borrower that has less takes from one that has more",
	quota.OverSpot:   "paid work takes the place of spot work",
}

// freeing lists the promises under way: for whom, who is stopped by which rule, and when the notice ends. Those of
// earlier decisions stand beside the new ones.
func (e explained) freeing(q domain.Queue) ui.Table {
	t := ui.Table{ID: "freeing", Caption: e.v.T("GPUs being freed"), Topics: "pool", Columns: e.v.columns("For", "Stopped for it", "Rule", "Notice ends", "Where"), Empty: ui.Empty{Title: e.v.T("Nobody is asked to stop")}}
	runs := map[pool.JobID]pool.OrgID{}
	for _, a := range q.Decision.Snapshot.Running {
		runs[a.ID.Job] = a.Org
	}
	for i, p := range q.Promises {
		if i == domain.QueueRows {
			t.Note = e.v.T("The first %d of %d.", i, len(q.Promises))
			break
		}
		victims := make([]string, 0, len(p.Victims))
		for k, a := range p.Victims {
			if k == domain.QueueRows {
				victims = append(victims, e.v.T("%d more jobs", len(p.Victims)-k))
				break
			}
			victims = append(victims, e.v.T("%s of %s", e.job(a.Job), e.org(runs[a.Job])))
		}
		if len(victims) == 0 {
			victims = []string{e.v.T("nobody: it takes what others free")}
		}
		t.Rows = append(t.Rows, row(e.cell(p.Job, e.jobs[p.Job].Org), ui.Cell{Body: views.Said(victims)}, text(e.v.T(rules[p.Rule])), when(e.v.clock(p.StopAt)), text(e.placed(p.Placement))))
	}
	return t
}

// unpaid lists what the decision stops because the money for it ran out; nothing where there is none.
func (e explained) unpaid(q domain.Queue) templ.Component {
	if len(q.Stopped) == 0 {
		return nil
	}
	orgs := map[pool.JobID]pool.OrgID{}
	for _, a := range q.Decision.Snapshot.Running {
		orgs[a.ID.Job] = a.Org
	}
	t := ui.Table{ID: "unpaid", Caption: e.v.T("Stopped because the money ran out"), Topics: "pool", Columns: e.v.columns("Job", "Member", "Why", "Notice ends")}
	for i, x := range q.Stopped {
		if i == domain.QueueRows {
			t.Note = e.v.T("The first %d of %d.", i, len(q.Stopped))
			break
		}
		org := orgs[x.Attempt.Job]
		t.Rows = append(t.Rows, row(e.cell(x.Attempt.Job, org), text(e.org(org)), text(e.reason(x.Reason)), when(e.v.clock(x.At))))
	}
	return t.Show()
}

// reserved lists what backfill leaves alone: for whom, from when, and where.
func (e explained) reserved(q domain.Queue) ui.Table {
	t := ui.Table{ID: "reserved", Caption: e.v.T("Reserved for blocked jobs"), Topics: "pool", Columns: e.v.columns("For", "Member", "GPU type", "Starts by", "Nodes"), Empty: ui.Empty{Title: e.v.T("Nothing is reserved")}}
	for _, r := range q.Reserved {
		t.Rows = append(t.Rows, row(e.cell(r.Job, e.jobs[r.Job].Org), text(e.org(e.jobs[r.Job].Org)), text(e.class(r.Class)), when(e.v.clock(r.At)), text(e.placed(r.Placement))))
	}
	return t
}

// starting lists what the decision admitted.
func (e explained) starting(q domain.Queue) ui.Table {
	t := ui.Table{ID: "starting", Caption: e.v.T("Started by this decision"), Topics: "pool", Columns: e.v.columns("Job", "Member", "Nodes", "Charged as"), Empty: ui.Empty{Title: e.v.T("Nothing started")}}
	for i, a := range q.Started {
		if i == domain.QueueRows {
			t.Note = e.v.T("The first %d of %d.", i, len(q.Started))
			break
		}
		t.Rows = append(t.Rows, row(e.cell(a.Job, e.jobs[a.Job].Org), text(e.org(e.jobs[a.Job].Org)), text(e.placed(a.Placement)), text(e.v.split(a.Split))))
	}
	return t
}
