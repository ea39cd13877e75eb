package quota

import (
	"os"
	"strings"
	"testing"
)

func TestEveryPublicCaseComesOutRight(t *testing.T) {
	t.Parallel()
	f, err := os.Open("testdata/quota_cases.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	results, err := RunCases(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 15 {
		t.Errorf("%d cases, want 15", len(results))
	}
	for _, r := range results {
		for _, d := range r.Diffs {
			t.Errorf("%s (%s): %s", r.ID, r.Title, d)
		}
	}
}

func TestACaseThatComesOutWrongSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	file := `{"more_cases":[{"id":"x","classes":{"gpu":4},"orgs":[{"name":"A","quota":{"gpu":{"nominal":2}}}],
		"pending":[{"id":"a","owner":"A","classes":["gpu"],"units":2},{"id":"b","owner":"A","classes":["gpu"],"units":8}],
		"expect":{"admit":[],"preempt":["z"],"hold":{"b":"QUOTA_FULL","a":"CLASS_FULL"},"admit_total_units":{"A":3}},
		"settled":{"running":["b"],"max_preemptions":0}},
		{"id":"y","orgs":[],"pending":[{"id":"a","owner":"nobody","classes":["gpu"],"units":1}]}]}`
	results, err := RunCases(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	if got := len(results[0].Diffs); got != 6 {
		t.Errorf("%d differences, want 6: %v", got, results[0].Diffs)
	}
	if len(results[1].Diffs) != 1 {
		t.Errorf("an unknown owner gives %v", results[1].Diffs)
	}
	if _, err := RunCases(strings.NewReader("[")); err == nil {
		t.Error("half a file is read without an error")
	}
}
