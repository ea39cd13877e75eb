// Package lang is the one way a sentence reaches a person. The English sentence is the key: it stands in the code
// where it is said, and a catalog holds its translations.
package lang

import (
	"context"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/message/catalog"
)

// Lang is a BCP 47 tag of a language that the portal speaks.
type Lang string

// English is the language of the keys; every other language falls back to it.
const English Lang = "en"

// Languages lists what a person can choose, in the order in which it is offered.
func Languages() []Lang { return []Lang{English} }

// sentences is the catalog. A language that is added here gets one entry per key; a sentence without an entry is
// shown in English.
var sentences catalog.Catalog = catalog.NewBuilder(catalog.Fallback(language.English))

// Printer says sentences in one language.
type Printer struct {
	lang Lang
	out  *message.Printer
}

// For returns the printer of a language; an unknown tag speaks English.
func For(l Lang) Printer {
	for _, known := range Languages() {
		if l == known {
			return Printer{l, message.NewPrinter(language.Make(string(l)), message.Catalog(sentences))}
		}
	}
	return For(English)
}

// Match returns the best known language for an Accept-Language header.
func Match(accept string) Lang {
	known := Languages()
	tags := make([]language.Tag, len(known))
	for i, l := range known {
		tags[i] = language.Make(string(l))
	}
	_, i := language.MatchStrings(language.NewMatcher(tags), accept)
	return known[i]
}

// Lang returns the language the printer speaks.
func (p Printer) Lang() Lang { return p.lang }

// T says the sentence with its arguments put in as by fmt.Sprintf; whole numbers get the separators of the language.
// A per cent sign in the sentence is written %%.
func (p Printer) T(sentence string, args ...any) string {
	return p.out.Sprintf(message.Key(sentence, sentence), args...)
}

type contextKey struct{}

// With returns a context in which T speaks the language.
func With(ctx context.Context, l Lang) context.Context {
	return context.WithValue(ctx, contextKey{}, For(l))
}

// From returns the printer of the context, the English one if none was set.
func From(ctx context.Context) Printer {
	if p, ok := ctx.Value(contextKey{}).(Printer); ok {
		return p
	}
	return For(English)
}

// T says the sentence in the language of the context. See Printer.T.
func T(ctx context.Context, sentence string, args ...any) string {
	return From(ctx).T(sentence, args...)
}
