// Package quota decides which jobs run: a pure function from a snapshot of the
// pool to a plan of admissions, covers, reclaims and waits with reasons.
//
// One law holds it together: each rule that stops work agrees with the one
// order by which work is admitted, so a decision never undoes itself.
package quota
