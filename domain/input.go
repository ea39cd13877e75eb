package domain

import (
	"fmt"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gpupool/domain/money"
)

// Limits of text that people type, in characters.
const (
	maxName    = 100
	maxAddress = 500
	maxEmail   = 254 // RFC 5321
)

// sentence makes an error of the money package read as one.
func sentence(err error) string {
	s := err.Error()
	r, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// inCurrency is an amount as sentences print it.
func inCurrency(c money.Currency, a money.Amount) string { return c.Format(a) + " " + c.Code }

// checkName is a required name of at most 100 characters on one line.
func checkName(f *Fields, field, s string) string {
	s = trimmed(s)
	checkLine(f, field, s, true, maxName)
	return s
}

// checkLine is checkText for what lists, invoices and terminals show on one
// line: no line break, nothing that hides or turns the text beside it, and
// something to see unless it is empty.
func checkLine(f *Fields, field, s string, required bool, limit int) {
	switch {
	case strings.ContainsFunc(s, breaksLine):
		f.Add(field, "Must be one line.")
	case strings.ContainsFunc(s, unseen):
		f.Add(field, "Invisible characters are not allowed.")
	case s != "" && !strings.ContainsFunc(s, seen):
		f.Add(field, "Needs at least one visible character.")
	default:
		checkText(f, field, s, required, limit)
	}
}

// breaksLine tells of every character at which a line ends in Unicode.
func breaksLine(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) }

// unseen tells of control and format characters. The joiner stays: emoji and
// some scripts are written with it.
func unseen(r rune) bool {
	return unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) && r != '\u200d'
}

// seen tells of characters that leave ink: fillers and the blank of braille
// are letters and symbols, and leave none.
func seen(r rune) bool {
	return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) && r != '\u2800'
}

// checkEmail is a bare address in small letters.
func checkEmail(f *Fields, field, s string) string {
	s = strings.ToLower(trimmed(s))
	switch a, err := mail.ParseAddress(s); {
	case s == "":
		f.Add(field, "Please fill in this field.")
	case utf8.RuneCountInString(s) > maxEmail:
		f.Add(field, "At most %d characters; this has %d.", maxEmail, utf8.RuneCountInString(s))
	case err != nil || a.Address != s || a.Name != "" || strings.ContainsFunc(s, unseen):
		f.Add(field, "Write an e-mail address such as name@example.org.")
	}
	return s
}

// checkCount is a whole number from low to high.
func checkCount(f *Fields, field, s string, low, high int64) int64 {
	s = trimmed(s)
	if s == "" {
		f.Add(field, "Please fill in this field.")
		return low
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < low || n > high || strings.HasPrefix(s, "+") {
		f.Add(field, "Write a whole number from %d to %d.", low, high)
		return low
	}
	return n
}

// checkAmount is money as typed, never negative.
func checkAmount(f *Fields, field string, c money.Currency, s string) money.Amount {
	a, err := c.Parse(s)
	if err != nil {
		f.Add(field, "%s", sentence(err))
	}
	return a
}

// checkPrice is a price per GPU-hour as typed.
func checkPrice(f *Fields, field string, c money.Currency, s string) money.Price {
	p, err := c.ParsePrice(s)
	if err == nil {
		err = money.CheckPrice(p)
	}
	if err != nil {
		f.Add(field, "%s", sentence(err))
	}
	return p
}

// checkRate is a percentage as typed, in basis points.
func checkRate(f *Fields, field, s string) int {
	r, err := money.ParsePercent(s)
	if err != nil {
		f.Add(field, "%s", sentence(err))
	}
	return int(r)
}

// checkChoice is one of the values.
func checkChoice[T ~string](f *Fields, field string, s T, values ...T) T {
	if !slices.Contains(values, s) {
		f.Add(field, "Choose one of: %s.", strings.Trim(fmt.Sprint(values), "[]"))
	}
	return s
}

// known tells whether a lookup found something; an error other than NotFound
// goes on.
func known(err error) (bool, error) {
	switch {
	case err == nil:
		return true, nil
	case CodeOf(err) == NotFound:
		return false, nil
	}
	return false, err
}

// with adds one reason to a set of them.
func with(set []string, reason string) []string {
	if slices.Contains(set, reason) {
		return set
	}
	return append(slices.Clone(set), reason)
}

// without takes one reason out of a set.
func without(set []string, reason string) []string {
	return slices.DeleteFunc(slices.Clone(set), func(x string) bool { return x == reason })
}

// Warning is something the actor should know about what was done all the same.
type Warning struct {
	Message string // English sentence with fmt verbs, the key of its translation
	Args    []any
}

func (w Warning) String() string { return fmt.Sprintf(w.Message, w.Args...) }
