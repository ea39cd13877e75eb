package replay

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpupool/domain/pool"
)

func file(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestTheExcerptsAreReadAndWhatCanNotBeUsedIsCounted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pool, trace, format string
		rows, jobs          int
		skipped             []Skipped
	}{
		{"philly.json", "philly_excerpt.csv", "Philly (Gavel)", 600, 579, []Skipped{{Column: "duration_s_estimated", Cause: "no duration from 1 to 1000000000 s", Rows: 21, First: 153}}},
		{"spot2026.json", "spot2026_synthetic_excerpt.csv", "spot 2026", 400, 400, nil},
	} {
		p := load(t, file(t, tt.pool))
		tr := read(t, file(t, tt.trace), p)
		if tr.Format != tt.format || tr.Rows != tt.rows || len(tr.Jobs) != tt.jobs {
			t.Errorf("%s: %s, %d rows, %d jobs", tt.trace, tr.Format, tr.Rows, len(tr.Jobs))
		}
		if d := cmp.Diff(tt.skipped, tr.Skipped); d != "" {
			t.Errorf("%s: %s", tt.trace, d)
		}
		_, r := report(t, p, tr.Jobs, Options{Until: pool.Never})
		if r.Done != len(tr.Jobs) || r.Share() == 0 || len(r.Invoices) != len(p.Orgs) {
			t.Errorf("%s: %d of %d done, share %d, %d invoices", tt.trace, r.Done, len(tr.Jobs), r.Share(), len(r.Invoices))
		}
	}
}

func TestARowOfOurOwnFormatIsWholeInAJob(t *testing.T) {
	t.Parallel()
	p := load(t, tinyPool)
	got := read(t, "\ufeff"+strings.Join(Columns, ",")+"\r\nGäste,ann,nowhere,\"night, 训练\",gpu,spot,2,1,60,3600,7200,oom\r\n", p)
	start := pool.At(time.Date(2026, 3, 1, 0, 1, 0, 0, time.UTC))
	want := Trace{Format: "GPU Pool", Rows: 1, Jobs: []Job{{ID: "t000001", Tenant: "Gäste", Org: "guest", Project: "guest", User: "ann", Name: "night, 训练",
		Class: "gpu", Nodes: 2, GPUs: 1, Tier: pool.Spot, Submit: start, Length: time.Hour, Limit: 2 * time.Hour, Exit: 1, OOM: true}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestARowThatCanNotBeUsedIsNamedAndCostsNoOther(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(tinyPool, `"trace": {"start"`, `"trace": {"days": 30, "start"`, 1))
	for _, tt := range []struct{ sentence, row, column, value, cause string }{
		{"an unknown tenant", "nobody,u,,n,gpu,burst,1,1,0,60,,", "organisation", "nobody", "tenant is of no organisation of the pool"},
		{"no tenant", ",u,,n,gpu,burst,1,1,0,60,,", "organisation", "", "tenant is of no organisation of the pool"},
		{"an unknown class", "guest,u,,n,tpu,burst,1,1,0,60,,", "class", "tpu", "GPU model is no class of the pool"},
		{"an unknown tier", "guest,u,,n,gpu,gold,1,1,0,60,,", "tier", "gold", "tier is not guaranteed, burst or spot"},
		{"no GPUs", "guest,u,,n,gpu,burst,1,,0,60,,", "gpus_per_node", "", "no number of GPUs up to 1000000"},
		{"zero GPUs", "guest,u,,n,gpu,burst,1,0,0,60,,", "", "", "asks for no GPU"},
		{"negative GPUs", "guest,u,,n,gpu,burst,1,-4,0,60,,", "gpus_per_node", "-4", "no number of GPUs up to 1000000"},
		{"more GPUs than there can be", "guest,u,,n,gpu,burst,1,99999999999999999999,0,60,,", "gpus_per_node", "99999999999999999999", "no number of GPUs up to 1000000"},
		{"GPUs that are no number", "guest,u,,n,gpu,burst,1,NaN,0,60,,", "gpus_per_node", "NaN", "no number of GPUs up to 1000000"},
		{"no workers", "guest,u,,n,gpu,burst,0,1,0,60,,", "nodes", "0", "no whole number of nodes from 1 to 1000000"},
		{"no submit time", "guest,u,,n,gpu,burst,1,1,,60,,", "submit_s", "", "no submit time from 0 to 1000000000 s"},
		{"a submit time before the start", "guest,u,,n,gpu,burst,1,1,-1,60,,", "submit_s", "-1", "no submit time from 0 to 1000000000 s"},
		{"a submit time that is text", "guest,u,,n,gpu,burst,1,1,soon,60,,", "submit_s", "soon", "no submit time from 0 to 1000000000 s"},
		{"a submit time beyond the days", "guest,u,,n,gpu,burst,1,1,2592000,60,,", "", "", "submitted after day 30"},
		{"no duration", "guest,u,,n,gpu,burst,1,1,0,,,", "length_s", "", "no duration from 1 to 1000000000 s"},
		{"a negative duration", "guest,u,,n,gpu,burst,1,1,0,-60,,", "length_s", "-60", "no duration from 1 to 1000000000 s"},
		{"an endless duration", "guest,u,,n,gpu,burst,1,1,0,+Inf,,", "length_s", "+Inf", "no duration from 1 to 1000000000 s"},
		{"a duration of centuries", "guest,u,,n,gpu,burst,1,1,0,1e18,,", "length_s", "1e18", "no duration from 1 to 1000000000 s"},
		{"a duration of nothing", "guest,u,,n,gpu,burst,1,1,0,0,,", "length_s", "0", "duration zero"},
		{"a limit that is text", "guest,u,,n,gpu,burst,1,1,0,60,long,", "limit_s", "long", "limit is no time from 0 to 1000000000 s"},
		{"an unknown end", "guest,u,,n,gpu,burst,1,1,0,60,,256", "exit", "256", "exit is no code from 0 to 255, oom or idle"},
		{"a row cut off", "guest,u,,n", "", "", "not as many columns as the header has, which is 12"},
		{"a quote that nobody closes", `guest,u,,"n,gpu,burst,1,1,0,60,,`, "", "", "not readable as CSV"},
		{"a quote in a word", `guest,u,,n"n,gpu,burst,1,1,0,60,,`, "", "", "not readable as CSV"},
		{"script", "<script>alert(1)</script>,u,,n,gpu,burst,1,1,0,60,,", "organisation", "<script>alert(1)</script>", "tenant is of no organisation of the pool"},
		{"no text at all", "\x00\xff\xfe", "", "", "not as many columns as the header has, which is 12"},
	} {
		good := "owner,u,,n,gpu,burst,1,1,5.4,60,,0\n"
		got := read(t, strings.Join(Columns, ",")+"\n"+good+tt.row+"\n\n"+good, p)
		if len(got.Jobs) != 2 || got.Rows != 3 {
			t.Errorf("%s: %d jobs of %d rows, want the 2 others of 3", tt.sentence, len(got.Jobs), got.Rows)
		}
		if d := cmp.Diff([]Skipped{{Column: tt.column, Cause: tt.cause, Rows: 1, First: 3, Value: tt.value}}, got.Skipped); d != "" {
			t.Errorf("%s: %s", tt.sentence, d)
		}
	}
}

func TestAFileThatIsNoTraceIsRefused(t *testing.T) {
	t.Parallel()
	p := load(t, tinyPool)
	ours := strings.Join(Columns, ",")
	for _, tt := range []struct {
		sentence string
		r        io.Reader
		says     string
	}{
		{"an empty file", strings.NewReader(""), "no header: the file is empty"},
		{"blank lines", strings.NewReader("\n \r\n\n"), "no header: the file is empty"},
		{"rows without a header", strings.NewReader("guest,u,,n,gpu,burst,1,1,0,60,,\n"), "no known format fits the header"},
		{"a missing column is named", strings.NewReader(strings.Replace(ours, "length_s,", "", 1)), "GPU Pool lacks length_s"},
		{"a missing column of Philly", strings.NewReader("vc,job_index,gpus,duration_s_estimated\n"), "Philly (Gavel) lacks arrival_s_since_vc_first_job"},
		{"a column twice", strings.NewReader(ours + ",length_s\n"), `the header has the column "length_s" twice`},
		{"a header with a broken quote", strings.NewReader(`"vc,gpus` + "\n"), "no header: line 1 is no CSV"},
		{"a line without an end", io.MultiReader(strings.NewReader(ours+"\n"), bytes.NewReader(make([]byte, longest+1))), "line 2 is longer than 1048576 bytes"},
		{"a disk that fails", io.MultiReader(strings.NewReader(ours+"\n"), iotest.ErrReader(errors.New("the disk failed"))), "line 2: the disk failed"},
	} {
		_, err := Read(tt.r, p)
		if !errors.Is(err, ErrTrace) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", tt.sentence, err, tt.says)
		}
	}
}

func TestATraceWithoutAJobSaysWhy(t *testing.T) {
	t.Parallel()
	p := load(t, tinyPool)
	head := strings.Join(Columns, ",") + "\n"
	if got, want := read(t, head, p).Useless(), "the trace (GPU Pool) has a header and no rows"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	bad := read(t, head+"guest,,,,gpu,,,1,x,1,,\nnobody,,,,gpu,,,1,1,1,,\nnobody,,,,gpu,,,1,1,1,,\n", p)
	if got, want := bad.Useless(), "none of the 3 rows of the trace (GPU Pool) can be used; 2 of them: organisation: tenant is of no organisation of the pool (first in line 3: \"nobody\")"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

func TestASyntheticLimitNeverOverflows(t *testing.T) {
	t.Parallel()
	p := load(t, strings.Replace(file(t, "philly.json"), `"synthetic_limit_factor": 2`, `"synthetic_limit_factor": 1000`, 1))
	tr := read(t, "vc,job_index,arrival_s_since_vc_first_job,gpus,duration_s_estimated\n0e4a51,0,0,1,1000000000\n0e4a51,1,0,1,60\n", p)
	if tr.Jobs[0].Limit < tr.Jobs[0].Length || tr.Jobs[1].Limit != 1000*time.Minute {
		t.Errorf("limits %s and %s", tr.Jobs[0].Limit, tr.Jobs[1].Limit)
	}
}

// FuzzRead: whatever a file holds, every row is a job or counted, and what was
// read runs and is billed.
func FuzzRead(f *testing.F) {
	for _, s := range []string{"", tinyTrace, "\ufeff" + tinyTrace, strings.Join(Columns, ",") + "\nguest,,,,gpu,,1000000000,1000000000,1e9,1e9,1e9,255\nowner,,,,gpu,,,4,1e9,1e9,1,idle\n",
		"vc,gpus,arrival_s_since_vc_first_job,duration_s_estimated\nguest,1,0,9\nguest,1,0,\n",
		"organization,gpu_request,submit_time,duration,job_type,gpu_model\nguest,2,0,60,spot,gpu\n\"\"\"\n"} {
		f.Add(s)
	}
	p := load(f, tinyPool)
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := Read(strings.NewReader(text), p)
		if err != nil {
			if !errors.Is(err, ErrTrace) {
				t.Fatal(err)
			}
			return
		}
		n := len(tr.Jobs)
		for _, s := range tr.Skipped {
			n += s.Rows
		}
		if n != tr.Rows {
			t.Fatalf("%d of %d rows are accounted for", n, tr.Rows)
		}
		if len(tr.Jobs) <= 20 {
			report(t, p, tr.Jobs, Options{Until: pool.Never})
		}
	})
}
