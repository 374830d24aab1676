//go:build renames

package api_test

import (
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestGoFixReplacesEachRenamedName writes a program that uses every old name of
// renames.txt, each in a file of its own, and runs go fix on it.
func TestGoFixReplacesEachRenamedName(t *testing.T) {
	m := newModule(t)
	for i, r := range replaced(t) {
		m.write(fmt.Sprintf("use%d.go", i), use(t, fmt.Sprintf("use%d", i), r))
	}
	m.run("go", "vet", "./...") // the program compiles with the old names
	m.run("go", "fix", "-inline", "./...")
	m.run("go", "vet", "./...")
	for i, r := range replaced(t) {
		if text := m.read(fmt.Sprintf("use%d.go", i)); !mentions(text, r.new) || mentions(text, r.old) {
			t.Errorf("go fix does not replace %s by %s: repair its forwarder, or mark its line of renames.txt manual. The program is now\n%s", r.old, r.new, text)
		}
	}
}

// Where the edits of two replacements overlap, as in a call inside the arguments of
// another, go fix of Go 1.27 changes nothing in the package. The command that
// CHANGELOG.md names for this case applies what it can and is repeated until it succeeds.
func TestInlineCommandReplacesNestedCalls(t *testing.T) {
	const times = 10
	if !slices.Contains(renames(t), rename{module + "mcp/mcpserver.Object", module + "mcp/schema.Object"}) {
		t.Skip("the names that the program nests are no longer replaced")
	}
	m := newModule(t)
	m.write("nested.go", nested)
	m.run("go", "vet", "./...")
	var output []byte
	err := fmt.Errorf("did not run")
	for range times {
		if output, err = m.command(filepath.Join(m.root, "bin", "tools", "inline"), "-fix", "./...").CombinedOutput(); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatalf("inline fails %d times: %v\n%s", times, err, output)
	}
	m.run("go", "vet", "./...")
	text := m.read("nested.go")
	for _, r := range replaced(t) {
		if mentions(text, r.old) {
			t.Errorf("inline does not replace %s in\n%s", r.old, text)
		}
	}
}

const nested = `package moved

import "` + module + `mcp/mcpserver"

var _ = mcpserver.Object(mcpserver.Required("name", mcpserver.String()), mcpserver.Optional("ages", mcpserver.Array(mcpserver.Integer())))
`

// replaced returns the renames that go fix applies.
func replaced(t *testing.T) (list []rename) {
	for _, r := range renames(t) {
		if !r.isManual() {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		t.Skip("renames.txt has no line that go fix applies")
	}
	return list
}

// mentions reports whether a file uses an exported name, given with its import path.
// Of a method or a field it looks for the name alone.
func mentions(text, full string) bool {
	name := full[strings.LastIndex(full, "/")+1:]
	if parts := strings.Split(name, "."); len(parts) == 3 {
		name = "." + parts[2]
	}
	rest := text
	for {
		i := strings.Index(rest, name)
		if i < 0 {
			return false
		}
		rest = rest[i+len(name):]
		if rest == "" || !isLetter(rest[0]) {
			return true
		}
	}
}

func isLetter(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// use returns a file that uses the old name.
func use(t *testing.T, name string, r rename) string {
	t.Helper()
	for _, pkg := range publicPackages(t) {
		path, ok := strings.CutPrefix(r.old, pkg.Path()+".")
		if !ok {
			continue
		}
		imports := make(map[string]bool)
		qualify := func(p *types.Package) string {
			imports[p.Path()] = true
			return p.Name()
		}
		qualify(pkg)
		body := useOf(pkg, path, name, qualify)
		var b strings.Builder
		b.WriteString("package moved\n\n")
		for p := range imports {
			fmt.Fprintf(&b, "import %q\n", p)
		}
		return b.String() + "\n" + body + "\n"
	}
	t.Fatalf("%s is in no public package", r.old)
	return ""
}

// useOf returns a declaration that uses an exported name or a method of a package.
func useOf(pkg *types.Package, path, name string, qualify types.Qualifier) string {
	owner, method, isMethod := strings.Cut(path, ".")
	obj := pkg.Scope().Lookup(owner)
	full := pkg.Name() + "." + owner
	if isMethod {
		found, _, _ := types.LookupFieldOrMethod(types.NewPointer(obj.Type()), true, pkg, method)
		return callOf(found.(*types.Func), name, "receiver *"+full, "receiver."+method, qualify)
	}
	switch obj := obj.(type) {
	case *types.Func:
		return callOf(obj, name, "", full, qualify)
	case *types.TypeName:
		if alias, ok := obj.Type().(*types.Alias); ok && alias.TypeParams().Len() > 0 {
			params, args := typeParams(alias.TypeParams(), qualify)
			return fmt.Sprintf("func %s%s(_ %s%s) {}", name, params, full, args)
		}
		return fmt.Sprintf("func %s(_ %s) {}", name, full)
	}
	return "const " + name + " = " + full
}

// callOf returns a function with the parameters of fn, which calls it.
func callOf(fn *types.Func, name, receiver, callee string, qualify types.Qualifier) string {
	sig := fn.Signature()
	params, arguments := []string{}, []string{}
	if receiver != "" {
		params = append(params, receiver)
	}
	for i := range sig.Params().Len() {
		p, typ := fmt.Sprintf("p%d", i), sig.Params().At(i).Type()
		if slice, ok := typ.(*types.Slice); ok && sig.Variadic() && i == sig.Params().Len()-1 {
			params = append(params, p+" ..."+types.TypeString(slice.Elem(), qualify))
			arguments = append(arguments, p+"...")
			continue
		}
		params = append(params, p+" "+types.TypeString(typ, qualify))
		arguments = append(arguments, p)
	}
	declared, used := typeParams(sig.TypeParams(), qualify)
	result, keyword := "", ""
	if sig.Results().Len() > 0 {
		result, keyword = types.TypeString(sig.Results(), qualify), "return "
	}
	return fmt.Sprintf("func %s%s(%s) %s {\n\t%s%s%s(%s)\n}", name, declared, strings.Join(params, ", "), result,
		keyword, callee, used, strings.Join(arguments, ", "))
}

// typeParams returns type parameters as they are declared and as they are used.
func typeParams(list *types.TypeParamList, qualify types.Qualifier) (declared, used string) {
	if list.Len() == 0 {
		return "", ""
	}
	var decls, names []string
	for p := range list.TypeParams() {
		decls = append(decls, p.Obj().Name()+" "+types.TypeString(p.Constraint(), qualify))
		names = append(names, p.Obj().Name())
	}
	return "[" + strings.Join(decls, ", ") + "]", "[" + strings.Join(names, ", ") + "]"
}

// A userModule is a program of somebody who imports this module.
type userModule struct {
	t    *testing.T
	dir  string
	root string // of this module
}

func newModule(t *testing.T) userModule {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	m := userModule{t, t.TempDir(), root}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		m.write(name, string(text))
	}
	path := strings.TrimSuffix(module, "/")
	m.run("go", "mod", "edit", "-module", "example.com/moved", "-require", path+"@v0.0.0", "-replace", path+"@v0.0.0="+root)
	m.write("doc.go", "package moved\n")
	return m
}

func (m userModule) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.dir, name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

func (m userModule) read(name string) string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.dir, name))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

func (m userModule) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = m.dir
	return cmd
}

func (m userModule) run(name string, args ...string) {
	m.t.Helper()
	cmd := m.command(name, args...)
	if output, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("%s: %v\n%s", cmd, err, output)
	}
}
