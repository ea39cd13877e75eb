package web

import (
	"net/url"
	"strings"

	"gpupool/views/ui"
)

// columns are headings; one that begins with "#" is of figures.
func (v *visit) columns(labels ...string) []ui.Column {
	out := make([]ui.Column, len(labels))
	for i, l := range labels {
		name, num := strings.CutPrefix(l, "#")
		out[i] = ui.Column{Num: num}
		if name != "" {
			out[i].Label = v.T(name)
		}
	}
	return out
}

func row(cells ...ui.Cell) ui.Row          { return ui.Row{Cells: cells} }
func text(s string) ui.Cell                { return ui.Cell{Text: s} }
func mono(s string) ui.Cell                { return ui.Cell{Text: s, Mono: true} }
func num(s string) ui.Cell                 { return ui.Cell{Text: s, Num: true} }
func head(s, href string) ui.Cell          { return ui.Cell{Text: s, Href: href, Head: true} }
func when(t ui.Time) ui.Cell               { return ui.Cell{Time: t} }
func badge(b ...ui.Badge) ui.Cell          { return ui.Cell{Badges: b} }
func sub(c ui.Cell, second string) ui.Cell { c.Sub = second; return c }
func option(value, label string) ui.Option { return ui.Option{Value: value, Label: label} }
func hidden(name, value string) ui.Value   { return ui.Value{Name: name, Value: value} }
func crumbs(pairs ...string) []ui.Link {
	var out []ui.Link
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, ui.Link{Label: pairs[i], Href: pairs[i+1]})
	}
	return out
}

// csvFile writes rows with a header: see sheet.
func csvFile(header []string, rows [][]string) ([]byte, error) {
	s := newSheet("", header...)
	for _, r := range rows {
		s.add(r...)
	}
	return s.bytes()
}

// encode writes pairs of a name and a value as a query; empty values are left out.
func encode(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q.Encode()
}
