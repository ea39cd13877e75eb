package replay

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/pool"
)

func at(t testing.TB, s string) pool.Instant {
	t.Helper()
	i, err := instant(s)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func TestTheSamplesOfEachFormatAreReadToldAndRun(t *testing.T) {
	t.Parallel()
	p := load(t, file(t, "three.json"))
	limits := "declared limits: drawn, the next usual limit above 1 to 3 times the length, seed 7"
	for _, tt := range []struct {
		file    string
		want    Trace // its Jobs hold only the first one
		jobs    int
		because string
	}{
		{file: "helios_generated.csv", jobs: 186, want: Trace{Format: "Helios", Rows: 200, Synthetic: []string{limits},
			Skipped: []Skipped{{Cause: noGPUs, Rows: 14, First: 19}},
			Jobs: []Job{{ID: "t000001", Tenant: "vcC", Org: "guests", Project: "guests", User: "u005", Name: "1425511", Class: "a100", Nodes: 1, GPUs: 1, Tier: pool.Burst,
				Submit: at(t, "2020-06-09T18:42:48+08:00"), Length: 292 * time.Second, Limit: 30 * time.Minute}}}},
		{file: "alibaba2020_generated.csv", jobs: 150, want: Trace{Format: "Alibaba 2020", Rows: 200, Synthetic: []string{limits},
			Skipped: []Skipped{{Cause: noGPUs, Rows: 28, First: 5}, {Column: "end_time", Cause: notEnded, Rows: 22, First: 9}},
			Changed: []Skipped{{Column: "plan_gpu", Cause: "rounded up to whole GPUs on each node", Rows: 58, First: 4, Value: "25.0"}},
			Jobs: []Job{{ID: "t000001", Tenant: "d2d3b77d342e", Org: "biology", Project: "biology", User: "d2d3b77d342e", Name: "worker", Class: "h100", Nodes: 2, GPUs: 8,
				Tier: pool.Burst, Submit: at(t, "2026-03-01T00:00:00+01:00") + 1_000_096_000, Length: 3943 * time.Second, Limit: 4 * time.Hour}}}},
		{file: "alibaba2023_generated.csv", jobs: 157, want: Trace{Format: "Alibaba 2023", Rows: 200, Synthetic: []string{"members: drawn, each of 3 as likely, seed 7", limits},
			Skipped: []Skipped{{Column: "scheduled_time", Cause: neverStarted, Rows: 22, First: 10}, {Cause: noGPUs, Rows: 21, First: 12}},
			Changed: []Skipped{{Column: "gpu_milli", Cause: "rounded up to whole GPUs on each node", Rows: 59, First: 2, Value: "230"}},
			Jobs: []Job{{ID: "t000001", Org: "guests", Project: "guests", User: "guests-user", Name: "gen-pod-0000", Class: "a100", Others: []pool.ClassID{"h100"}, Nodes: 1, GPUs: 1,
				Tier: pool.Burst, Submit: at(t, "2026-03-01T00:12:13+01:00"), Length: 5488 * time.Second, Limit: 4 * time.Hour}}}},
		{file: "sacct_generated.txt", jobs: 90, want: Trace{Format: "Slurm sacct", Rows: 343,
			Skipped: []Skipped{{Cause: aStep, Rows: 223, First: 3}, {Cause: noGPUs, Rows: 9, First: 46}, {Column: "State", Cause: neverStarted, Rows: 10, First: 53, Value: "PENDING"},
				{Column: "End", Cause: notEnded, Rows: 11, First: 65, Value: "Unknown"}},
			Changed: []Skipped{{Column: "Timelimit", Cause: "the limit is not told: read as none", Rows: 15, First: 17, Value: "Partition_Limit"}},
			Jobs: []Job{{ID: "t000001", Tenant: "guests", Org: "guests", Project: "guests", User: "eli", Name: "eval", Class: "a100", Nodes: 4, GPUs: 8, Tier: pool.Guaranteed,
				Submit: at(t, "2026-03-01T08:10:39+01:00"), Length: 2*time.Hour + 11*time.Minute + 37*time.Second, Limit: 24 * time.Hour}}}},
	} {
		got := read(t, file(t, tt.file), p)
		if len(got.Jobs) != tt.jobs {
			t.Fatalf("%s: %d jobs, want %d", tt.file, len(got.Jobs), tt.jobs)
		}
		res, _ := report(t, p, got.Jobs, Options{Until: pool.Never})
		if len(res.Problems) > 0 {
			t.Errorf("%s: %v", tt.file, res.Problems)
		}
		got.Jobs = got.Jobs[:1]
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s: %s", tt.file, d)
		}
	}
}

const sacctHead = "JobID|JobName|User|Account|Partition|QOS|Submit|Start|End|Elapsed|Timelimit|State|ExitCode|NNodes|ReqTRES|AllocTRES\n"

func TestEachOddityOfSacctIsReadOrNamed(t *testing.T) {
	t.Parallel()
	p := load(t, file(t, "three.json"))
	const times = "2026-03-29T01:30:00|2026-03-29T01:40:00|2026-03-29T04:40:00|02:00:00"
	ok := Job{ID: "t000001", Tenant: "physics", Org: "physics", Project: "physics", User: "ann", Name: "train", Class: "a100", Nodes: 1, GPUs: 4, Tier: pool.Burst,
		Submit: at(t, "2026-03-29T01:30:00+01:00"), Length: 2 * time.Hour, Limit: time.Hour}
	with := func(change func(*Job)) Job {
		j := ok
		change(&j)
		return j
	}
	for _, tt := range []struct {
		sentence, row string
		want          Job
		skipped       Skipped
	}{
		{sentence: "a type is in the request", row: "7|train|ann|physics|gpu-a100|normal|" + times + "|01:00:00|COMPLETED|0:0|1||cpu=8,gres/gpu:a100=4,gres/gpu=4,node=1", want: ok},
		{sentence: "no type: the partition tells", row: "7|train|ann|physics|gpu-h100|normal|" + times + "|01:00:00|COMPLETED|0:0|1||gres/gpu=4", want: with(func(j *Job) { j.Class = "h100" })},
		{sentence: "never allocated: what it asked for counts", row: "7|train|ann|physics|x|normal|" + times + "|01:00:00|COMPLETED|0:0|1|gres/gpu=4|", want: ok},
		{sentence: "an array, its own limit in days, cancelled by somebody", row: "7_12|train|ann|physics|x|high|" + times + "|2-03:00:00|CANCELLED by 1042|0:15|2||gres/gpu=16",
			want: with(func(j *Job) { j.Nodes, j.GPUs, j.Tier, j.Limit, j.Exit = 2, 8, pool.Guaranteed, 51*time.Hour, 143 })},
		{sentence: "no limit", row: "7|train|ann|physics|x|normal|" + times + "|UNLIMITED|TIMEOUT|0:0|1||gres/gpu=4", want: with(func(j *Job) { j.Limit, j.Exit = 0, 1 })},
		{sentence: "minutes", row: "7|train|ann|physics|x|normal|" + times + "|90|COMPLETED|0:0|1||gres/gpu=4", want: with(func(j *Job) { j.Limit = 90 * time.Minute })},
		{sentence: "out of memory", row: "7|train|ann|physics|x|normal|" + times + "|01:00:00|OUT_OF_MEMORY|0:125|1||gres/gpu=4", want: with(func(j *Job) { j.OOM, j.Exit = true, 1 })},
		{sentence: "seconds since 1970", row: "7|train|ann|physics|x|normal|1774744200|1774744800|1774752000|7200|01:00:00|COMPLETED|0:0|1||gres/gpu=4", want: ok},
		{sentence: "GPUs that the nodes can't share evenly", row: "7|train|ann|physics|x|normal|" + times + "|01:00:00|COMPLETED|0:0|2||gres/gpu=7", want: with(func(j *Job) { j.Nodes = 2 })},
		{sentence: "a step", row: "7.batch|train|ann|physics|x|normal|" + times + "|01:00:00|COMPLETED|0:0|1||gres/gpu=4", skipped: Skipped{Cause: aStep}},
		{sentence: "memory of a GPU is no GPU", row: "7|train|ann|physics|x|normal|" + times + "|01:00:00|COMPLETED|0:0|1||cpu=8,gres/gpumem=40G,gres/gpuutil=10", skipped: Skipped{Cause: noGPUs}},
		{sentence: "two types at once", row: "7|train|ann|physics|x|normal|" + times + "|01:00:00|COMPLETED|0:0|1||gres/gpu:a100=1,gres/gpu:h100=1",
			skipped: Skipped{Column: "AllocTRES", Cause: "asks for GPUs of several types at once", Value: "gres/gpu:a100=1,gres/gpu:h100=1"}},
		{sentence: "an array that waits", row: "7_[1-9]|train|ann|physics|x|normal|2026-03-29T01:30:00|Unknown|Unknown|00:00:00|01:00:00|PENDING|0:0|1|gres/gpu=4|",
			skipped: Skipped{Column: "State", Cause: neverStarted, Value: "PENDING"}},
		{sentence: "cancelled before it began", row: "7|train|ann|physics|x|normal|2026-03-29T01:30:00|None|2026-03-29T01:40:00|00:00:00|01:00:00|CANCELLED|0:0|0|gres/gpu=4|",
			skipped: Skipped{Column: "Elapsed", Cause: "duration zero", Value: "00:00:00"}},
		{sentence: "a name with the separator", row: "7|tr|ain|ann|physics|x|normal|" + times + "|01:00:00|COMPLETED|0:0|1||gres/gpu=4",
			skipped: Skipped{Cause: "not as many columns as the header has, which is 16"}},
		{sentence: "a limit of too many minutes", row: "7|train|ann|physics|x|normal|" + times + "|01:75:00|COMPLETED|0:0|1||gres/gpu=4",
			skipped: Skipped{Column: "Timelimit", Cause: "limit is no time from 0 to 1000000000 s", Value: "01:75:00"}},
		{sentence: "GPUs beyond all", row: "7|train|ann|physics|x|normal|" + times + "|01:00:00|COMPLETED|0:0|1||gres/gpu=18446744073709551616",
			skipped: Skipped{Column: "AllocTRES", Cause: "no number of GPUs up to 1000000", Value: "gres/gpu=18446744073709551616"}},
		{sentence: "a submit time of another kind", row: "7|train|ann|physics|x|normal|03/29/26 01:30|" + strings.SplitN(times, "|", 2)[1] + "|01:00:00|COMPLETED|0:0|1||gres/gpu=4",
			skipped: Skipped{Column: "Submit", Cause: "no submit time like 2026-03-01 12:00:00, from 1970 to 9999", Value: "03/29/26 01:30"}},
	} {
		got := read(t, sacctHead+tt.row+"\n", p)
		if tt.skipped.Cause != "" {
			tt.skipped.Rows, tt.skipped.First = 1, 2
			if d := cmp.Diff([]Skipped{tt.skipped}, got.Skipped); d != "" {
				t.Errorf("%s: %s", tt.sentence, d)
			}
		} else if d := cmp.Diff([]Job{tt.want}, got.Jobs); d != "" {
			t.Errorf("%s: %v %s", tt.sentence, got.Skipped, d)
		}
	}
	twice := sacctHead + strings.Repeat("7|train|ann|physics|x|normal|"+times+"|01:00:00|COMPLETED|0:0|1||gres/gpu=4\n", 2)
	if d := cmp.Diff([]Skipped{{Column: "JobID", Cause: "stands twice", Rows: 1, First: 3, Value: "7"}}, read(t, twice, p).Skipped); d != "" {
		t.Error(d)
	}
}

func TestATraceIsTheSameHoweverItIsPackedAndOrdered(t *testing.T) {
	t.Parallel()
	p := load(t, file(t, "three.json"))
	plain := file(t, "helios_generated.csv")
	want := read(t, plain, p)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, plain)
	z.Close()
	for name, text := range map[string]string{"packed": packed.String(), "with a mark": "\ufeff" + plain, "of Windows": strings.ReplaceAll(plain, "\n", "\r\n")} {
		if d := cmp.Diff(want, read(t, text, p)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	lines := strings.SplitAfter(plain, "\n")
	last := len(lines) - 2
	lines[1], lines[last] = lines[last], lines[1]
	got := read(t, strings.Join(lines, ""), p)
	for i := 1; i < len(got.Jobs); i++ {
		if got.Jobs[i].Submit < got.Jobs[i-1].Submit {
			t.Fatal("lines out of order stay so")
		}
	}
	if len(got.Jobs) != len(want.Jobs) {
		t.Errorf("%d jobs of unsorted lines, want %d", len(got.Jobs), len(want.Jobs))
	}
	for name, text := range map[string]string{"cut off": packed.String()[:packed.Len()/2], "damaged": packed.String()[:3] + "damage"} {
		if _, err := Read(strings.NewReader(text), p); !errors.Is(err, ErrTrace) {
			t.Errorf("gzip, %s: %v", name, err)
		}
	}
}

func TestDaysOfATraceWithDatesBeginWithItsFirstJob(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(file(t, "three.json"), `"draw_members"`, `"days": 1, "draw_members"`, 1))
	got := read(t, file(t, "helios_generated.csv"), p)
	end := got.Jobs[0].Submit.Add(24 * time.Hour)
	if len(got.Jobs) == 0 || len(got.Jobs) == 186 || got.Jobs[len(got.Jobs)-1].Submit >= end {
		t.Fatalf("%d jobs, the last at %s; want those before %s", len(got.Jobs), got.Jobs[len(got.Jobs)-1].Submit, end)
	}
	if last := got.Skipped[len(got.Skipped)-1]; last.Cause != "submitted after day 1" || last.Rows != 186-len(got.Jobs) || last.First == 0 {
		t.Errorf("%+v", last)
	}
}

const ownMap = `{"name": "our export", "separator": ";", "id": "Nr", "tenant": "Institut", "gpus": "Karten", "gpus_are": "total", "nodes": "Knoten",
	"submit": "Eingang", "start": "Beginn", "end": "Ende", "limit": "Grenze", "limit_unit": "minutes", "time": "text", "zone": "Europe/Berlin"}`

func TestAMapOfColumnsReadsAnyTrace(t *testing.T) {
	t.Parallel()
	p := load(t, tinyPool)
	p.Trace.Classes = map[string]pool.ClassID{"": "gpu"}
	m, err := LoadColumns(strings.NewReader(ownMap))
	if err != nil {
		t.Fatal(err)
	}
	head := "Nr;Institut;Karten;Knoten;Eingang;Beginn;Ende;Grenze\n"
	trace := head + "1;owner;4;2;2026-03-01 09:00:00;2026-03-01 09:05:00;2026-03-01 10:05:00;120\n" +
		"2;owner;4;1;2026-03-01 09:00:00;2026-03-01 11:05:00;2026-03-01 10:05:00;120\n"
	got, err := ReadAs(strings.NewReader(trace), p, Reading{Columns: &m})
	want := Trace{Format: "our export", Rows: 2, Skipped: []Skipped{{Column: "Ende", Cause: "ends before it starts", Rows: 1, First: 3, Value: "2026-03-01 10:05:00"}},
		Jobs: []Job{{ID: "t000001", Tenant: "owner", Org: "owner", Project: "owner", User: "owner-user", Class: "gpu", Nodes: 2, GPUs: 2, Tier: pool.Burst,
			Submit: at(t, "2026-03-01T08:00:00Z"), Length: time.Hour, Limit: 2 * time.Hour}}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	if got, err := ReadAs(strings.NewReader(trace), p, Reading{Columns: &m, Zone: time.UTC}); err != nil || got.Jobs[0].Submit != at(t, "2026-03-01T09:00:00Z") {
		t.Errorf("another zone: %v %v", got.Jobs, err)
	}
	_, err = ReadAs(strings.NewReader(trace), p, Reading{Columns: &m, Strict: true})
	if err == nil || err.Error() != `trace: line 3: Ende: ends before it starts, and is "2026-03-01 10:05:00"` {
		t.Errorf("strict: %v", err)
	}
	if _, err = ReadAs(strings.NewReader(tinyTrace), p, Reading{Columns: &m}); err == nil || !strings.Contains(err.Error(), "line 1: the header does not fit the map (our export lacks Institut, Karten, Eingang, Beginn, Ende)") {
		t.Errorf("another header: %v", err)
	}
}

func TestAMapThatCanNotBeUsedNamesTheField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ old, new, says string }{
		{ownMap, "", "EOF"},
		{ownMap, ownMap + "{}", "more after the closing brace"},
		{`"name": "our export"`, `"nome": "x"`, `unknown field "nome"`},
		{`"our export"`, `""`, "name: "},
		{`";"`, `";;"`, "separator: "},
		{`"Karten"`, `""`, "gpus: "},
		{`"total"`, `"sum"`, `gpus_are: "sum" is none of ["total" "percent" "tres"]`},
		{`"Eingang"`, `""`, "submit: "},
		{`"Ende"`, `""`, "length: "},
		{`"minutes"`, `"hours"`, "limit_unit: "},
		{`"text"`, `"stardate"`, "time: "},
		{`"Europe/Berlin"`, `"Local"`, "zone: "},
	} {
		text := strings.Replace(ownMap, tt.old, tt.new, 1)
		if _, err := LoadColumns(strings.NewReader(text)); !errors.Is(err, ErrColumns) || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.says, err)
		}
	}
}

func TestEveryFormatThatWeBringCanBeNamedAndIsAMap(t *testing.T) {
	t.Parallel()
	for i, name := range Formats() {
		f, err := FormatNamed(name)
		if err != nil || f.Name != formats[i].Name || f.check() != nil {
			t.Errorf("%s: %v %v", name, err, f.check())
		}
	}
	if _, err := FormatNamed("csv"); err == nil || !strings.Contains(err.Error(), "philly, spot2026, gpupool, helios, alibaba2020, alibaba2023, slurm") {
		t.Error(err)
	}
}

func TestATraceWithoutTenantsSaysWhatItNeeds(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(file(t, "three.json"), `"draw_members": true`, `"draw_members": false`, 1))
	if _, err := Read(strings.NewReader(file(t, "alibaba2023_generated.csv")), p); err == nil || !strings.Contains(err.Error(), "draw_members") {
		t.Error(err)
	}
}

func TestTiersAreDrawnAsThePoolFileSays(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(file(t, "three.json"), `"draw_members"`, `"synthetic_tier_percent": {"guaranteed": 30, "burst": 50, "spot": 20}, "draw_members"`, 1))
	got := read(t, file(t, "helios_generated.csv"), p)
	n := map[pool.Tier]int{}
	for _, j := range got.Jobs {
		n[j.Tier]++
	}
	for tier, want := range p.Trace.TierPercent {
		if share := 100 * n[tier] / len(got.Jobs); share < want-10 || share > want+10 {
			t.Errorf("%d %% are %s, want about %d", share, tier, want)
		}
	}
	if len(got.Synthetic) != 2 || got.Synthetic[0] != "tiers: drawn, 30 % guaranteed, 50 % burst, 20 % spot, seed 7" {
		t.Error(got.Synthetic)
	}
	if q := read(t, file(t, "sacct_generated.txt"), p); len(q.Synthetic) != 0 {
		t.Errorf("a trace with tiers and limits keeps them: %v", q.Synthetic)
	}
}
