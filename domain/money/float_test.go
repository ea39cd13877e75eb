package money

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// Binary fractions can't hold cents; one of them in these packages and two
// machines print two invoices.
func TestNoFloatInTheSourcesThatDecideMoney(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"../pool", "../money", "../meter", "../rating", "../invoice"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no source: %v", dir, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, at := range floats(t, name) {
				t.Errorf("%s: a float", at)
			}
		}
	}
}

func floats(t *testing.T, name string) (found []token.Position) {
	t.Helper()
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	banned := map[string]bool{"float32": true, "float64": true, "complex64": true, "complex128": true, "Seconds": true, "Minutes": true, "Hours": true, "ParseFloat": true}
	ast.Inspect(f, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.Ident:
			if strings.HasPrefix(x.Name, "float") || strings.HasPrefix(x.Name, "complex") {
				found = append(found, set.Position(x.Pos()))
			}
		case *ast.BasicLit:
			if x.Kind == token.FLOAT || x.Kind == token.IMAG {
				found = append(found, set.Position(x.Pos()))
			}
		case *ast.SelectorExpr:
			if banned[x.Sel.Name] && !isPackage(x.X, "rating") {
				found = append(found, set.Position(x.Pos()))
			}
		case *ast.ImportSpec:
			if x.Path.Value == `"math/big"` {
				found = append(found, set.Position(x.Pos()))
			}
		}
		return true
	})
	return found
}

func isPackage(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}

func TestAFloatWouldBeFound(t *testing.T) {
	t.Parallel()
	if len(floats(t, "testdata/float.go.txt")) != 3 {
		t.Errorf("found %v in a file with a float type, a literal and time.Duration.Hours", floats(t, "testdata/float.go.txt"))
	}
}
