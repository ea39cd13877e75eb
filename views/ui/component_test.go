package ui

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"
)

func show(t *testing.T, c templ.Component) *goquery.Document {
	t.Helper()
	var out bytes.Buffer
	if err := c.Render(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestARefusedFieldComesBackAsTypedWithItsSentence(t *testing.T) {
	t.Parallel()
	typed := `"><script>alert(1)</script> 🦙 微调`
	f := Field{Name: "name", Label: "Name", Hint: "Letters.", Value: typed, Error: "Use letters only.", Unit: "GPUs", Options: []Option{{Value: typed, Label: "odd"}}}
	for name, c := range map[string]templ.Component{"input": f.Text(), "input[inputmode=decimal]": f.Number(), "textarea": f.TextArea(), "select": f.Select()} {
		doc := show(t, c)
		control := doc.Find(name)
		value := control.AttrOr("value", control.Text())
		if name == "select" {
			value = control.Find("option[selected]").AttrOr("value", "")
		}
		if value != typed {
			t.Errorf("%s: value %q", name, value)
		}
		if control.AttrOr("aria-invalid", "") != "true" || !strings.Contains(control.AttrOr("aria-describedby", ""), "f-name-error") {
			t.Errorf("%s: the error is not bound to the control", name)
		}
		if got := strings.TrimSpace(doc.Find("#f-name-error").Text()); got != "Use letters only." {
			t.Errorf("%s: error %q", name, got)
		}
		if doc.Find("script").Length() > 0 {
			t.Errorf("%s: what was typed became markup", name)
		}
	}
}

func TestTheSummaryLeadsToEachRefusedField(t *testing.T) {
	t.Parallel()
	doc := show(t, ErrorSummary(Errors(Field{Name: "a", Label: "A", Error: "Too long."}, Field{Name: "b", Label: "B"}, Field{Name: "c", ID: "other", Label: "C", Error: "Empty."})))
	var links []string
	doc.Find("a").Each(func(_ int, s *goquery.Selection) { links = append(links, s.AttrOr("href", "")+" "+s.Text()) })
	if got := strings.Join(links, "|"); got != "#f-a A: Too long.|#other C: Empty." {
		t.Error(got)
	}
	if show(t, ErrorSummary(nil)).Find("[role=alert]").Length() > 0 {
		t.Error("a form without errors shows a summary")
	}
}

func TestRadioChecksTheAnswerAndSaysItsConsequence(t *testing.T) {
	t.Parallel()
	doc := show(t, Field{Name: "tier", Label: "Tier", Value: "spot", Options: []Option{{Value: "burst", Label: "Flexible"}, {Value: "spot", Label: "Spot", Hint: "May stop.", Aside: "0.80 EUR"}}}.Radio())
	if got := doc.Find("input[checked]").AttrOr("value", ""); got != "spot" {
		t.Errorf("checked is %q", got)
	}
	if doc.Find("fieldset > legend").Text() != "Tier" {
		t.Error("the question is not the legend")
	}
}

func TestATableWithoutRowsSaysWhatToDoNext(t *testing.T) {
	t.Parallel()
	table := Table{ID: "jobs", Caption: "Jobs", CSV: "/jobs.csv", Columns: []Column{{Label: "Job"}}, Empty: Empty{Title: "No jobs yet", Link: Link{"Submit one", "/jobs/new"}}}
	doc := show(t, table.Show())
	if doc.Find("table").Length() != 0 || doc.Find(".empty a").AttrOr("href", "") != "/jobs/new" {
		t.Error("the empty state is missing")
	}
	table.Rows = []Row{{Cells: []Cell{{Text: "a", Head: true}}}}
	doc = show(t, table.Show())
	if doc.Find("caption").Text() != "Jobs" || doc.Find("a.csv").AttrOr("href", "") != "/jobs.csv" || strings.TrimSpace(doc.Find(`tbody th[scope="row"]`).Text()) != "a" {
		t.Error("the filled table lacks its caption, its CSV or its row heading")
	}
	if r := doc.Find(".scroll"); r.AttrOr("tabindex", "") != "0" || r.AttrOr("role", "") != "region" {
		t.Error("the table cannot be scrolled by keyboard")
	}
}

func TestAPagerAtTheEndHasNoNext(t *testing.T) {
	t.Parallel()
	doc := show(t, Pager{Summary: "51 to 60 of 60", Prev: "?before=51"}.Show())
	if doc.Find("[rel=next]").Length() != 0 || doc.Find("[rel=prev]").Length() != 1 {
		t.Error("wrong links")
	}
	if show(t, Pager{}.Show()).Find("nav").Length() != 0 {
		t.Error("an empty pager shows")
	}
}

func TestABadgeNeverSpeaksByColourAlone(t *testing.T) {
	t.Parallel()
	for state := range states {
		doc := show(t, StateBadge(state, "Word").Show())
		if !strings.Contains(doc.Text(), "Word") || doc.Find("svg").Length() != 1 {
			t.Errorf("%s has no word or no shape", state)
		}
	}
	for _, b := range []Badge{StateBadge("unheard of", "New"), TierBadge("?", "New"), CoverBadge("?", "New")} {
		if b.Label != "New" || !strings.Contains(b.Class, "tone-neutral") {
			t.Errorf("an unknown code gives %+v", b)
		}
	}
	if got := show(t, CoverBadge("loan", "4 loan").Show()).Find(".mark").Text(); got != "L" {
		t.Errorf("mark %q", got)
	}
}

func TestADestructiveActNamesWhatIsLost(t *testing.T) {
	t.Parallel()
	doc := show(t, Confirm{ID: "end", Label: "End", Title: "End it?", Loses: []string{"The queue."}, Action: "/end", Nonce: "n", Do: "End it", TypeIt: "rheinau", Error: "The name does not match.", Fields: []Value{{"id", "7"}}}.Show())
	if doc.Find("details").AttrOr("open", "no") == "no" {
		t.Error("a refused confirmation is folded away")
	}
	if doc.Find("li").Text() != "The queue." || doc.Find(`[name="confirm"]`).Length() != 1 || doc.Find(`[name="id"]`).AttrOr("value", "") != "7" {
		t.Error("the question is incomplete")
	}
	if !strings.Contains(doc.Find("button.danger").Text(), "End it") {
		t.Error("the button does not say what it does")
	}
}

func TestAQuoteShowsARefusalInsteadOfAPrice(t *testing.T) {
	t.Parallel()
	doc := show(t, Quote{AtMost: "38.40 EUR", Refused: "Over the cap."}.Show())
	if doc.Find(".at-most").Length() != 0 || !strings.Contains(doc.Text(), "Over the cap.") {
		t.Error("a refused quote shows a price")
	}
	if got := show(t, Quote{AtMost: "38.40 EUR"}.Show()).Find("#quote .at-most strong").Text(); got != "38.40 EUR" {
		t.Error(got)
	}
}

// Every picture that code or a template names must be in the sprite.
func TestEveryIconIsInTheSprite(t *testing.T) {
	t.Parallel()
	sprite, err := os.ReadFile("../../static/icons.svg")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range states {
		names = append(names, l.icon)
	}
	for _, tone := range []Tone{Neutral, Info, Good, Warn, Bad} {
		names = append(names, ToneBadge(tone, "").Icon)
	}
	for _, tier := range []string{"guaranteed", "burst", "spot"} {
		names = append(names, TierBadge(tier, "").Icon)
	}
	err = filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".templ" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, part := range strings.Split(string(text), `Icon("`)[1:] {
			name, _, _ := strings.Cut(part, `"`)
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) < 40 {
		t.Fatalf("only %d icons found", len(names))
	}
	for _, name := range names {
		if !bytes.Contains(sprite, []byte(`<symbol id="`+name+`"`)) {
			t.Errorf("no icon %q", name)
		}
	}
}
