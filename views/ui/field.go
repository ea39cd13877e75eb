package ui

import "strings"

// Field is one question of a form. Value is what the person typed, never what we made of it, so that a refused form
// comes back as it was sent. Error is a sentence at the field.
type Field struct {
	Name     string
	ID       string // empty: "f-" + Name; set it where two forms of a page have the same name
	Label    string
	Hint     string
	Value    string
	Error    string
	Required bool

	Type         string // of Text: "text" (default), "email", "password", "search", "date", "url"…
	Unit         string // after a number: "GPUs", "hours", "EUR"
	InputMode    string // "numeric", "decimal"
	Autocomplete string
	Placeholder  string
	MaxLength    string
	Rows         string // of TextArea, default 4
	Mono         bool   // code, ids
	Short        bool   // a narrow box: the answer is a few characters; of Checks: short options, side by side
	ReadOnly     bool
	AutoFocus    bool
	Spellcheck   bool

	Options []Option // of Select, Radio and Checks
}

// Option is one possible answer.
type Option struct {
	Value    string
	Label    string
	Hint     string // a second line under the label, of Radio and Checks
	Aside    string // at the far side, for example a price
	Group    string // heading in a Select; options of one group follow each other
	Disabled bool
	Checked  bool // of Checks; Select and Radio compare with Field.Value
}

// OptionGroup is a run of options under one heading; an empty heading means none.
type optionGroup struct {
	heading string
	options []Option
}

// FieldID is the id of the control, where the error summary leads.
func (f Field) FieldID() string {
	if f.ID != "" {
		return f.ID
	}
	return "f-" + f.Name
}

func (f Field) inputType() string {
	if f.Type == "" {
		return "text"
	}
	return f.Type
}

func (f Field) rows() string {
	if f.Rows == "" {
		return "4"
	}
	return f.Rows
}

// describedBy lists the ids of hint, unit and error, in the order in which they should be read.
func (f Field) describedBy() string {
	var ids []string
	if f.Error != "" {
		ids = append(ids, f.FieldID()+"-error")
	}
	if f.Unit != "" {
		ids = append(ids, f.FieldID()+"-unit")
	}
	if f.Hint != "" {
		ids = append(ids, f.FieldID()+"-hint")
	}
	return strings.Join(ids, " ")
}

func (f Field) groups() []optionGroup {
	var all []optionGroup
	for _, o := range f.Options {
		if n := len(all); n == 0 || all[n-1].heading != o.Group {
			all = append(all, optionGroup{heading: o.Group})
		}
		last := &all[len(all)-1]
		last.options = append(last.options, o)
	}
	return all
}

// FieldError names a field that was refused, for the summary on top of the form.
type FieldError struct {
	Field string // id of the control
	Text  string
}

// Errors collects the refused fields in the order of the form.
func Errors(fields ...Field) []FieldError {
	var all []FieldError
	for _, f := range fields {
		if f.Error != "" {
			all = append(all, FieldError{f.FieldID(), f.Label + ": " + f.Error})
		}
	}
	return all
}
