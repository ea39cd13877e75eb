package replay

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"gpupool/domain/money"
	"gpupool/domain/pool"
)

// The JSON of a report: GPU time is in whole GPU-milliseconds, durations in
// seconds, shares in ten-thousandths, money in decimal text of the currency.
type (
	jsonRun struct {
		Trace    jsonTrace    `json:"trace"`
		Currency string       `json:"currency"`
		Settings []jsonReport `json:"settings"`
	}
	jsonTrace struct {
		Format    string    `json:"format"`
		Rows      int       `json:"rows"`
		Jobs      int       `json:"jobs"`
		Skipped   []Skipped `json:"skipped"`
		Changed   []Skipped `json:"changed"`
		Synthetic []string  `json:"synthetic"`
	}
	jsonReport struct {
		Name        string       `json:"name"`
		From        string       `json:"from"`
		Until       string       `json:"until"`
		Jobs        int          `json:"jobs"`
		Done        int          `json:"done"`
		Decisions   int          `json:"decisions"`
		Preemptions int          `json:"preemptions"`
		Allocated   int64        `json:"allocated_share"`
		Arriving    int64        `json:"allocated_share_while_jobs_arrive"`
		Jain        int64        `json:"jain"`
		Classes     []jsonClass  `json:"classes"`
		Waits       []jsonSpread `json:"waits"`
		Members     []jsonMember `json:"members"`
		Net         string       `json:"invoices_net,omitempty"`
		Law         *Law         `json:"law,omitempty"`
	}
	jsonClass struct {
		Class       pool.ClassID   `json:"class"`
		GPUs        int            `json:"gpus"`
		Offered     pool.GPUMillis `json:"offered_gpu_ms"`
		Held        pool.GPUMillis `json:"allocated_gpu_ms"`
		Useful      pool.GPUMillis `json:"useful_gpu_ms"`
		Coming      jsonWindow     `json:"while_jobs_arrive"`
		Fragmented  pool.GPUMillis `json:"fragmented_gpu_ms"`
		Withheld    pool.GPUMillis `json:"withheld_gpu_ms"`
		Preemptions int            `json:"preemptions"`
		Lost        pool.GPUMillis `json:"lost_gpu_ms"`
		Jain        int64          `json:"jain"`
	}
	jsonWindow struct {
		Offered pool.GPUMillis `json:"offered_gpu_ms"`
		Held    pool.GPUMillis `json:"allocated_gpu_ms"`
		Useful  pool.GPUMillis `json:"useful_gpu_ms"`
	}
	jsonSpread struct {
		Tier   pool.Tier `json:"tier,omitempty"`
		Jobs   int       `json:"started"`
		Still  int       `json:"never_started"`
		Median int64     `json:"median_s"`
		P95    int64     `json:"p95_s"`
		Max    int64     `json:"max_s"`
	}
	jsonMember struct {
		Org         pool.OrgID  `json:"organisation"`
		Jobs        int         `json:"jobs"`
		Done        int         `json:"done"`
		Wait        jsonSpread  `json:"wait"`
		Preemptions int         `json:"preemptions"`
		Share       *int64      `json:"of_fair_share,omitempty"`
		Lost        []jsonLost  `json:"lost,omitempty"`
		Hours       []jsonHours `json:"metered,omitempty"`
		Months      int         `json:"months,omitempty"`
		Fee         string      `json:"fee,omitempty"`
		Use         string      `json:"use,omitempty"`
		Net         string      `json:"net,omitempty"`
	}
	jsonLost struct {
		Class pool.ClassID   `json:"class"`
		Use   pool.GPUMillis `json:"gpu_ms"`
	}
	jsonHours struct {
		Class pool.ClassID   `json:"class"`
		Own   pool.GPUMillis `json:"own_gpu_ms"`
		Loan  pool.GPUMillis `json:"loan_gpu_ms"`
		Spot  pool.GPUMillis `json:"spot_gpu_ms"`
	}
)

// WriteJSON writes reports of one trace as one object.
func WriteJSON(w io.Writer, t Trace, rs []Report, cur money.Currency) error {
	out := jsonRun{Currency: cur.Code, Trace: jsonTrace{t.Format, t.Rows, len(t.Jobs), append([]Skipped{}, t.Skipped...), append([]Skipped{}, t.Changed...), append([]string{}, t.Synthetic...)}}
	for _, r := range rs {
		out.Settings = append(out.Settings, r.json(cur))
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(out)
}

func (r Report) json(cur money.Currency) jsonReport {
	w := r.Coming()
	out := jsonReport{Name: r.Name, From: r.Span.Start.Time().Format(time.RFC3339), Until: r.Span.End.Time().Format(time.RFC3339), Jobs: r.Jobs, Done: r.Done, Decisions: r.Decisions,
		Preemptions: r.Preemptions, Allocated: r.Share(), Arriving: percent100(w.Held, w.Offered), Jain: r.Jain, Law: r.Law}
	for _, c := range r.Classes {
		out.Classes = append(out.Classes, jsonClass{c.Class, c.GPUs, c.Offered, c.Held, c.Useful, jsonWindow(c.Coming), c.Fragmented, c.Withheld, c.Preemptions, c.Lost, c.Jain})
	}
	for _, x := range r.Waits {
		s := x.json()
		s.Tier = x.Tier
		out.Waits = append(out.Waits, s)
	}
	for _, m := range r.Members {
		x := jsonMember{Org: m.Org, Jobs: m.Jobs, Done: m.Done, Wait: m.Waits.json(), Preemptions: m.Preemptions}
		if m.Share >= 0 {
			x.Share = &m.Share
		}
		for _, l := range m.Lost {
			x.Lost = append(x.Lost, jsonLost(l))
		}
		for _, i := range r.Invoices {
			if i.Org == m.Org {
				x.Months, x.Fee, x.Use, x.Net = i.Months, cur.Format(i.Fee), cur.Format(i.Use), cur.Format(i.Net)
				for _, h := range i.Hours {
					x.Hours = append(x.Hours, jsonHours(h))
				}
			}
		}
		out.Members = append(out.Members, x)
	}
	if len(r.Invoices) > 0 {
		out.Net = cur.Format(r.net())
	}
	return out
}

func (w Spread) json() jsonSpread {
	s := func(d time.Duration) int64 { return int64(d / time.Second) }
	return jsonSpread{Jobs: w.Jobs, Still: w.Still, Median: s(w.Median), P95: s(w.P95), Max: s(w.Max)}
}

// WriteMembersCSV writes one line for each setting, member and class that the
// member used or lost work in; money stands in its first line.
func WriteMembersCSV(w io.Writer, rs []Report, cur money.Currency) error {
	c := csv.NewWriter(w)
	c.Write([]string{"setting", "organisation", "jobs", "done", "wait_median_s", "wait_p95_s", "wait_max_s", "never_started", "preemptions", "of_fair_share",
		"class", "own_gpu_hours", "loan_gpu_hours", "spot_gpu_hours", "lost_gpu_hours", "currency", "fee", "use", "net"})
	for _, r := range rs {
		for _, m := range r.json(cur).Members {
			line := []string{r.Name, string(m.Org), strconv.Itoa(m.Jobs), strconv.Itoa(m.Done), number(m.Wait.Median), number(m.Wait.P95), number(m.Wait.Max),
				strconv.Itoa(m.Wait.Still), strconv.Itoa(m.Preemptions), ""}
			if m.Share != nil {
				line[9] = decimals(*m.Share)
			}
			sums := []string{cur.Code, m.Fee, m.Use, m.Net}
			wrote := false
			for _, class := range r.Classes {
				var h jsonHours
				var lost pool.GPUMillis
				for _, x := range m.Hours {
					if x.Class == class.Class {
						h = x
					}
				}
				for _, x := range m.Lost {
					if x.Class == class.Class {
						lost = x.Use
					}
				}
				if h.Class != "" || lost > 0 {
					c.Write(append(append(append([]string{}, line...), string(class.Class), h.Own.Hours(), h.Loan.Hours(), h.Spot.Hours(), lost.Hours()), sums...))
					wrote, sums = true, []string{"", "", "", ""}
				}
			}
			if !wrote {
				c.Write(append(append(append([]string{}, line...), "", "", "", "", ""), sums...))
			}
		}
	}
	c.Flush()
	return c.Error()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// WriteJobsCSV writes one line for each setting and job.
func WriteJobsCSV(w io.Writer, rs []Report, results []Result) error {
	c := csv.NewWriter(w)
	c.Write([]string{"setting", "job", "name", "organisation", "project", "user", "tier", "class", "nodes", "gpus_per_node", "submitted", "started", "ended", "wait_s", "attempts", "preemptions", "time_limit"})
	for i := range results {
		for k := range results[i].Jobs {
			c.Write(results[i].Jobs[k].csv(rs[i].Name))
		}
	}
	c.Flush()
	return c.Error()
}

// csv is one job in a line.
func (j *Outcome) csv(setting string) []string {
	line := []string{setting, string(j.ID), j.Name, string(j.Org), string(j.Project), string(j.User), string(j.Tier), string(j.Class), strconv.Itoa(j.Nodes), strconv.Itoa(j.GPUs),
		j.Submit.Time().Format(time.RFC3339), "", "", "", strconv.Itoa(len(j.Attempts)), "0", "false"}
	stops := 0
	for _, a := range j.Attempts {
		if a.Stopped {
			stops++
		}
	}
	if n := len(j.Attempts); n > 0 {
		last := j.Attempts[n-1]
		line[7] = string(last.Class)
		line[11] = j.Attempts[0].Admitted.Time().Format(time.RFC3339)
		line[13] = number(int64(j.Attempts[0].Admitted.Sub(j.Submit) / time.Second))
		if last.Finished {
			line[12] = last.End.Time().Format(time.RFC3339)
		}
		line[16] = strconv.FormatBool(last.TimeLimit)
	}
	line[15] = strconv.Itoa(stops)
	for i, cell := range line {
		if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@") {
			line[i] = "'" + cell // a spreadsheet would compute it
		}
	}
	return line
}
