package web

import (
	"bytes"
	"encoding/csv"
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

// csvFile writes rows with a header. A text that a spreadsheet would take for a formula gets an apostrophe.
func csvFile(header []string, rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write(header); err != nil {
		return nil, err
	}
	for _, r := range rows {
		for i, s := range r {
			if s != "" && strings.ContainsRune("=+-@\t\r", rune(s[0])) && !isNumber(s) {
				r[i] = "'" + s
			}
		}
		if err := w.Write(r); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func isNumber(s string) bool {
	return strings.Trim(s, "-+.0123456789") == ""
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
