package lang

import (
	"context"
	"testing"
)

func TestTheEnglishSentenceIsItsOwnTranslation(t *testing.T) {
	t.Parallel()
	if got := T(context.Background(), "%d of %d GPUs are free.", 3, 1200); got != "3 of 1,200 GPUs are free." {
		t.Error(got)
	}
	if got := T(context.Background(), "31 %% of the cap"); got != "31 % of the cap" {
		t.Error(got)
	}
	if got := T(context.Background(), "Type “%s” to confirm", "%d <b>"); got != "Type “%d <b>” to confirm" {
		t.Error("an argument was read as a sentence:", got)
	}
}

func TestAnUnknownLanguageSpeaksEnglish(t *testing.T) {
	t.Parallel()
	if got := From(With(context.Background(), "tlh")).Lang(); got != English {
		t.Error(got)
	}
	for _, accept := range []string{"", "fr-FR,fr;q=0.9", "en-GB", ";;;=,"} {
		if got := Match(accept); got != English {
			t.Errorf("%q: %s", accept, got)
		}
	}
}
