package repository_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var revisionDate = regexp.MustCompile(`20\d\d-\d\d-\d\d`)

// mayNameRevisions lists the files whose string literals may contain the date of a
// revision: those that map dates to facts, and the programs that the official suite
// passes a date to.
var mayNameRevisions = []string{"mcp/revision.go", "mcp/internal/dialect/...", "conformance/..."}

func TestRevisionDatesStayInTheDialect(t *testing.T) {
	for _, s := range parseSources(t) {
		if s.isTest() || coveredBy(mayNameRevisions, s.path) {
			continue
		}
		for _, fault := range s.dates() {
			t.Errorf("%s: a revision is named by its date: ask the revision or the dialect for a fact", fault)
		}
	}
}

// mayCompareRevisions lists the files that may compare a revision with a dated one, because they map
// dates to facts.
var mayCompareRevisions = []string{"mcp/revision.go", "mcp/internal/dialect/..."}

func TestCodeAsksForFactsOfRevisions(t *testing.T) {
	for _, s := range parseSources(t) {
		if s.isTest() || coveredBy(mayCompareRevisions, s.path) {
			continue
		}
		for _, fault := range s.comparedRevisions() {
			t.Errorf("%s: a revision is compared with a dated one, so a later one takes the other way: ask for a fact, such as Revision.Stateless", fault)
		}
	}
}

// revisionConstant matches the names of the revisions in package mcp.
var revisionConstant = regexp.MustCompile(`^(V20\d{6}|DraftV1)$`)

// comparedRevisions returns the comparisons with a dated revision: operators, cases, keys of maps, and
// lists that are searched.
func (s source) comparedRevisions() (found []string) {
	check := func(exprs ...ast.Expr) {
		for _, e := range exprs {
			ast.Inspect(e, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && revisionConstant.MatchString(id.Name) {
					found = append(found, fmt.Sprintf("%s: %s", s.at(id), id.Name))
				}
				return true
			})
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				check(n.X, n.Y)
			}
		case *ast.CaseClause:
			check(n.List...)
		case *ast.KeyValueExpr:
			if _, isField := n.Key.(*ast.Ident); !isField {
				check(n.Key)
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Contains" || f.Sel.Name == "Index") {
				check(n.Args...)
			}
		}
		return true
	})
	return found
}

// protocolHeader matches the names of the headers that the protocol defines.
var protocolHeader = regexp.MustCompile(`(?i)^["\x60](mcp-(protocol-version|method|name|param-.*|session-id)|last-event-id)["\x60]$`)

// mayNameHeaders are the places that may spell out those names: the package that
// gives them to the rest, and programs that cannot import it.
var mayNameHeaders = []string{"mcp/internal/httpheader/...", "bench/...", "conformance/...", "examples/...", "host/replica/...", "host/traffic/...", "interop/...", "proof/...", "tools/..."}

func TestHeaderNamesStayInTheirPackage(t *testing.T) {
	for _, s := range parseSources(t) {
		if s.isTest() || coveredBy(mayNameHeaders, s.path) {
			continue
		}
		for _, fault := range s.literals(protocolHeader) {
			t.Errorf("%s: a header of the protocol is spelt out: use the names of mcp/internal/httpheader", fault)
		}
	}
	if found := parse(t, "x.go", "package x\nvar a, b = \"MCP-Session-Id\", \"Mcp-Session\"").literals(protocolHeader); len(found) != 1 {
		t.Errorf("got %q, want the one name of a header", found)
	}
}

// dates returns the string literals of a file that contain a date.
func (s source) dates() []string { return s.literals(revisionDate) }

// literals returns the string literals of a file that match.
func (s source) literals(pattern *regexp.Regexp) (found []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && pattern.MatchString(lit.Value) {
			found = append(found, fmt.Sprintf("%s: %s", s.at(lit), lit.Value))
		}
		return true
	})
	return found
}

func TestSkipsHaveAReason(t *testing.T) {
	for _, s := range parseSources(t) {
		for _, fault := range s.skipsWithoutReason() {
			t.Errorf("%s: a test is skipped without a reason: give Skip what this machine lacks", fault)
		}
	}
}

// skipsWithoutReason returns the calls that skip a test without saying why.
func (s source) skipsWithoutReason() (found []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !isTestReceiver(method.X) {
			return true
		}
		switch method.Sel.Name {
		case "SkipNow":
			found = append(found, s.at(call))
		case "Skip", "Skipf":
			if len(call.Args) == 0 || isEmptyLiteral(call.Args[0]) {
				found = append(found, s.at(call))
			}
		}
		return true
	})
	return found
}

func isTestReceiver(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && slices.Contains([]string{"t", "b", "f", "tb"}, id.Name)
}

func isEmptyLiteral(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && strings.Trim(lit.Value, "\"` ") == ""
}

func TestFaultsInSourcesAreFound(t *testing.T) {
	s := parse(t, "x_test.go", `package x
		// A comment may say 2025-11-25.
		const revision = "2025-11-25"
		type tagged struct { F int `+"`default:\"2024-11-05\"`"+` }
		func f(t *testing.T, d *decoder) {
			t.Skip(); t.SkipNow(); t.Skip("") // three faults
			t.Skip("no Node"); d.Skip()
		}`)
	if got, want := len(s.dates()), 2; got != want {
		t.Errorf("got %d dates, want %d", got, want)
	}
	if got, want := len(s.skipsWithoutReason()), 3; got != want {
		t.Errorf("got %d skips without a reason, want %d", got, want)
	}
	s = parse(t, "x.go", `package x
		var known = map[mcp.Revision]bool{mcp.V20241105: true} // four faults
		func f(r mcp.Revision) bool {
			switch r {
			case mcp.V20250326:
				return slices.Contains([]mcp.Revision{mcp.V20250618}, r)
			}
			o.Revisions = []mcp.Revision{mcp.V20251125}
			return r.String() != mcp.V20260728.String()
		}`)
	if got, want := len(s.comparedRevisions()), 4; got != want {
		t.Errorf("got %d comparisons of revisions, want %d", got, want)
	}
}

// homeDirectory matches a path of a developer's machine.
var homeDirectory = regexp.MustCompile(`(^|[^\w.~-])/(root|work)/`)

func TestNoFileNamesTheMachineItWasWrittenOn(t *testing.T) {
	for _, name := range files(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if homeDirectory.MatchString(line) {
				t.Errorf("%s:%d: %q names a directory of one machine: use a relative path", name, i+1, strings.TrimSpace(line))
			}
		}
	}
}

// A source is one Go file of this module, for any system.
type source struct {
	path string
	fset *token.FileSet
	file *ast.File
}

func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func (s source) at(n ast.Node) string {
	return fmt.Sprintf("%s:%d", s.path, s.fset.Position(n.Pos()).Line)
}

func parseSources(t *testing.T) []source {
	t.Helper()
	var sources []source
	for _, name := range files(t) {
		if path.Ext(name) == ".go" {
			sources = append(sources, parse(t, name, nil))
		}
	}
	return sources
}

func parse(t *testing.T, name string, text any) source {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return source{path: name, fset: fset, file: file}
}

// files returns the files of this module, as slash-separated relative paths.
// Directories with a module of their own and the output of tools are left out.
func files(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && isForeign(name):
			return fs.SkipDir
		case entry.Type().IsRegular() && name != ".git": // a file where the checkout is one of several
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func isForeign(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return isOutput(dir) || dir != "." && err == nil
}

// isOutput reports whether the directory contains the output of tools, which git ignores.
func isOutput(dir string) bool {
	return slices.Contains([]string{".git", "bin", "node_modules"}, filepath.Base(dir))
}

// Decision record 0013: a toolchain line, or a go line without a patch number, would say
// something else to those who import the module than to those who work on it.
func TestGoLinesNameAMinorRelease(t *testing.T) {
	var modules []string
	for _, pattern := range []string{"go.mod", "*/go.mod", "*/*/go.mod"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		modules = append(modules, names...)
	}
	minor := regexp.MustCompile(`(?m)^go 1\.\d+\.0$`)
	for _, name := range modules {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !minor.Match(text) || regexp.MustCompile(`(?m)^toolchain `).Match(text) {
			t.Errorf("%s: want a go line such as go 1.27.0, and no toolchain line", name)
		}
	}
	if len(modules) == 0 {
		t.Error("found no go.mod")
	}
}
