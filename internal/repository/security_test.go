package repository_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"testing"
)

// A ban is a name of the standard library that code outside tests must not use, with the
// replacement.
type ban struct {
	imported, name string   // name is empty for all of the package
	instead        string   // completes "use …"
	but            []string // packages that may, each with its reason beside it
}

// guarded replaces the shared clients of net/http, which follow every redirect and the
// proxy of the environment.
const guarded = "a client of mcp/internal/egress or one that the user has given"

var bans = []ban{
	{"net/http", "DefaultClient", guarded, []string{
		"conformance/client", // plays the browser of the official suite
	}},
	{"net/http", "Get", guarded, nil},
	{"net/http", "Head", guarded, nil},
	{"net/http", "Post", guarded, nil},
	{"net/http", "PostForm", guarded, nil},
	{"net/http", "DefaultTransport", guarded, []string{
		"mcp/internal/egress", // copies it
		"mcp/mcptest",         // what it checks are transports of tests
	}},
	{"net/http", "ListenAndServe", "mcpserver's, which sets limits", nil},
	{"html/template", "HTML", "templates that escape", nil},
	{"html/template", "JS", "templates that escape", nil},
	{"html/template", "URL", "templates that escape", nil},
	{"text/template", "", "html/template where a browser reads it, fmt elsewhere", nil},
	{"os/exec", "", "mcp/internal/spawn, which also ends what it starts", []string{
		"mcp/internal/spawn",         // is the one
		"conformance",                // starts the official suite
		"internal/testengine",        // starts engines for tests, and kills them with the test
		"host/notify",                // starts the program of the desktop, for 5 seconds at most
		"host/browser",               // as well
		"host/approval/commandfiles", // looks programs up, and starts none
		"host/policy",                // as well
		"host/doctor",                // asks approved programs for their version, for 10 seconds at most
	}},
	{"math/rand", "", "crypto/rand, or math/rand/v2 where nobody may profit from guessing", nil},
	{"math/rand/v2", "", "crypto/rand", []string{
		"mcp/internal/backoff",    // spreads attempts
		"mcp/internal/durable",    // spreads scans
		"mcp/internal/httpclient", // spreads reconnections
		"mcp/mcpclient",           // spreads reconnections and lists
		"mcp/mcpserver",           // Rand, which handlers ask for and which has to repeat itself
		"mcp/mcptest",             // makes noise that has to repeat itself
	}},
	{"crypto/md5", "", "crypto/sha256", nil},
	{"crypto/sha1", "", "crypto/sha256", []string{
		"host/demo", // has a tool that computes it
	}},
	{"unsafe", "", "nothing", []string{
		"mcp/internal/spawn", // calls Windows
	}},
}

func TestForbiddenFunctionsAreNotUsed(t *testing.T) {
	for _, s := range parseSources(t) {
		if s.isTest() {
			continue
		}
		for _, fault := range slices.Concat(s.banned(), s.unboundedReads(), s.skipsVerification()) {
			t.Error(fault)
		}
	}
}

// banned returns the uses of banned names.
func (s source) banned() (found []string) {
	for _, b := range bans {
		local := s.localName(b.imported)
		if local == "" || slices.Contains(b.but, path.Dir(s.path)) {
			continue
		}
		if b.name == "" {
			found = append(found, fmt.Sprintf("%s imports %s: use %s", s.path, b.imported, b.instead))
			continue
		}
		s.eachSelector(func(x *ast.SelectorExpr) {
			if isName(x, local, b.name) {
				found = append(found, fmt.Sprintf("%s: %s.%s: use %s", s.at(x), local, b.name, b.instead))
			}
		})
	}
	return found
}

// localName returns the name that an import has in the file, or nothing.
func (s source) localName(imported string) string {
	for _, i := range s.file.Imports {
		text, _ := strconv.Unquote(i.Path.Value)
		switch {
		case text != imported:
		case i.Name != nil:
			return i.Name.Name
		case path.Base(imported) == "v2":
			return path.Base(path.Dir(imported))
		default:
			return path.Base(imported)
		}
	}
	return ""
}

func (s source) eachSelector(f func(*ast.SelectorExpr)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if x, ok := n.(*ast.SelectorExpr); ok {
			f(x)
		}
		return true
	})
}

func isName(x *ast.SelectorExpr, pkg, name string) bool {
	id, ok := x.X.(*ast.Ident)
	return ok && id.Name == pkg && x.Sel.Name == name
}

// unboundedReads returns the calls of io.ReadAll in functions that use neither
// io.LimitReader nor http.MaxBytesReader.
func (s source) unboundedReads() (found []string) {
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		limited := false
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			switch {
			case !ok:
			case isName(x, "io", "LimitReader"), isName(x, "http", "MaxBytesReader"):
				limited = true
			}
			return true
		})
		ast.Inspect(f, func(n ast.Node) bool {
			if x, ok := n.(*ast.SelectorExpr); ok && !limited && isName(x, "io", "ReadAll") {
				found = append(found, s.at(x)+": io.ReadAll of something without a bound: use io.LimitReader")
			}
			return true
		})
	}
	return found
}

// skipsVerification returns the places that name InsecureSkipVerify.
func (s source) skipsVerification() (found []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == "InsecureSkipVerify" {
			found = append(found, s.at(id)+": InsecureSkipVerify: certificates are checked outside of tests")
		}
		return true
	})
	return found
}

// ownedElsewhere lists the packages that start goroutines and whose tests need not check
// for leaks, with the reason.
var ownedElsewhere = map[string]string{
	"conformance":    "a program that ends with what it has started; it has no tests",
	"examples/relay": "mcptest.CheckLeaks checks its test",
	"host/cli":       "its tests run each command in a process of its own",
}

// A goroutine without an owner outlives the tests of its package. leak.Main, mcptest.Main
// and mcptest.CheckLeaks find it.
func TestPackagesThatStartGoroutinesCheckForLeaks(t *testing.T) {
	starts, checks := make(map[string]bool), make(map[string]bool)
	for _, s := range parseSources(t) {
		dir := path.Dir(s.path)
		if s.isTest() {
			checks[dir] = checks[dir] || s.checksForLeaks()
			continue
		}
		starts[dir] = starts[dir] || s.startsGoroutines()
	}
	for dir := range starts {
		if starts[dir] && !checks[dir] && ownedElsewhere[dir] == "" {
			t.Errorf("%s starts goroutines, and no test checks for leaks: add func TestMain(m *testing.M) { leak.Main(m) }", dir)
		}
	}
}

func (s source) startsGoroutines() (starts bool) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.SelectorExpr:
			starts = starts || x.Sel.Name == "Go"
		}
		return !starts
	})
	return starts
}

func (s source) checksForLeaks() (checks bool) {
	s.eachSelector(func(x *ast.SelectorExpr) {
		checks = checks || isName(x, "leak", "Main") || isName(x, "mcptest", "Main")
	})
	for _, d := range s.file.Decls { // package leak itself calls it Main
		f, ok := d.(*ast.FuncDecl)
		checks = checks || ok && f.Name.Name == "TestMain" && s.file.Name.Name == "leak"
	}
	return checks
}

func TestSecurityFaultsAreFound(t *testing.T) {
	s := parse(t, "mcp/mcpserver/x.go", `package x
		import ("net/http"; r "math/rand"; "crypto/md5")
		func f() { http.Get(""); http.DefaultClient.Do(nil); r.Int(); md5.New() } // four faults
		func g() { io.ReadAll(body) }
		func h() { io.ReadAll(io.LimitReader(body, 1)) }
		var c = tls.Config{InsecureSkipVerify: true}
		func i() { go f() }`)
	if got := s.banned(); len(got) != 4 {
		t.Errorf("got %q, want 4", got)
	}
	if got := s.unboundedReads(); len(got) != 1 {
		t.Errorf("got %q, want 1", got)
	}
	if got := s.skipsVerification(); len(got) != 1 {
		t.Errorf("got %q, want 1", got)
	}
	if !s.startsGoroutines() || s.checksForLeaks() {
		t.Error("the goroutine of i is not found, or a check for leaks is found where there is none")
	}
	looking := parse(t, "x_test.go", "package x\nfunc TestMain(m *testing.M) { leak.Main(m) }")
	if !looking.checksForLeaks() {
		t.Error("the check for leaks is not found")
	}
}
