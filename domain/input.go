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
	if strings.ContainsAny(s, "\r\n") {
		f.Add(field, "Must be one line.")
		return s
	}
	checkText(f, field, s, true, maxName)
	return s
}

// checkEmail is a bare address in small letters.
func checkEmail(f *Fields, field, s string) string {
	s = strings.ToLower(trimmed(s))
	switch a, err := mail.ParseAddress(s); {
	case s == "":
		f.Add(field, "Please fill in this field.")
	case utf8.RuneCountInString(s) > maxEmail:
		f.Add(field, "At most %d characters; this has %d.", maxEmail, utf8.RuneCountInString(s))
	case err != nil || a.Address != s || a.Name != "":
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
