// Package billing carries issued invoices to the payer. Local needs no
// network: the document itself is the bill, paid by bank transfer. Stripe
// mirrors the same lines as invoice items and is the only home of stripe-go.
//
// Neither decides an amount: lines come rated, taxed and rounded, and a total
// that differs anywhere is an error, never an adjustment.
package billing
