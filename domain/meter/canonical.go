package meter

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
)

// canonicalVersion names the form of WriteCanonical; a new form gets a new name
// and old invoices keep theirs.
const canonicalVersion = "gpupool-segments-1"

// WriteCanonical writes segments in the one form that is hashed and exported
// for checking: a line with the version, then a line per segment in canonical
// order, text quoted, numbers decimal, separated by commas.
func WriteCanonical(w io.Writer, segments []Segment) error {
	sorted := slices.Clone(segments)
	Sort(sorted)
	if _, err := fmt.Fprintln(w, canonicalVersion); err != nil {
		return err
	}
	for _, s := range sorted {
		_, err := fmt.Fprintf(w, "%d,%q,%q,%d,%d,%d,%q,%d,%q,%q,%q,%q,%q,%q,%q,%q,%q,%q,%d,%d\n",
			s.Seq, s.Alloc, s.Attempt.Job, s.Attempt.N, s.Start, s.End, s.Class, s.GPUs, s.Cover, s.PriceRow,
			s.PlanVersion, s.Org, s.Project, s.User, s.Account, s.Node, s.Source, s.Quality, s.Sign, s.Revision)
		if err != nil {
			return err
		}
	}
	return nil
}

// Digest is the SHA-256 of the canonical form, in hex.
func Digest(segments []Segment) string {
	h := sha256.New()
	if err := WriteCanonical(h, segments); err != nil {
		panic(err) // a hash never fails to be written
	}
	return hex.EncodeToString(h.Sum(nil))
}
