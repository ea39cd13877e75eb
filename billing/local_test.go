package billing_test

import (
	"testing"

	"gpupool/billing"
	"gpupool/domain"
)

var invoice = domain.Invoice{ID: "inv-1", Number: "GP-2026-0007", Total: 119_00, IssuedAt: 1_790_000_000_000, DueAt: 1_790_000_000_000 + 30*86_400_000}

var lines = []domain.IssueLine{
	{ID: "fee", Text: "Plan Starter, November 2026", Amount: 80_00},
	{ID: "use-1", Text: "a100-80g, own", Amount: 25_00},
	{ID: "waiver", Text: "taken back early", Amount: -5_00},
	{ID: "tax", Text: "VAT 19 %", Amount: 19_00},
}

func TestTheOfflineIssuerAnswersWithOurNumber(t *testing.T) {
	t.Parallel()
	l := billing.NewLocal()
	got, err := l.Issue(t.Context(), "k", "", invoice, lines)
	if err != nil {
		t.Fatal(err)
	}
	if want := (domain.IssuedAt{Number: "GP-2026-0007", Total: 119_00}); got != want {
		t.Fatalf("issued as %+v", got)
	}
	if id, err := l.Prepare(t.Context(), "k", domain.BillingAccount{}); id != "" || err != nil {
		t.Fatalf("prepared as %q, %v", id, err)
	}
	if err := l.Paid(t.Context(), "k", ""); err != nil {
		t.Fatal(err)
	}
}

func TestLinesThatDoNotMakeTheInvoiceAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		sentence string
		lines    []domain.IssueLine
	}{
		{"a line is missing", lines[:3]},
		{"a line is there twice", append(lines[:3:3], domain.IssueLine{ID: "fee", Amount: 19_00})},
		{"a line has no id", append(lines[:3:3], domain.IssueLine{Amount: 19_00})},
		{"the sum overflows", []domain.IssueLine{{ID: "a", Amount: 1<<63 - 1}, {ID: "b", Amount: 1<<63 - 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.sentence, func(t *testing.T) {
			t.Parallel()
			_, err := billing.NewLocal().Issue(t.Context(), "k", "", invoice, tt.lines)
			if domain.CodeOf(err) != domain.Internal {
				t.Fatalf("gives %v", err)
			}
		})
	}
}
