package web

import (
	"slices"
	"strings"
	"time"

	"gpupool/domain"
	"gpupool/views/ui"
)

// weekdayNames in the order of domain.Weekdays.
var weekdayNames = []string{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"}

// hoursOf says when a time policy holds: "Mon to Fri, 08:00 to 18:00, from 1 Mar 2026 to 31 Mar 2026".
func (f format) hoursOf(p domain.TimePolicy) string {
	parts := []string{f.weekdays(p.Days)}
	switch {
	case p.From == 0 && p.To == 1440:
		parts = append(parts, f.T("the whole day"))
	case p.To <= p.From:
		parts = append(parts, f.T("%s to %s the next day", minute(p.From), minute(p.To)))
	default:
		parts = append(parts, f.T("%s to %s", minute(p.From), minute(p.To)))
	}
	day := func(s string) string {
		t, err := time.Parse("2006-01-02", s)
		if err != nil {
			return s
		}
		return f.date(t)
	}
	switch {
	case p.First != "" && p.Last != "":
		parts = append(parts, f.T("from %s to %s", day(p.First), day(p.Last)))
	case p.First != "":
		parts = append(parts, f.T("from %s on", day(p.First)))
	case p.Last != "":
		parts = append(parts, f.T("to %s", day(p.Last)))
	}
	return strings.Join(parts, ", ")
}

// weekdays names runs of days: "Mon to Fri", "Sat, Sun", "every day".
func (f format) weekdays(mask int) string {
	if mask == 1<<7-1 {
		return f.T("every day")
	}
	var out []string
	for i := 0; i < 7; i++ {
		j := i
		for j < 7 && mask>>j&1 == 1 {
			j++
		}
		switch j - i {
		case 0:
			continue
		case 1, 2:
			for k := i; k < j; k++ {
				out = append(out, f.T(weekdayNames[k]))
			}
		default:
			out = append(out, f.T("%s to %s", f.T(weekdayNames[i]), f.T(weekdayNames[j-1])))
		}
		i = j
	}
	return strings.Join(out, ", ")
}

// effects says what a time policy makes of a quota, or what it closes.
func (f format) effects(p domain.TimePolicy) string {
	if p.Closed {
		if p.Tier == "" {
			return f.T("no work runs")
		}
		return f.T("no %s work runs", f.word(string(p.Tier)))
	}
	var out []string
	add := func(sentence string, n *int) {
		if n != nil {
			out = append(out, f.T(sentence, *n))
		}
	}
	add("%d guaranteed", p.Guaranteed)
	switch {
	case p.More > 0:
		out = append(out, f.T("%d more guaranteed", p.More))
	case p.More < 0:
		out = append(out, f.T("%d fewer guaranteed", -p.More))
	}
	add("borrows at most %d", p.Borrow)
	if p.Lend != nil && *p.Lend == 0 {
		out = append(out, f.T("lends nothing"))
	} else {
		add("lends at most %d", p.Lend)
	}
	return strings.Join(out, ", ")
}

// holding says whether a time policy holds now, and what comes next.
func (v *visit) holding(p domain.TimePolicyView) ui.Cell {
	zone := v.settings.Location()
	until := func(sentence string, t ui.Time) string { return v.T(sentence, t.Text) }
	switch {
	case p.Over && p.EndedAt <= v.now:
		return sub(badge(v.state("ended")), v.business(p.EndedAt, zone).Text)
	case p.Over:
		return badge(v.state("ended"))
	case p.Now != 0:
		second := until("until %s", v.business(p.Now, zone))
		if p.Last == "" && p.Next.Empty() {
			second = v.T("until it is ended")
		}
		return sub(badge(ui.ToneBadge(ui.Good, v.T("Holds now"))), second)
	case p.Next.Empty():
		return badge(ui.ToneBadge(ui.Neutral, v.T("Later")))
	}
	return sub(badge(ui.ToneBadge(ui.Info, v.T("Next"))), until("from %s", v.business(p.Next.Start, zone)))
}

// dayOptions are the weekdays as boxes.
func (v *visit) dayOptions(chosen []string) []ui.Option {
	var out []ui.Option
	for i, d := range domain.Weekdays {
		out = append(out, ui.Option{Value: d, Label: v.T(weekdayNames[i]), Checked: slices.Contains(chosen, d)})
	}
	return out
}
