package api_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A rename is a line of renames.txt: an exported name as go doc takes it, such as
// github.com/fondaco/fondaco/mcp/mcpserver.Tool.Name, and either the name that
// replaces it or "manual: " and what to write instead.
type rename struct{ old, new string }

func (r rename) isManual() bool { return strings.HasPrefix(r.new, "manual: ") }

func renames(t *testing.T) []rename {
	t.Helper()
	text, err := os.ReadFile("renames.txt")
	if err != nil {
		t.Fatal(err)
	}
	var all []rename
	for line := range strings.Lines(string(text)) {
		old, new, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !ok || !strings.HasPrefix(old, module) || new == "" || strings.Contains(new, "\t") {
			t.Errorf("renames.txt: %q: want the old name with its import path, a tab, and the new name or \"manual: \" with what to write", line)
		}
		all = append(all, rename{old, new})
	}
	return all
}

// TestRenamesMatchTheForwarders shows that go fix can replace each name that is not marked
// manual, and that each forwarder is in the list.
func TestRenamesMatchTheForwarders(t *testing.T) {
	packages := publicPackages(t)
	listed := make(map[string]bool)
	forwarders := forwarders(t)
	for _, r := range renames(t) {
		if listed[r.old] {
			t.Errorf("renames.txt: %s is there twice: want one line", r.old)
		}
		listed[r.old] = true
		if r.isManual() {
			continue
		}
		if !slices.Contains(forwarders, r.old) {
			t.Errorf("renames.txt: %s has no declaration with \"Deprecated:\" and //go:fix inline: add one, or mark the line manual", r.old)
		}
		if !exists(packages, r.new) {
			t.Errorf("renames.txt: %s is replaced by %s, which is not exported", r.old, r.new)
		}
	}
	for _, name := range forwarders {
		if !listed[name] {
			t.Errorf("%s has //go:fix inline: add a line to renames.txt", name)
		}
	}
}

// exists reports whether a name with its import path is an exported declaration,
// field or method.
func exists(packages map[string]*types.Package, full string) bool {
	for _, pkg := range packages {
		path, ok := strings.CutPrefix(full, pkg.Path()+".")
		if !ok {
			continue
		}
		name, member, isMember := strings.Cut(path, ".")
		obj := pkg.Scope().Lookup(name)
		if obj == nil || !isMember {
			return obj != nil
		}
		found, _, _ := types.LookupFieldOrMethod(obj.Type(), true, pkg, member)
		return found != nil
	}
	return false
}

// forwarders returns the exported declarations of the public packages that go fix
// replaces and that are deprecated.
func forwarders(t *testing.T) []string {
	t.Helper()
	var names []string
	add := func(dir, name string, doc *ast.CommentGroup) {
		if doc == nil || !slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return c.Text == "//go:fix inline" }) {
			return
		}
		name = module + filepath.ToSlash(dir) + "." + name
		if !strings.Contains(doc.Text(), "\nDeprecated: ") {
			t.Errorf("%s has //go:fix inline: its comment has to say \"Deprecated: use …\" in a paragraph of its own", name)
		}
		names = append(names, name)
	}
	err := filepath.WalkDir("../mcp", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "internal" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := strings.TrimPrefix(filepath.Dir(path), ".."+string(filepath.Separator))
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				add(dir, receiver(decl)+decl.Name.Name, decl.Doc)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						add(dir, spec.Name.Name, cmpDoc(spec.Doc, decl.Doc))
					case *ast.ValueSpec:
						add(dir, spec.Names[0].Name, cmpDoc(spec.Doc, decl.Doc))
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// receiver returns the name of a method's type and a dot, or "".
func receiver(decl *ast.FuncDecl) string {
	if decl.Recv == nil {
		return ""
	}
	expr := decl.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name + "."
		default:
			return ""
		}
	}
}

func cmpDoc(own, group *ast.CommentGroup) *ast.CommentGroup {
	if own != nil {
		return own
	}
	return group
}
