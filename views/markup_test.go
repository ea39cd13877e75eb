package views

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// What the content security policy forbids would silently not work in a browser, so it must not be written.
func TestNothingIsInline(t *testing.T) {
	t.Parallel()
	doc, _ := render(t, gallery())
	doc.Find("*").Each(func(_ int, s *goquery.Selection) {
		for _, a := range s.Nodes[0].Attr {
			if a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has the attribute %s", goquery.NodeName(s), a.Key)
			}
			if a.Key == "href" && strings.HasPrefix(a.Val, "javascript:") {
				t.Errorf("<%s> has a script as its address", goquery.NodeName(s))
			}
		}
	})
	doc.Find("script").Each(func(_ int, s *goquery.Selection) {
		if s.Text() != "" || s.AttrOr("src", "") == "" {
			t.Error("a script stands in the page")
		}
	})
	if doc.Find("style").Length() > 0 {
		t.Error("a style stands in the page")
	}
}

func TestEveryReferenceOfThePageHasItsTarget(t *testing.T) {
	t.Parallel()
	doc, _ := render(t, gallery())
	ids := map[string]int{}
	doc.Find("[id]").Each(func(_ int, s *goquery.Selection) { ids[s.AttrOr("id", "")]++ })
	for id, n := range ids {
		if n > 1 {
			t.Errorf("the id %q stands %d times", id, n)
		}
	}
	for _, attribute := range []string{"aria-labelledby", "aria-describedby", "for"} {
		doc.Find("[" + attribute + "]").Each(func(_ int, s *goquery.Selection) {
			for _, id := range strings.Fields(s.AttrOr(attribute, "")) {
				if ids[id] == 0 {
					t.Errorf("%s=%q leads nowhere", attribute, id)
				}
			}
		})
	}
	doc.Find("[data-bind]").Each(func(_ int, s *goquery.Selection) {
		if s.AttrOr("id", "") == "" {
			t.Errorf("a live region %q has no id, so the script cannot replace it", s.AttrOr("data-bind", ""))
		}
	})
}

func TestEveryControlHasAName(t *testing.T) {
	t.Parallel()
	doc, _ := render(t, gallery())
	doc.Find("input:not([type=hidden]), select, textarea").Each(func(_ int, s *goquery.Selection) {
		id := s.AttrOr("id", "")
		if s.Closest("label").Length() == 0 && (id == "" || doc.Find(`label[for="`+id+`"]`).Length() == 0) {
			t.Errorf("the control %q has no label", s.AttrOr("name", ""))
		}
	})
}

func TestEveryPostCarriesANonce(t *testing.T) {
	t.Parallel()
	doc, _ := render(t, gallery())
	posts := doc.Find(`form[method="post"]`)
	if posts.Length() < 4 {
		t.Fatalf("the gallery has only %d forms", posts.Length())
	}
	posts.Each(func(_ int, s *goquery.Selection) {
		if s.Find(`input[name="nonce"]`).AttrOr("value", "") == "" {
			t.Errorf("the form to %q has no nonce", s.AttrOr("action", ""))
		}
	})
}

func TestTheFrameLeavesOutWhatAPageDoesNotHave(t *testing.T) {
	t.Parallel()
	doc, _ := render(t, in(Layout(Page{Title: "Sign in", Home: "/", Plain: true})))
	for _, absent := range []string{"nav.side", "aside.demo", "details.menu", "live-feed", ".heading", "nav.tabs", "nav.crumbs", "main form"} {
		if doc.Find(absent).Length() > 0 {
			t.Errorf("a bare page shows %s", absent)
		}
	}
	if got := doc.Find("title").Text(); got != "Sign in · GPU Pool" {
		t.Errorf("title %q", got)
	}
	if doc.Find("a.skip").AttrOr("href", "") != "#main" || doc.Find("main#main").Length() != 1 {
		t.Error("the skip link does not lead to the content")
	}
}

func TestTheRunningSpeedOfTheDemoIsPressed(t *testing.T) {
	t.Parallel()
	doc, _ := render(t, gallery())
	if got := doc.Find(`.demo [aria-pressed="true"]`).Text(); got != "60x" {
		t.Errorf("pressed is %q", got)
	}
}
