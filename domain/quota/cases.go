package quota

import "io"

// CaseResult is how one scenario came out.
type CaseResult struct {
	ID, Title string
	Diffs     []string // what differs; empty = ok
}

// RunCases reads a file of scenarios (lists "cases" and "more_cases", either
// may be absent), runs each to its end and compares. The error is for a file
// that can't be read at all.
func RunCases(r io.Reader) ([]CaseResult, error) { return nil, nil }
