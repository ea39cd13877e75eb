package web

import (
	"net/http"
	"time"

	"gpupool/domain"
)

type apiUsageLine struct {
	Kind    string   `json:"kind"`
	Class   string   `json:"class"`
	Cover   string   `json:"cover"`
	Project apiName  `json:"project"`
	User    apiName  `json:"user"`
	Use     int64    `json:"gpu_milliseconds"`
	Amount  apiMoney `json:"amount"`
}

type apiUsageDay struct {
	Date  string `json:"date"` // of the billing zone
	Class string `json:"class"`
	Cover string `json:"cover"`
	Use   int64  `json:"gpu_milliseconds"`
}

// apiUsageJSON is a month: the lines add up to the total. Days are of the ledger, which has a running job's use of
// today from midnight on.
type apiUsageJSON struct {
	Month       string         `json:"month"`
	Zone        string         `json:"zone"`
	Provisional bool           `json:"provisional"`
	Lines       []apiUsageLine `json:"lines"`
	Total       apiMoney       `json:"total"`
	Days        []apiUsageDay  `json:"days"`
}

// apiUsage reports a month by project, person, class and kind.
func (s *Server) apiUsage(q *call) error {
	m, err := q.month()
	if err != nil {
		return err
	}
	r, err := s.service.Usage(q.ctx, q.actor, q.org, m)
	if err != nil {
		return err
	}
	return q.answer(http.StatusOK, q.usage(r))
}

func (q *call) usage(r domain.UsageReport) apiUsageJSON {
	out := apiUsageJSON{Month: r.Month.String(), Zone: r.Settings.Zone, Provisional: r.Provisional, Lines: []apiUsageLine{}, Total: q.amount(r.Total), Days: []apiUsageDay{}}
	for _, l := range r.Lines {
		out.Lines = append(out.Lines, apiUsageLine{string(l.Kind), string(l.Class), string(l.Cover), apiName{string(l.Project), r.Projects[l.Project]},
			apiName{string(l.User), r.Users[l.User]}, int64(l.Use), q.amount(l.Amount)})
	}
	for _, d := range r.Days {
		out.Days = append(out.Days, apiUsageDay{d.Day.In(r.Settings.Location()).Format(time.DateOnly), string(d.Class), string(d.Cover), int64(d.Use)})
	}
	return out
}
