package web

import (
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
	page := views.Page{Title: v.T("Queue"), Heading: v.T("Queue"), Live: v.live()}
	d := s.service.LastDecision()
	if d == nil {
		return v.page(page, views.Arrange(v.pauseAdmission(), ui.Empty{Title: v.T("No decision yet"), Text: v.T("The engine decides when a job is submitted, ends, or a node changes.")}.Show()))
	}
	names, err := v.jobNames()
	if err != nil {
		return err
	}
	e := explained{v, d, names, map[pool.JobID]quota.Job{}}
	for _, j := range d.Snapshot.Pending {
		e.jobs[j.ID] = j
	}
	page.Lead = v.T("Decision of %s on version %d of the pool: %d jobs waited, %d start, %d still wait.", v.at(d.At), d.Plan.Version,
		len(d.Snapshot.Pending), len(d.Plan.Admit), len(d.Plan.Wait))
	for _, p := range d.Plan.Problems {
		page.Notices = append(page.Notices, ui.Notice{Tone: ui.Bad, Title: v.T("The pool contradicts itself."), Text: p})
	}
	return v.page(page, views.Arrange(v.pauseAdmission(), e.waiting().Show(), e.freeing().Show(), e.starting().Show()))
}

// jobNames of all jobs that have not ended.
func (v *visit) jobNames() (map[pool.JobID]domain.Job, error) {
	names := map[pool.JobID]domain.Job{}
	err := v.server.store.View(v.ctx, func(tx domain.Tx) error {
		jobs, err := tx.LiveJobs()
		for _, j := range jobs {
			names[j.ID] = j
		}
		return err
	})
	return names, err
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

// explained is a decision with the names of its jobs.
type explained struct {
	v     *visit
	d     *domain.Decision
	names map[pool.JobID]domain.Job
	jobs  map[pool.JobID]quota.Job
}

// job is the cell that names a job and leads to it.
func (e explained) job(id pool.JobID) ui.Cell {
	j, ok := e.names[id]
	if !ok {
		return sub(head(string(id), ""), e.v.T("ended since"))
	}
	href := ""
	if e.v.server.has("/o/:org/jobs/:job") {
		href = "/o/" + string(j.Org) + "/jobs/" + string(id)
	}
	return sub(head(j.Name, href), string(id))
}

func (e explained) asks(id pool.JobID) string {
	j := e.jobs[id]
	var classes []string
	for _, c := range j.Classes {
		classes = append(classes, string(c))
	}
	if j.Nodes > 1 {
		return e.v.T("%d × %d GPUs, %s", j.Nodes, j.GPUs, strings.Join(classes, " / "))
	}
	return e.v.T("%d GPUs, %s", j.GPUs, strings.Join(classes, " / "))
}

// waiting lists the queue in its order with every reason.
func (e explained) waiting() ui.Table {
	t := ui.Table{ID: "queue", Caption: e.v.T("Waiting, in the order of the queue"), Topics: "pool", Columns: e.v.columns("Job", "Member", "Tier", "Asks for", "Why it waits"), Empty: ui.Empty{Title: e.v.T("Nothing waits")}}
	const shown = 200
	for i, w := range e.d.Plan.Wait {
		if i == shown {
			t.Note = e.v.T("The first %d of %d.", shown, len(e.d.Plan.Wait))
			break
		}
		j := e.jobs[w.Job]
		var reasons []string
		for _, r := range w.Reasons {
			reasons = append(reasons, e.v.reason(r))
		}
		t.Rows = append(t.Rows, row(e.job(w.Job), text(string(j.Org)), badge(e.v.tier(j.Tier)), text(e.asks(w.Job)), text(strings.Join(reasons, " "))))
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

// freeing lists the GPUs that are being freed: for whom, from whom and by which rule. Open promises of earlier
// decisions stand beside the new ones.
func (e explained) freeing() ui.Table {
	t := ui.Table{ID: "freeing", Caption: e.v.T("GPUs being freed"), Columns: e.v.columns("For", "From", "Rule", "Stops at"), Empty: ui.Empty{Title: e.v.T("Nobody is asked to stop")}}
	for _, p := range append(append([]quota.Promise{}, e.d.Snapshot.Promises...), e.d.Plan.Reclaim...) {
		var victims []string
		for _, a := range p.Victims {
			name := string(a.Job)
			if j, ok := e.names[a.Job]; ok {
				name = j.Name + " (" + string(j.Org) + ")"
			}
			victims = append(victims, name)
		}
		t.Rows = append(t.Rows, row(e.job(p.Job), text(strings.Join(victims, ", ")), text(e.v.T(rules[p.Rule])), when(e.v.clock(p.StopAt))))
	}
	return t
}

// starting lists what the decision admitted.
func (e explained) starting() ui.Table {
	t := ui.Table{ID: "starting", Caption: e.v.T("Started by this decision"), Columns: e.v.columns("Job", "Nodes", "Charged as"), Empty: ui.Empty{Title: e.v.T("Nothing started")}}
	for _, a := range e.d.Plan.Admit {
		var at []string
		for _, p := range a.Placement {
			at = append(at, e.v.T("%d on %s", p.GPUs, string(p.Node)))
		}
		t.Rows = append(t.Rows, row(e.job(a.Job), text(strings.Join(at, ", ")), text(e.v.T("%d own, %d borrowed, %d spot", a.Split.Own, a.Split.Loan, a.Split.Spot))))
	}
	return t
}
