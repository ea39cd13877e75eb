package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain"
	"gpupool/domain/money"
	"gpupool/domain/pool"
	"gpupool/domain/store"
	"gpupool/domain/store/storetest"
)

var november = pool.Month{Year: 2026, Month: time.November}

// anInvoice of the organisation's account for the month, with the ledger range (from, to].
func anInvoice(org pool.OrgID, n int, m pool.Month, from, to int64) domain.Invoice {
	return domain.Invoice{
		ID: pool.InvoiceID(fmt.Sprintf("inv-%s-%d", org, n)), Number: fmt.Sprintf("GP-2026-%s-%04d", org, n), Account: pool.AccountID("acc-" + org),
		Org: org, Month: m, Kind: "regular", FromSeq: from, ToSeq: to, Net: 100, Tax: 19, Total: 119, IssuedAt: storetest.Start + pool.Instant(n),
		DueAt: storetest.Start + 99, Hash: "h1", PrevHash: "h0", Issuer: "local", Doc: []byte(`{"text": "` + "名前 🚀" + `",  "n":1}`),
	}
}

func TestNumbersOfInvoicesHaveNoGapPerSeriesAndYear(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var mu sync.Mutex
		var got []int64
		var wg sync.WaitGroup
		refused := errors.New("the invoice was refused")
		for k := range 24 {
			wg.Go(func() {
				var n int64
				err := s.Update(t.Context(), func(tx domain.Tx) (err error) {
					if n, err = tx.NextNumber("GP", 2026); err != nil {
						return err
					}
					if k%3 == 0 {
						return refused
					}
					return nil
				})
				switch {
				case k%3 == 0 && !errors.Is(err, refused), k%3 != 0 && err != nil:
					t.Error(err)
				case err == nil:
					mu.Lock()
					got = append(got, n)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		slices.Sort(got)
		if d := cmp.Diff([]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, got); d != "" {
			t.Errorf("%s", d)
		}
		inTx(t, s, func(tx domain.Tx) error {
			for _, c := range []struct {
				series string
				year   int
				want   int64
			}{{"GP", 2027, 1}, {"LS", 2026, 1}, {"GP", 2026, 17}} {
				if n, err := tx.NextNumber(c.series, c.year); n != c.want || err != nil {
					t.Errorf("%s %d: %d %v, want %d", c.series, c.year, n, err, c.want)
				}
			}
			_, err := tx.NextNumber("", 2026)
			wantCode(t, "without a series", err, domain.Invalid)
			return nil
		})
	})
}

func TestAnIssuedInvoiceComesBackByteForByte(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		first, second, theirs := anInvoice(uni, 1, november, 0, 5), anInvoice(uni, 2, november.Next(), 5, 9), anInvoice(clinic, 3, november, 0, 0)
		inTx(t, s, func(tx domain.Tx) error {
			return firstError(tx.InsertInvoice(first), tx.InsertInvoice(second), tx.InsertInvoice(theirs))
		})
		inView(t, s, func(tx domain.Tx) error {
			for what, get := range map[string]func() (domain.Invoice, error){
				"by id":             func() (domain.Invoice, error) { return tx.Invoice(uni, second.ID) },
				"by number":         func() (domain.Invoice, error) { return tx.InvoiceByNumber(second.Number) },
				"the last":          func() (domain.Invoice, error) { return tx.LastInvoice("acc-uni") },
				"of month and kind": func() (domain.Invoice, error) { return tx.InvoiceOf("acc-uni", november.Next(), "regular") },
			} {
				got, err := get()
				if d := cmp.Diff(second, got); d != "" || err != nil {
					t.Errorf("%s: %v %s", what, err, d)
				}
			}
			_, err := tx.Invoice(clinic, second.ID)
			wantCode(t, "of another member", err, domain.NotFound)
			_, err = tx.Invoice("", second.ID)
			wantCode(t, "of nobody", err, domain.Invalid)
			_, err = tx.InvoiceByNumber("GP-0")
			wantCode(t, "an unknown number", err, domain.NotFound)
			_, err = tx.LastInvoice("acc-none")
			wantCode(t, "the last of an unknown account", err, domain.NotFound)
			_, err = tx.InvoiceOf("acc-uni", november, "credit")
			wantCode(t, "another kind", err, domain.NotFound)
			all, err := tx.Invoices("")
			if d := cmp.Diff([]domain.Invoice{theirs, second, first}, all); d != "" || err != nil {
				t.Errorf("all: %v %s", err, d)
			}
			one, err := tx.Invoices(uni)
			if d := cmp.Diff([]domain.Invoice{second, first}, one); d != "" || err != nil {
				t.Errorf("of one: %v %s", err, d)
			}
			return nil
		})
	})
}

func TestAMonthAndALedgerRangeAreInvoicedOnceUntilTheInvoiceIsVoid(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		first := anInvoice(uni, 1, november, 0, 5)
		inTx(t, s, func(tx domain.Tx) error { return tx.InsertInvoice(first) })
		inTx(t, s, func(tx domain.Tx) error {
			for what, again := range map[string]domain.Invoice{
				"the month":           anInvoice(uni, 2, november, 5, 9),
				"the range":           anInvoice(uni, 3, november.Next(), 0, 5),
				"a part of the range": anInvoice(uni, 4, november.Next(), 4, 9),
				"inside of the range": anInvoice(uni, 5, november.Next(), 2, 3),
				"more than the range": anInvoice(uni, 6, november.Next(), 0, 9),
				"the number":          {ID: "i7", Number: first.Number, Account: "acc-uni", Org: uni, Month: november.Next(), Kind: "regular"},
				"the id":              {ID: first.ID, Number: "n8", Account: "acc-uni", Org: uni, Month: november.Next(), Kind: "regular"},
			} {
				wantCode(t, what+" again", tx.InsertInvoice(again), domain.Conflict)
			}
			wantCode(t, "a range that runs backwards", tx.InsertInvoice(anInvoice(uni, 9, november.Next(), 9, 5)), domain.Invalid)
			wantCode(t, "without an id", tx.InsertInvoice(domain.Invoice{Account: "acc-uni", Org: uni, Number: "n"}), domain.Invalid)
			return firstError(tx.InsertInvoice(anInvoice(uni, 10, november.Next(), 5, 9)), tx.InsertInvoice(anInvoice(clinic, 11, november, 0, 5)))
		})
		inTx(t, s, func(tx domain.Tx) error {
			return tx.InsertInvoiceState(domain.InvoiceState{Invoice: first.ID, At: 7, State: "void", By: "ada-uni", Note: hardText})
		})
		inTx(t, s, func(tx domain.Tx) error {
			_, err := tx.InvoiceOf("acc-uni", november, "regular")
			wantCode(t, "the void one of the month", err, domain.NotFound)
			if err := tx.InsertInvoice(anInvoice(uni, 12, november, 0, 5)); err != nil {
				t.Errorf("month and range of a void invoice are free: %v", err)
			}
			last, err := tx.LastInvoice("acc-uni")
			if last.ID != "inv-uni-10" || err != nil {
				t.Errorf("the last is %s %v", last.ID, err)
			}
			return nil
		})
		err := s.Update(t.Context(), func(tx domain.Tx) error {
			return tx.InsertInvoiceState(domain.InvoiceState{Invoice: first.ID, At: 8, State: "void"})
		})
		wantCode(t, "void twice", err, domain.Conflict)
	})
}

func TestAnInvoiceIsIssuedOnceByEightAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		var wg sync.WaitGroup
		won := make(chan string, 8)
		for n := range 8 {
			wg.Go(func() {
				err := s.Update(t.Context(), func(tx domain.Tx) error {
					number, err := tx.NextNumber("GP", 2026)
					if err != nil {
						return err
					}
					i := anInvoice(uni, n, november, 0, 5)
					i.Number = fmt.Sprintf("GP-2026-%04d", number)
					return tx.InsertInvoice(i)
				})
				switch {
				case err == nil:
					won <- "issued"
				case domain.CodeOf(err) != domain.Conflict:
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Errorf("%d invoices were issued", len(won))
		}
		inView(t, s, func(tx domain.Tx) error {
			if i, err := tx.LastInvoice("acc-uni"); i.Number != "GP-2026-0001" || err != nil {
				t.Errorf("the losers took no number: %s %v", i.Number, err)
			}
			return nil
		})
	})
}

func TestStatesOfAnInvoiceAreAppended(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		i, theirs := anInvoice(uni, 1, november, 0, 5), anInvoice(clinic, 2, november, 0, 5)
		paid := domain.InvoiceState{Invoice: i.ID, At: 1, State: "paid", By: "ada-uni", Note: hardText} // earlier, by a clock that was wrong
		inTx(t, s, func(tx domain.Tx) error {
			return firstError(tx.InsertInvoice(i), tx.InsertInvoice(theirs), tx.InsertInvoiceState(paid))
		})
		inTx(t, s, func(tx domain.Tx) error {
			got, err := tx.InvoiceStates(i.ID)
			if d := cmp.Diff([]domain.InvoiceState{{Invoice: i.ID, At: i.IssuedAt, State: "issued"}, paid}, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			all, err := tx.CurrentStates("")
			if d := cmp.Diff(map[pool.InvoiceID]string{i.ID: "paid", theirs.ID: "issued"}, all); d != "" || err != nil {
				t.Errorf("of all: %v %s", err, d)
			}
			one, err := tx.CurrentStates(clinic)
			if d := cmp.Diff(map[pool.InvoiceID]string{theirs.ID: "issued"}, one); d != "" || err != nil {
				t.Errorf("of one: %v %s", err, d)
			}
			wantCode(t, "of an unknown invoice", tx.InsertInvoiceState(domain.InvoiceState{Invoice: "i9", State: "paid"}), domain.NotFound)
			return nil
		})
		if err := s.Update(t.Context(), func(tx domain.Tx) error {
			return tx.InsertInvoiceState(domain.InvoiceState{Invoice: i.ID, State: "eaten"})
		}); err == nil {
			t.Error("a state that does not exist is taken")
		}
	})
}

func TestPaymentsAreRecordedOncePerReference(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		twoMembers(t, s)
		i, theirs, remote := anInvoice(uni, 1, november, 0, 5), anInvoice(clinic, 2, november, 0, 5), anInvoice(clinic, 3, november.Next(), 5, 6)
		remote.Issuer = "stripe"
		late := domain.Payment{ID: "p1", Invoice: i.ID, Amount: 100, ReceivedAt: 9, Reference: "R-1", Note: hardText, RecordedBy: "ada-uni", RecordedAt: 10}
		early := domain.Payment{ID: "p2", Invoice: i.ID, Amount: -30, ReceivedAt: 8}
		inTx(t, s, func(tx domain.Tx) error {
			return firstError(tx.InsertInvoice(i), tx.InsertInvoice(theirs), tx.InsertInvoice(remote), tx.InsertPayment(late), tx.InsertPayment(early))
		})
		inTx(t, s, func(tx domain.Tx) error {
			wantCode(t, "the reference again", tx.InsertPayment(domain.Payment{ID: "p3", Invoice: theirs.ID, Reference: "R-1"}), domain.Conflict)
			wantCode(t, "the payment again", tx.InsertPayment(late), domain.Conflict)
			wantCode(t, "for no invoice", tx.InsertPayment(domain.Payment{ID: "p4", Invoice: "i9"}), domain.NotFound)
			wantCode(t, "without an id", tx.InsertPayment(domain.Payment{Invoice: i.ID}), domain.Invalid)
			return firstError(
				tx.InsertPayment(domain.Payment{ID: "p5", Invoice: remote.ID, Amount: 5, Reference: "R-1"}), // another issuer's
				tx.InsertPayment(domain.Payment{ID: "p6", Invoice: theirs.ID, Amount: 7}))                   // no reference, as p2
		})
		inView(t, s, func(tx domain.Tx) error {
			got, err := tx.Payments(i.ID)
			if d := cmp.Diff([]domain.Payment{early, late}, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			all, err := tx.PaymentSums("")
			if d := cmp.Diff(map[pool.InvoiceID]money.Amount{i.ID: 70, theirs.ID: 7, remote.ID: 5}, all); d != "" || err != nil {
				t.Errorf("sums: %v %s", err, d)
			}
			one, err := tx.PaymentSums(uni)
			if d := cmp.Diff(map[pool.InvoiceID]money.Amount{i.ID: 70}, one); d != "" || err != nil {
				t.Errorf("sums of one: %v %s", err, d)
			}
			return nil
		})
	})
}

func TestWhatWasIssuedAndPaidIsNeverChangedByHand(t *testing.T) {
	t.Parallel()
	eachByHand(t, func(t *testing.T, s *store.Store, hand *sql.DB) {
		twoMembers(t, s)
		i := anInvoice(uni, 1, november, 0, 5)
		inTx(t, s, func(tx domain.Tx) error {
			return firstError(tx.InsertInvoice(i), tx.InsertPayment(domain.Payment{ID: "p1", Invoice: i.ID, Amount: 1}))
		})
		refused(t, hand, "DELETE FROM invoices", "UPDATE invoices SET live = TRUE", "UPDATE payments SET amount = 2", "DELETE FROM payments",
			"UPDATE invoice_states SET state = 'paid'", "DELETE FROM invoice_states")
		for _, column := range []string{"id", "number", "account_id", "org_id", "month", "kind", "hash", "prev_hash", "issuer", "doc"} {
			refused(t, hand, "UPDATE invoices SET "+column+" = 'x'", "UPDATE invoices SET live = FALSE, "+column+" = 'x'")
		}
		for _, column := range []string{"from_seq", "to_seq", "net", "tax", "total", "issued_at", "due_at"} {
			refused(t, hand, "UPDATE invoices SET "+column+" = 6", "UPDATE invoices SET live = FALSE, "+column+" = 6")
		}
		if _, err := hand.Exec("UPDATE invoices SET live = FALSE"); err != nil {
			t.Errorf("void is the one change there is: %v", err)
		}
		refused(t, hand, "UPDATE invoices SET live = TRUE")
	})
}
