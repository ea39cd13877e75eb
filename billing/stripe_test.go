package billing

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain"
	"gpupool/domain/money"
)

const key = "sk_test_51Hsecret0000"

func issuer(t *testing.T, h http.Handler) *Stripe {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	s, err := NewStripe(StripeConfig{Key: key, Currency: money.Currency{Code: "EUR", Exponent: 2}, URL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTheKeyIsInNoError(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 404, 402} {
		s := issuer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
				"type": "invalid_request_error", "message": "you sent " + r.Header.Get("Authorization")}})
		}))
		err := s.Paid(t.Context(), "k", "in_1")
		if err == nil || strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "(secret)") {
			t.Errorf("status %d gives %v", status, err)
		}
	}
	if _, err := NewStripe(StripeConfig{Key: key, URL: "ftp://" + key + "@x", Currency: money.Currency{Code: "EUR"}}); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("a bad address gives %v", err)
	}
}

func TestItemsOfADraftAreAdoptedOrRefused(t *testing.T) {
	t.Parallel()
	lines := []domain.IssueLine{{ID: "a", Amount: 7}, {ID: "b", Amount: -2}}
	tests := []struct {
		sentence string
		items    []item
		missing  []domain.IssueLine
		code     domain.Code
	}{
		{"an empty draft lacks all", nil, lines, ""},
		{"what is there is adopted", []item{{"b", -2}}, lines[:1], ""},
		{"nothing is missing", []item{{"b", -2}, {"a", 7}}, nil, ""},
		{"a foreign item is refused", []item{{"", 7}}, nil, domain.Conflict},
		{"a line that is there twice is refused", []item{{"a", 7}, {"a", 7}}, nil, domain.Conflict},
		{"another amount is refused", []item{{"a", 8}}, nil, domain.Conflict},
	}
	for _, tt := range tests {
		t.Run(tt.sentence, func(t *testing.T) {
			t.Parallel()
			missing, err := absent(tt.items, lines)
			if (err != nil) != (tt.code != "") || err != nil && domain.CodeOf(err) != tt.code {
				t.Fatalf("gives %v", err)
			}
			if d := cmp.Diff(tt.missing, missing); d != "" {
				t.Fatal(d)
			}
			if agreed := agree(tt.items, lines) == nil; agreed != (tt.code == "" && len(tt.missing) == 0) {
				t.Fatalf("agrees: %v", agreed)
			}
		})
	}
}

// draft is one invoice at Stripe, as far as issuing needs it.
type draft struct {
	mu     sync.Mutex
	items  []map[string]any
	keys   map[string]bool
	status string
	fail   map[string]bool // lines whose first call is done but answered with 500
}

func (d *draft) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = r.ParseForm()
	total := int64(0)
	for _, i := range d.items {
		total += i["amount"].(int64)
	}
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	invoice := func() map[string]any {
		return map[string]any{"id": "in_1", "object": "invoice", "status": d.status, "total": total, "number": "GP-1",
			"hosted_invoice_url": "https://pay", "invoice_pdf": "https://pdf", "metadata": map[string]string{metaInvoice: "inv-1"}}
	}
	list := func(data any) { answer(map[string]any{"object": "list", "has_more": false, "data": data}) }
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/invoices":
		if d.status == "" {
			list([]any{})
			return
		}
		list([]any{invoice()})
	case "POST /v1/invoices":
		d.status = "draft"
		answer(invoice())
	case "GET /v1/invoiceitems":
		list(d.items)
	case "POST /v1/invoiceitems":
		line, k := r.PostForm.Get("metadata[line_id]"), r.Header.Get("Idempotency-Key")
		amount, _ := strconv.ParseInt(r.PostForm.Get("amount"), 10, 64)
		i := map[string]any{"id": "ii_" + line, "object": "invoiceitem", "amount": amount, "metadata": map[string]string{metaLine: line}}
		if !d.keys[k] {
			d.keys[k] = true
			d.items = append(d.items, i)
		}
		if d.fail[line] && !strings.HasSuffix(k, ":r2") { // a stored error is replayed under its key
			http.Error(w, `{"error":{"type":"api_error","message":"later"}}`, http.StatusInternalServerError)
			return
		}
		answer(i)
	case "POST /v1/invoices/in_1/finalize":
		d.status = "open"
		answer(invoice())
	default:
		http.Error(w, `{"error":{"message":"unknown"}}`, http.StatusNotFound)
	}
}

func TestIssuingAgainAndAfterErrorsBillsEachLineOnce(t *testing.T) {
	t.Parallel()
	lines := []domain.IssueLine{{ID: "a", Text: "fee", Amount: 700}, {ID: "b", Text: "use", Amount: 300}, {ID: "c", Text: "waiver", Amount: -50}}
	inv := domain.Invoice{ID: "inv-1", Number: "GP-1", Total: 950}
	want := domain.IssuedAt{Remote: "in_1", Number: "GP-1", URL: "https://pay", PDF: "https://pdf", Total: 950}
	tests := []struct {
		sentence string
		d        *draft
	}{
		{"from nothing", &draft{}},
		{"on a draft with one line", &draft{status: "draft", items: []map[string]any{{"amount": int64(300), "metadata": map[string]string{metaLine: "b"}}}}},
		{"after an error whose act was done", &draft{fail: map[string]bool{"a": true}}},
	}
	for _, tt := range tests {
		t.Run(tt.sentence, func(t *testing.T) {
			t.Parallel()
			tt.d.keys = map[string]bool{}
			s := issuer(t, tt.d)
			for range 2 {
				got, err := s.Issue(t.Context(), "test:inv-1", "cus_1", inv, lines)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Fatal(d)
				}
			}
			if len(tt.d.items) != 3 || tt.d.status != "open" {
				t.Fatalf("%d items, %s", len(tt.d.items), tt.d.status)
			}
		})
	}
}

func TestMoreLinesThanStripeTakesAreRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	s := issuer(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("called %s", r.URL.Path) }))
	lines := make([]domain.IssueLine, maxLines+1)
	for i := range lines {
		lines[i] = domain.IssueLine{ID: strconv.Itoa(i), Amount: 1}
	}
	_, err := s.Issue(t.Context(), "k", "cus_1", domain.Invoice{Total: maxLines + 1}, lines)
	if domain.CodeOf(err) != domain.Invalid {
		t.Fatalf("gives %v", err)
	}
}
