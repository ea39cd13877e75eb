package invoice

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/pool"
	"gpupool/domain/rating"
)

func segment(seq int64, start, end pool.Instant) rating.Segment {
	return rating.Segment{Seq: seq, Alloc: "a1", Attempt: pool.AttemptID{Job: "j", N: 1}, Start: start, End: end, Class: "h100", GPUs: 2,
		Cover: pool.Loan, PriceRow: "r", PlanVersion: "lab-1", Org: "rheinau", Project: "llm", User: "ming", Account: "acc",
		Node: "n", Source: "nomad", Quality: "exact", Sign: 1}
}

// sealed is an issued invoice with its evidence.
func sealed(t testing.TB) (Document, Evidence) {
	t.Helper()
	o := order(vat(19), 10_512, -200)
	o.Range = Range{From: 3, To: 5}
	o.Names = map[string]string{"llm": "LLM", "ming": "李明"}
	segments := []rating.Segment{segment(4, 0, 1000), segment(5, 1000, 3000)}
	d, err := Issue(build(t, o), "NB-2026-000123", 1_790_000_000_000, 1_792_592_000_000, segments, "before")
	if err != nil {
		t.Fatal(err)
	}
	return d, Evidence{Segments: segments, Lines: o.Lines, Previous: "before"}
}

func TestAnUntouchedInvoiceVerifies(t *testing.T) {
	t.Parallel()
	d, e := sealed(t)
	if err := Verify(d, e); err != nil {
		t.Error(err)
	}
	back, err := Decode(d.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(d, back); diff != "" {
		t.Errorf("stored and read back: %s", diff)
	}
	if err := Verify(back, e); err != nil {
		t.Errorf("stored and read back: %v", err)
	}
	if string(d.Encode()) != string(back.Encode()) {
		t.Error("the bytes of an issued invoice changed")
	}
	e.Segments[0], e.Segments[1] = e.Segments[1], e.Segments[0]
	if err := Verify(d, e); err != nil {
		t.Errorf("usage records read in another order: %v", err)
	}
}

// An invoice that was issued must verify for ever: a change of this hash means
// that the form changed and needs another name.
func TestTheFormOfAnIssuedInvoiceIsFixed(t *testing.T) {
	t.Parallel()
	d, _ := sealed(t)
	const segments, hash = "6b6837d9b8be8e34b07992852125b827b77b187d692c90b3834122f06807e92e",
		"4f71ece9d254cd9af2dca4d677689c17473f976993ee458eda046fb72dbb3303"
	if d.Segments != segments || d.Hash != hash {
		t.Errorf("hash of the usage records %s, of the invoice %s", d.Segments, d.Hash)
	}
}

func TestVerifyFindsEveryTampering(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what string
		edit func(*Document, *Evidence)
		want string
	}{
		{"an amount", func(d *Document, _ *Evidence) { d.Lines[0].Amount-- }, "line 1"},
		{"a part", func(d *Document, _ *Evidence) { d.Lines[0].Parts[0].Amount-- }, "amounts of line 1"},
		{"a part's quantity", func(d *Document, _ *Evidence) { d.Lines[0].Parts[0].Quantity-- }, "quantities of line 1"},
		{"a part's job", func(d *Document, _ *Evidence) { d.Lines[0].Parts[0].Job = "other" }, "line 1"},
		{"the net", func(d *Document, _ *Evidence) { d.Net-- }, "net"},
		{"the tax of a line", func(d *Document, _ *Evidence) { d.Lines[0].Tax.Amount-- }, "tax of the lines"},
		{"the tax", func(d *Document, _ *Evidence) { d.Taxes[0].Tax-- }, "tax at 19 %"},
		{"the total", func(d *Document, _ *Evidence) { d.Total-- }, "total"},
		{"a line taken out", func(d *Document, _ *Evidence) { d.Lines = d.Lines[:1] }, "number of lines"},
		{"a line's number", func(d *Document, _ *Evidence) { d.Lines[1].No = 3 }, "line number"},
		{"the buyer", func(d *Document, _ *Evidence) { d.Buyer.Name = "Somebody else" }, "hash of the document"},
		{"the due date", func(d *Document, _ *Evidence) { d.Due++ }, "hash of the document"},
		{"a name", func(d *Document, _ *Evidence) { d.Names["ming"] = "x" }, "hash of the document"},
		{"the chain", func(d *Document, _ *Evidence) { d.Previous = "other" }, "document before"},
		{"a usage record", func(_ *Document, e *Evidence) { e.Segments[0].GPUs = 1 }, "usage records"},
		{"a usage record's node", func(_ *Document, e *Evidence) { e.Segments[0].Node = "m" }, "usage records"},
		{"a usage record taken out", func(_ *Document, e *Evidence) { e.Segments = e.Segments[1:] }, "usage records"},
		{"a price", func(_ *Document, e *Evidence) { e.Lines[0].Amount++ }, "line 1"},
	} {
		d, e := sealed(t)
		c.edit(&d, &e)
		if err := Verify(d, e); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s was changed: %v", c.what, err)
		}
	}
}

func TestIssueRefuses(t *testing.T) {
	t.Parallel()
	o := order(vat(19), 100)
	o.Range = Range{From: 3, To: 5}
	draft := build(t, o)
	foreign := segment(4, 0, 1)
	foreign.Account = "b"
	for _, c := range []struct {
		what     string
		d        Document
		number   string
		segments []rating.Segment
	}{
		{"what is issued already", issued(t, order(vat(19), 100)), "NB-2026-000124", nil},
		{"without a number", draft, "", nil},
		{"a record that an invoice before has billed", draft, "NB-2026-000124", []rating.Segment{segment(3, 0, 1)}},
		{"a record beyond its range", draft, "NB-2026-000124", []rating.Segment{segment(6, 0, 1)}},
		{"a record of another account", draft, "NB-2026-000124", []rating.Segment{foreign}},
	} {
		if _, err := Issue(c.d, c.number, 1, 2, c.segments, ""); err == nil {
			t.Errorf("%s was issued", c.what)
		}
	}
}

func TestDecodeRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "{", "{}", `{"Form":"gpupool-invoice-2"}`, "[]"} {
		if d, err := Decode([]byte(s)); err == nil {
			t.Errorf("%q was read as %+v", s, d)
		}
	}
}
