package domain

import (
	"errors"
	"fmt"
	"strings"
)

// Code is what kind of refusal an Error is; web maps it to a status.
type Code string

const (
	Invalid         Code = "invalid"         // a field is wrong: 422
	NotFound        Code = "not_found"       // also for what belongs to another organisation: 404
	Forbidden       Code = "forbidden"       // the role may see it but not do it: 403
	Unauthenticated Code = "unauthenticated" // 401
	Conflict        Code = "conflict"        // the state does not allow it now: 409
	TooMany         Code = "too_many"        // rate limit: 429
	Unavailable     Code = "unavailable"     // a service behind us is away: 503
	Internal        Code = "internal"        // our fault: 500, never shown
)

// FieldError names one field of the input and what is wrong with it.
type FieldError struct {
	Field   string
	Message string // English sentence, the key of its translation
	Args    []any
}

// Error speaks twice: Message is for the person, Err is for us.
type Error struct {
	Code    Code
	Message string // English sentence with fmt verbs, the key of its translation
	Args    []any
	Fields  []FieldError
	Err     error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, e.Message, e.Args...)
	for _, f := range e.Fields {
		fmt.Fprintf(&b, " [%s: %s]", f.Field, fmt.Sprintf(f.Message, f.Args...))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Errf makes an Error with a sentence for the person.
func Errf(code Code, sentence string, args ...any) *Error {
	return &Error{Code: code, Message: sentence, Args: args}
}

// CodeOf is the code of err, Internal for an error that is not ours.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return Internal
}

// Fields collects field errors while an input is checked.
type Fields []FieldError

// Add notes that a field is wrong.
func (f *Fields) Add(field, sentence string, args ...any) {
	*f = append(*f, FieldError{field, sentence, args})
}

// Err is nil when every field was right.
func (f Fields) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Error{Code: Invalid, Message: "Please correct the marked fields.", Fields: f}
}
