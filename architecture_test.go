package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "gpupool"

// pure are the packages without a clock, a network or a database.
var pure = []string{"domain/pool", "domain/money", "domain/meter", "domain/quota", "domain/rating", "domain/invoice", "domain/replay"}

// edges is who may import which of our own packages. A package that isn't here
// is unknown, which is an error.
var edges = map[string][]string{
	"":                       {"*"}, // package main puts the parts together
	"domain/pool":            {},
	"domain/money":           {"domain/pool"},
	"domain/meter":           {"domain/pool"},
	"domain/quota":           {"domain/pool", "domain/money"},
	"domain/rating":          {"domain/pool", "domain/money", "domain/meter"},
	"domain/invoice":         {"domain/pool", "domain/money", "domain/rating"},
	"domain/replay":          pure,
	"domain":                 pure,
	"domain/domaintest":      append([]string{"domain", "domain/store", "domain/store/storetest"}, pure...),
	"domain/store":           append([]string{"domain", "migrations"}, pure...),
	"domain/store/storetest": append([]string{"domain", "domain/store", "domain/domaintest", "migrations"}, pure...),
	"migrations":             {},
	"nomad":                  {"domain", "domain/pool", "domain/money"},
	"nomad/embedded":         {"domain", "domain/pool", "domain/money"},
	"nomad/agent":            {}, // a program for the nodes: its wire type is its own
	"billing":                {"domain", "domain/pool", "domain/money"},
	"billing/billingtest":    {"domain", "domain/pool", "domain/money", "billing"},
	"web":                    append([]string{"domain", "views", "views/ui", "views/lang", "static"}, pure...),
	"views":                  {"domain/money", "static", "views/ui", "views/lang"},
	"views/ui":               {"domain/money", "static", "views/lang"},
	"views/lang":             {},
	"static":                 {},
}

// testOnly are packages that stand in for something; only test files and each
// other may import them. The embedded cluster is also the demo's.
var testOnly = []string{"domain/domaintest", "domain/store/storetest", "billing/billingtest"}

// inTests is what test files may import beyond their package's own edges; the
// store, because what storetest opens is of its type.
var inTests = append([]string{"nomad/embedded", "domain/store"}, testOnly...)

// homes are the only packages that may import a library, longest prefix first
// where one lies in another. A library that isn't here has no home.
var homes = []struct {
	library string
	in      []string
}{
	{"gorm.io", []string{"domain/store", "domain/store/storetest"}},
	{"github.com/libtnb/sqlite", []string{"domain/store"}},
	{"github.com/jackc/pgx", []string{"domain/store", "domain/store/storetest"}},
	{"modernc.org/sqlite", []string{"domain/store", "nomad/embedded"}},
	{"github.com/pressly/goose", []string{"migrations", "domain/store"}},
	{"github.com/stripe/stripe-go", []string{"billing", "billing/billingtest"}},
	{"github.com/hashicorp/nomad/api", []string{"nomad"}},
	{"github.com/NVIDIA/go-nvml", []string{"nomad/agent"}},
	{"github.com/labstack/echo", []string{"web"}},
	{"github.com/alexedwards/scs", []string{"web"}},
	{"github.com/alexedwards/argon2id", []string{"web"}},
	{"codeberg.org/go-pdf/fpdf", []string{"web"}},
	{"github.com/xuri/excelize", []string{"web"}},
	{"github.com/wneessen/go-mail", []string{"web"}},
	{"github.com/a-h/templ", []string{"views", "views/ui", "web"}},
	{"github.com/spf13/cobra", []string{""}},
	{"github.com/spf13/pflag", []string{""}},
	{"github.com/caarlos0/env", []string{""}},
	{"github.com/prometheus", []string{"web", ""}},
	{"github.com/bojanz/currency", []string{"domain/money", "views", "web"}},
	{"golang.org/x/text", []string{"views", "views/ui", "views/lang", "web"}},
	{"golang.org/x/time", []string{"web"}},
}

// testLibraries may stand in any test file.
var testLibraries = []string{
	"github.com/google/go-cmp", "pgregory.net/rapid", "go.uber.org/goleak", "github.com/PuerkitoBio/goquery",
	"github.com/chromedp", "github.com/getkin/kin-openapi",
	"github.com/hashicorp/nomad/api", // the real client in front of the embedded cluster
}

// listed is what `go list -json` says of a package.
type listed struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	TestImports  []string
	XTestImports []string
	CgoFiles     []string
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	t.Parallel()
	pkgs, err := list(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range violations(pkgs) {
		t.Error(v)
	}
}

// The rules themselves, tried on packages that break them.
func TestForbiddenImportsAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		sentence string
		pkg      listed
		want     string // part of the finding; empty: none
	}{
		{"the core may use money", listed{ImportPath: "gpupool/domain", Imports: []string{"context", "gpupool/domain/money"}}, ""},
		{"an unknown package", listed{ImportPath: "gpupool/utils"}, "gpupool/utils is not in the architecture"},
		{"the core must not know its store", listed{ImportPath: "gpupool/domain", Imports: []string{"gpupool/domain/store"}}, "may not import gpupool/domain/store"},
		{"web must not know the cluster", listed{ImportPath: "gpupool/web", Imports: []string{"gpupool/nomad"}}, "may not import gpupool/nomad"},
		{"the leaf imports nothing", listed{ImportPath: "gpupool/domain/pool", Imports: []string{"gpupool/domain/money"}}, "may not import"},
		{"gorm outside its home", listed{ImportPath: "gpupool/web", Imports: []string{"gorm.io/gorm"}}, "not a home of gorm.io"},
		{"a library without a home", listed{ImportPath: "gpupool/web", Imports: []string{"example.org/left-pad"}}, "example.org/left-pad has no home"},
		{"a test may use the embedded cluster", listed{ImportPath: "gpupool/domain", TestImports: []string{"gpupool/nomad/embedded", "pgregory.net/rapid"}}, ""},
		{"what is no test may not", listed{ImportPath: "gpupool/domain", Imports: []string{"gpupool/nomad/embedded"}}, "may not import"},
		{"main must not ship a double", listed{ImportPath: "gpupool", Imports: []string{"gpupool/billing/billingtest"}}, "may not import"},
		{"main must not link the node's program", listed{ImportPath: "gpupool", Imports: []string{"gpupool/nomad/agent"}}, "may not import"},
		{"a property test in the product", listed{ImportPath: "gpupool/domain", Imports: []string{"pgregory.net/rapid"}}, "has no home"},
		{"cgo outside the agent", listed{ImportPath: "gpupool/web", CgoFiles: []string{"x.go"}}, "uses cgo"},
	}
	for _, tt := range tests {
		t.Run(tt.sentence, func(t *testing.T) {
			t.Parallel()
			found := violations([]listed{tt.pkg})
			switch {
			case tt.want == "" && len(found) > 0:
				t.Errorf("found %q", found)
			case tt.want != "" && (len(found) != 1 || !strings.Contains(found[0], tt.want)):
				t.Errorf("found %q, want %q", found, tt.want)
			}
		})
	}
}

func violations(pkgs []listed) []string {
	var out []string
	for _, p := range pkgs {
		name := short(p.ImportPath)
		if _, known := edges[name]; !known {
			out = append(out, p.ImportPath+" is not in the architecture")
			continue
		}
		if len(p.CgoFiles) > 0 {
			out = append(out, p.ImportPath+" uses cgo, which only a library of nomad/agent may")
		}
		for _, i := range p.Imports {
			out = append(out, judge(name, i, false)...)
		}
		for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
			out = append(out, judge(name, i, true)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// judge one import of one package.
func judge(name, imported string, test bool) []string {
	if imported == "C" || !strings.Contains(strings.Split(imported, "/")[0], ".") && !ours(imported) {
		return nil // the standard library
	}
	from := strings.TrimSuffix(module+"/"+name, "/")
	if ours(imported) {
		if !mayImport(name, short(imported), test) {
			return []string{fmt.Sprintf("%s may not import %s", from, imported)}
		}
		return nil
	}
	if test && slices.ContainsFunc(testLibraries, func(l string) bool { return within(imported, l) }) {
		return nil
	}
	for _, h := range homes {
		if !within(imported, h.library) {
			continue
		}
		if !slices.Contains(h.in, name) {
			return []string{fmt.Sprintf("%s is not a home of %s", from, h.library)}
		}
		return nil
	}
	return []string{fmt.Sprintf("%s has no home, %s imports it", imported, from)}
}

func mayImport(name, imported string, test bool) bool {
	if imported == name || test && slices.Contains(inTests, imported) {
		return true
	}
	if name == "" {
		// The agent would bring cgo, a double would bring itself.
		return imported != "nomad/agent" && !slices.Contains(testOnly, imported)
	}
	return slices.Contains(edges[name], imported)
}

func ours(path string) bool { return within(path, module) }
func short(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}
func within(path, root string) bool { return path == root || strings.HasPrefix(path, root+"/") }

func list(t *testing.T) ([]listed, error) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Standard,Imports,TestImports,XTestImports,CgoFiles", "./...").Output()
	if err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) {
			return nil, fmt.Errorf("go list: %w: %s", err, e.Stderr)
		}
		return nil, err
	}
	var pkgs []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 10 {
		return nil, fmt.Errorf("go list found %d packages only", len(pkgs))
	}
	return pkgs, nil
}
