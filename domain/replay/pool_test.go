package replay

import (
	"errors"
	"strings"
	"testing"

	"gpupool/domain/pool"
)

func TestAPoolFileThatCanNotBeUsedNamesTheField(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ sentence, old, new, says string }{
		{"no JSON", tinyPool, "classes: gpu", "invalid character"},
		{"an empty file", tinyPool, "", "EOF"},
		{"two pools", `"trace": {"start": "2026-03-01T00:00:00Z"}}`, `"trace": {}} {}`, "more after the closing brace"},
		{"a field that there is not", `"name": "Tiny"`, `"nome": "Tiny"`, `unknown field "nome"`},
		{"a number where text belongs", `"fee": "100.00"`, `"fee": 100`, "fee"},
		{"an unknown currency", `"EUR"`, `"XAU"`, "currency: "},
		{"no currency", `"EUR"`, `""`, "currency: "},
		{"an unknown zone", `"UTC"`, `"Mars/Base"`, `zone: "Mars/Base"`},
		{"the machine's own zone", `"UTC"`, `"Local"`, `zone: "Local"`},
		{"a notice without a unit", `"0s"`, `"600"`, `"600" is not a duration`},
		{"a notice of centuries", `"0s"`, `"2562047h"`, `"2562047h" is not a duration`},
		{"a negative notice", `"0s"`, `"-10m"`, `"-10m" is not a duration`},
		{"no class", `[{"id": "gpu", "name": "GPU"}]`, `[]`, "classes: "},
		{"a class in capitals", `{"id": "gpu", "name": "GPU"}`, `{"id": "GPU", "name": "GPU"}`, "classes[0].id"},
		{"a class twice", `{"id": "gpu", "name": "GPU"}`, `{"id": "gpu"}, {"id": "gpu"}`, "classes[1].id"},
		{"a node of no class", `"class": "gpu", "gpus": 4`, `"class": "tpu", "gpus": 4`, "nodes[0].class"},
		{"a node without GPUs", `"gpus": 4`, `"gpus": 0`, "nodes[0]: "},
		{"more GPUs than are counted", `"gpus": 4`, `"gpus": 1024, "count": 100000`, "nodes[0]: more than"},
		{"a node twice", `"gpus": 4}`, `"gpus": 4}, {"name": "node", "class": "gpu", "gpus": 1}`, `nodes: the name "node"`},
		{"a plan twice", `"id": "own"`, `"id": "guest"`, "plans[1].id"},
		{"a plan for no class", `"classes": {"gpu": {"guaranteed": 4`, `"classes": {"tpu": {"guaranteed": 4`, "plans[0].classes[tpu]"},
		{"a negative quota", `"guaranteed": 4`, `"guaranteed": -4`, "plans[0].classes[gpu]"},
		{"hours beyond all", `"included_hours": 1`, `"included_hours": 9223372036854775807`, "plans[0].classes[gpu]"},
		{"a fee that is no amount", `"100.00"`, `"a lot"`, "plans[0].fee"},
		{"a negative fee", `"100.00"`, `"-1"`, "plans[0].fee"},
		{"a fee in tenths of cents", `"100.00"`, `"100.001"`, "plans[0].fee"},
		{"a member on no plan", `"plan": "own"`, `"plan": "none"`, "organisations[0].plan"},
		{"a member without an identifier", `{"id": "owner"`, `{"id": ""`, "organisations[0].id"},
		{"a member twice", `{"id": "guest", "name": "Guest", "plan"`, `{"id": "owner", "name": "Guest", "plan"`, "organisations[1].id"},
		{"a tenant of two members", `"Gäste"`, `"owner"`, "organisations[1].trace"},
		{"a project of two members", `"trace": ["Gäste"]`, `"projects": [{"id": "owner"}]`, "organisations[1].projects[0].id"},
		{"a price for no class", `"class": "gpu", "cover": "own"`, `"class": "tpu", "cover": "own"`, "prices[0].rows[0].class"},
		{"a price for no cover", `"cover": "own"`, `"cover": "rent"`, "prices[0].rows[0]: cover"},
		{"a price that is none", `"2.00"`, `"NaN"`, "prices[0].rows[0]: price"},
		{"a lender's share above all", `"1.00", "lender_share_bp": 6000`, `"1.00", "lender_share_bp": 10001`, "prices[0].rows[1].lender_share_bp"},
		{"a window of no day", `"price": "0.50"`, `"price": "0.50", "window": "22:00-30:00"`, "prices[0].rows[2]: window"},
		{"a window with something after it", `"price": "0.50"`, `"price": "0.50", "window": "22:00-06:00 or so"`, "prices[0].rows[2]: window"},
		{"minutes beyond the hour", `"price": "0.50"`, `"price": "0.50", "window": "22:75-06:00"`, "prices[0].rows[2]: window"},
		{"price lists in the wrong order", `"prices": [`, `"prices": [{"id": "a"}, {"id": "b", "from": "2026-05-01T00:00:00Z"}, {"id": "c", "from": "2026-04-01T00:00:00Z"}, `, "prices[2].from"},
		{"a second price list without a date", `"prices": [`, `"prices": [{"id": "a"}, {"id": "b"}, `, "prices[1].from"},
		{"an unknown tier", `"trace": {`, `"trace": {"tiers": {"HP": "gold"}, `, `trace.tiers["HP"]`},
		{"a class of the trace that there is not", `"trace": {`, `"trace": {"classes": {"A10": "a10"}, `, `trace.classes["A10"]`},
		{"negative days", `"trace": {`, `"trace": {"days": -1, `, "trace.days"},
		{"a factor beyond all", `"trace": {`, `"trace": {"synthetic_limit_factor": 1001, `, "trace.synthetic_limit_factor"},
		{"a start that is no time", `"2026-03-01T00:00:00Z"`, `"yesterday"`, "trace.start"},
	} {
		text := strings.Replace(tinyPool, tt.old, tt.new, 1)
		if text == tinyPool {
			t.Fatalf("%s: changes nothing", tt.sentence)
		}
		_, err := LoadPool(strings.NewReader(text))
		if !errors.Is(err, ErrPool) || !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; want %s", tt.sentence, err, tt.says)
		}
	}
}

// FuzzLoadPool: a pool that is accepted runs and is billed.
func FuzzLoadPool(f *testing.F) {
	f.Add(tinyPool)
	f.Add(strings.Replace(tinyPool, `"0s"`, `"8760h"`, 1))
	f.Add(strings.Replace(tinyPool, `"100.00"`, `"99999999999"`, 1))
	f.Add(strings.Replace(tinyPool, `"notice"`, `"setup": "8760h", "minimum_run": "8760h", "notice"`, 1))
	f.Add(strings.Replace(tinyPool, "2026-03-01T00", "9999-12-31T23", 1))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := LoadPool(strings.NewReader(text))
		if err != nil {
			if !errors.Is(err, ErrPool) {
				t.Fatal(err)
			}
			return
		}
		tr, err := Read(strings.NewReader(tinyTrace), p)
		if err != nil {
			t.Fatal(err)
		}
		report(t, p, tr.Jobs, Options{Until: pool.Never})
	})
}
