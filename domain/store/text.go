package store

import "strings"

// printable is text that came from outside (a node's message, a service's
// error) in the form that both engines keep: valid UTF-8 without NUL. What a
// person types is refused instead.
func printable(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
