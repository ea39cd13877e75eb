package web

import (
	"bytes"
	"encoding/csv"
	"strings"
)

// sheet is a table as a file: a header with units in its names, then rows of plain figures and ISO times.
type sheet struct {
	name string // of the file
	rows [][]string
}

func newSheet(name string, header ...string) *sheet {
	return &sheet{name: name, rows: [][]string{header}}
}

func (s *sheet) add(cells ...string) {
	for i, c := range cells {
		cells[i] = guarded(c)
	}
	s.rows = append(s.rows, cells)
}

// guarded keeps a spreadsheet from running text as a formula. A plain number stays one.
func guarded(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) || plainNumber(cell) {
		return cell
	}
	return "'" + cell
}

func plainNumber(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return digits != "" && strings.Trim(digits, "0123456789.") == "" && strings.Count(digits, ".") <= 1
}

// bytes has a byte order mark in front, so that a spreadsheet reads it as UTF-8.
func (s *sheet) bytes() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("\uFEFF")
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	if err := w.WriteAll(s.rows); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// sheet sends a table as a file.
func (v *visit) sheet(s *sheet) error {
	b, err := s.bytes()
	if err != nil {
		return err
	}
	return v.attach(s.name, "text/csv; charset=utf-8", b)
}
