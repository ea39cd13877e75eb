package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const replayData = "domain/replay/testdata/"

func TestReplayPrintsWaitsPreemptionsAndInvoices(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		trace, pool string
		invoices    int
		says        []string
	}{
		{"philly_excerpt.csv", "philly.json", 15, []string{"trace      Philly (Gavel): 600 rows, 579 jobs read\n", "  skipped  21 rows: duration_s_estimated: no duration from 1 to 1000000000 s (first in line 153)\n", "704 GPUs\n",
			"jobs       579 run, 579 done", "waiting    burst          median 0s", "  synthetic declared limits: 2 times the length, nothing drawn\n"}},
		{"spot2026_synthetic_excerpt.csv", "spot2026.json", 15, []string{"trace      spot 2026: 400 rows, 400 jobs read\n", "jobs       400 run, 400 done", "waiting    burst ", "waiting    spot "}},
		{"own_excerpt.csv", "../../../testdata/demo/pool.json", 5, []string{"trace      GPU Pool: 3 rows, 3 jobs read\n", "jobs       3 run, 3 done"}},
	} {
		out, errs, code := typed(t, "replay", replayData+tt.trace, "--pool", replayData+tt.pool)
		if code != 0 || errs != "" {
			t.Fatalf("%s: exit code %d: %s", tt.trace, code, errs)
		}
		for _, x := range tt.says {
			if !strings.Contains(out, x) {
				t.Errorf("%s: %q is not said:\n%s", tt.trace, x, out)
			}
		}
		for _, x := range []string{`(?m)^allocated  \d+\.\d\d % of the capacity, \d+\.\d\d % while jobs arrive$`, `(?m)^class      \S+ +\d+ GPUs, allocated [\d.]+ of [\d.]+ GPU-hours`,
			`(?m)^  idle     free while jobs wait: fragmented `, `(?m)^preempted  \d+ times$`, `(?m)^fairness   Jain's index [01]\.\d{4} `, `(?m)^sum +[\d.]+ EUR, net$`} {
			if !regexp.MustCompile(x).MatchString(out) {
				t.Errorf("%s: nothing like %s:\n%s", tt.trace, x, out)
			}
		}
		if n := len(regexp.MustCompile(`(?m)^invoice    \S+ +[\d.]+ EUR  \(fee [\d.]+, use [\d.]+, \d+ months\)$`).FindAllString(out, -1)); n != tt.invoices {
			t.Errorf("%s: %d invoices, want %d:\n%s", tt.trace, n, tt.invoices, out)
		}
	}
}

func TestReplayRefusesWhatItCanNotReadInOneLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, trace := replayData+"philly.json", replayData+"philly_excerpt.csv"
	text := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	head := "vc,job_index,arrival_s_since_vc_first_job,gpus,duration_s_estimated\n"
	for _, tt := range []struct {
		sentence, trace, pool, says string
	}{
		{"an unknown file", filepath.Join(dir, "nothing.csv"), good, "nothing.csv: no such file"},
		{"a folder", dir, good, "is a directory"},
		{"an empty file", file("empty.csv", ""), good, "no header: the file is empty"},
		{"no header", file("bare.csv", "0e4a51,0,0,1,20468\n"), good, "no known format fits the header"},
		{"a header only", file("head.csv", head), good, "has a header and no rows"},
		{"no row that can be used", file("bad.csv", head+"0e4a51,0,0,1,\nnobody,0,0,1,9\n0e4a51,1,0,1,\n"), good, "2 of them: duration_s_estimated: no duration from 1 to 1000000000 s (first in line 2)"},
		{"an unknown pool file", trace, filepath.Join(dir, "nothing.json"), "nothing.json: no such file"},
		{"a trace as the pool", trace, trace, "philly_excerpt.csv: pool file: "},
		{"a guarantee below nothing", trace, file("below.json", strings.Replace(text(good), `"guaranteed": 64`, `"guaranteed": -64`, 1)), "below.json: pool file: plans[0].classes[gpu]"},
		{"more lent than there is a number for", trace, file("lend.json", strings.Replace(text(good), `"lend": 64`, `"lend": "all"`, 1)), "lend.json: pool file: "},
		{"a pool with a wrong field", trace, file("wrong.json", `{"currency": "EUR", "zone": "Mars"}`), `wrong.json: pool file: zone: "Mars" is not a time zone`},
	} {
		out, errs, code := typed(t, "replay", tt.trace, "--pool", tt.pool)
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, tt.says) {
			t.Errorf("%s: exit code %d, printed %q and %q; want 1 and one line with %q", tt.sentence, code, out, errs, tt.says)
		}
	}
	if out, errs, code := typed(t, "replay", trace, "--pool", good, "--strict"); code != 1 || out != "" || !strings.Contains(errs, "line 153") || !strings.Contains(errs, "duration_s_estimated") {
		t.Errorf("--strict: exit code %d, printed %q and %q", code, out, errs)
	}
	if _, errs, code := typed(t, "replay", trace); code != exitUsage || !strings.Contains(errs, `"pool" not set`) {
		t.Errorf("no pool file: exit code %d: %s", code, errs)
	}
}

func TestReplayRunsSettingsSideBySide(t *testing.T) {
	t.Parallel()
	trace, three := replayData+"sacct_generated.txt", replayData+"three.json"
	out, errs, code := typed(t, "replay", trace, "--pool", three, "--check", "--without", "lending", "--with", "fair_reclaim,lending", "--compare", three, "--compare", "fcfs", "--compare", "fit")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	for _, x := range []string{`figure +as the pool says +with fair_reclaim,lending +without lending +three +first come +first fit\n`, `(?m)^preempted +\d+ +\d+ \(same\) +0 \(-\d+\)`,
		`(?m)^as the pool says: checked    \d+ moments`, `(?m)^all invoices EUR +[\d.]+ .* -$`} {
		if !regexp.MustCompile(x).MatchString(out) {
			t.Errorf("nothing like %s:\n%s", x, out)
		}
	}
	out, _, code = typed(t, "replay", trace, "--pool", three, "--json")
	if code != 0 || !strings.HasPrefix(out, "{\n \"trace\"") {
		t.Errorf("exit code %d: %.200s", code, out)
	}
	for table, head := range map[string]string{"members": "setting,organisation,jobs,", "jobs": "setting,job,name,"} {
		if out, _, code = typed(t, "replay", trace, "--pool", three, "--csv", table); code != 0 || !strings.HasPrefix(out, head) {
			t.Errorf("%s: exit code %d: %.200s", table, code, out)
		}
	}
	for _, tt := range []struct {
		says string
		args []string
	}{
		{"--with: notice can only be switched off", []string{"--with", "notice"}},
		{`--without: "gravity" is none of lending, fair_reclaim`, []string{"--without", "gravity"}},
		{`--csv: "invoices" is neither members nor jobs`, []string{"--csv", "invoices"}},
		{`--zone: "Mars" is not a time zone`, []string{"--zone", "Mars"}},
		{`--format: "pbs" is none of philly, `, []string{"--format", "pbs"}},
		{"one of --format and --columns", []string{"--format", "slurm", "--columns", three}},
	} {
		if out, errs, code := typed(t, append([]string{"replay", trace, "--pool", three}, tt.args...)...); code != exitUsage || out != "" || !strings.Contains(errs, tt.says) {
			t.Errorf("%v: exit code %d, printed %q and %q", tt.args, code, out, errs)
		}
	}
	for _, tt := range []struct{ says, flag, value string }{
		{"nothing.json: no such file", "--compare", "nothing.json"},
		{`three.json: column map: json: unknown field`, "--columns", three},
		{"the header does not fit the map (Helios lacks vc, ", "--format", "helios"},
	} {
		if _, errs, code := typed(t, "replay", trace, "--pool", three, tt.flag, tt.value); code != 1 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, tt.says) {
			t.Errorf("%s %s: exit code %d: %s", tt.flag, tt.value, code, errs)
		}
	}
}
