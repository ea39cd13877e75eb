package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpupool/domain/pool"
)

// Commands on the store read the environment, as an operator sets it: so this test has it for itself.
func TestClosingVerifyingAndTheDemosClock(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GPUPOOL_DATABASE_URL", "")
	t.Setenv("GPUPOOL_DATA", filepath.Join(dir, "nothing"))
	for _, args := range [][]string{{"verify"}, {"close", "2026-01"}, {"demo", "advance", "1h"}} {
		if out, errs, code := typed(t, args...); code != exitNotFound || !strings.Contains(errs, "there is no pool in") {
			t.Errorf("%v without a pool: %d %s%s", args, code, out, errs)
		}
	}
	t.Setenv("GPUPOOL_DATA", dir)
	month := madeDemo(t, dir)
	tests := []struct {
		sentence string
		args     []string
		code     int
		says     []string
	}{
		{"every invoice agrees", []string{"verify"}, 0, []string{"invoices recomputed", "chain of local ends with ", "everything agrees"}},
		{"a hash that no invoice has", []string{"verify", "--expect", "00ff"}, exitFailed, []string{"differs: no chain ends with the expected hash 00ff"}},
		{"the same as JSON", []string{"verify", "--json"}, 0, []string{`"differences":[]`}},
		{"a month that was closed", []string{"close", month.Prev().String()}, 0, []string{"closed before", " EUR"}},
		{"the same as JSON again", []string{"close", "--json", month.Prev().String()}, 0, []string{`"result":"closed_before"`}},
		{"the open month", []string{"close", month.String()}, exitRefused, []string{"can be closed from"}},
		{"a month that is none", []string{"close", "november"}, exitUsage, []string{"write it as 2026-11"}},
		{"no month", []string{"close"}, exitUsage, []string{"arg(s)"}},
		{"the clock back", []string{"demo", "advance", "-5m"}, exitUsage, []string{"unknown shorthand flag"}},
		{"no time", []string{"demo", "advance", "tomorrow"}, exitUsage, []string{"is not a time such as"}},
		{"too far", []string{"demo", "advance", "9999h"}, exitUsage, []string{"At most 62 days at once."}},
		{"an hour on", []string{"demo", "advance", "1h"}, 0, []string{"The demo's clock stands at "}},
		{"the end of the month", []string{"demo", "advance", "month-end"}, 0, []string{" 00:00 CE"}},
		{"the month after it has ended", []string{"close", month.String()}, exitFailed, []string{"is not metered up to the end of", "accounts failed"}},
		{"the chain goes on", []string{"verify"}, 0, []string{"everything agrees"}},
	}
	for _, tt := range tests {
		out, errs, code := typed(t, tt.args...)
		if code != tt.code {
			t.Errorf("%s: exit code %d, want %d: %s%s", tt.sentence, code, tt.code, out, errs)
		}
		for _, x := range tt.says {
			if !strings.Contains(out+errs, x) {
				t.Errorf("%s: %q is not said: %s%s", tt.sentence, x, out, errs)
			}
		}
	}
}

// madeDemo makes the demo with its history in a folder, and returns its open month.
func madeDemo(t *testing.T, dir string) pool.Month {
	t.Helper()
	p := &portal{config: config{Data: dir}, log: newLog(config{}, io.Discard)}
	defer p.close()
	s, err := loadStory()
	if err == nil {
		err = p.openStore(t.Context(), true)
	}
	if err == nil {
		err = p.openDemo(t.Context(), s, 1, io.Discard)
	}
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now, err := p.service.BusinessNow(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return pool.MonthOf(now, zone)
}
