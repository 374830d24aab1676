package api_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// describe returns the exported API of a package as text: one line for each
// constant, function, type, variable, field and method, in a stable order.
func describe(pkg *types.Package) string {
	d := description{qualify: types.RelativeTo(pkg)}
	fmt.Fprintf(&d, "package %s // import %q\n\n", pkg.Name(), pkg.Path())
	for _, kind := range []string{"const", "var", "func", "type"} {
		for _, name := range pkg.Scope().Names() {
			if obj := pkg.Scope().Lookup(name); obj.Exported() && kindOf(obj) == kind {
				d.object(obj)
			}
		}
	}
	return d.String()
}

func kindOf(obj types.Object) string {
	switch obj.(type) {
	case *types.Const:
		return "const"
	case *types.Var:
		return "var"
	case *types.Func:
		return "func"
	}
	return "type"
}

type description struct {
	strings.Builder
	qualify types.Qualifier
}

func (d *description) object(obj types.Object) {
	switch obj := obj.(type) {
	case *types.Const:
		fmt.Fprintf(d, "const %s %s = %s\n", obj.Name(), d.typ(obj.Type()), obj.Val().ExactString())
	case *types.Var:
		fmt.Fprintf(d, "var %s %s\n", obj.Name(), d.typ(obj.Type()))
	case *types.Func:
		fmt.Fprintf(d, "func %s%s\n", obj.Name(), d.signature(obj))
	case *types.TypeName:
		d.typeName(obj)
	}
}

func (d *description) typeName(obj *types.TypeName) {
	if alias, ok := obj.Type().(*types.Alias); ok {
		fmt.Fprintf(d, "type %s = %s\n", d.typ(alias), d.typ(alias.Rhs()))
		return
	}
	named := obj.Type().(*types.Named)
	name := obj.Name() + d.typeParams(named.TypeParams())
	switch u := named.Underlying().(type) {
	case *types.Struct:
		fmt.Fprintf(d, "type %s struct\n", name)
		d.fields(u)
	case *types.Interface:
		fmt.Fprintf(d, "type %s interface\n", name)
		d.elements(u)
		return
	default:
		fmt.Fprintf(d, "type %s %s\n", name, d.typ(u))
	}
	d.methods(named)
}

func (d *description) fields(s *types.Struct) {
	for f := range s.Fields() {
		switch {
		case f.Exported() && f.Embedded():
			fmt.Fprintf(d, "\tembeds %s\n", d.typ(f.Type()))
		case f.Exported():
			fmt.Fprintf(d, "\tfield %s %s\n", f.Name(), d.typ(f.Type()))
		}
	}
}

// elements describes an interface. That it has unexported methods is part of the
// API: nobody else can implement it.
func (d *description) elements(i *types.Interface) {
	closed := false
	for m := range i.Methods() {
		if m.Exported() {
			fmt.Fprintf(d, "\tmethod %s%s\n", m.Name(), d.signature(m))
		}
		closed = closed || !m.Exported()
	}
	if closed {
		d.WriteString("\tunexported methods\n")
	}
	for e := range i.EmbeddedTypes() {
		if _, ok := e.Underlying().(*types.Interface); !ok {
			fmt.Fprintf(d, "\tunion %s\n", d.typ(e))
		}
	}
}

// methods describes the methods of a type and of a pointer to it, those included
// that come from embedded fields.
func (d *description) methods(named *types.Named) {
	byValue := types.NewMethodSet(named)
	for m := range types.NewMethodSet(types.NewPointer(named)).Methods() {
		if !m.Obj().Exported() {
			continue
		}
		receiver := "*" + named.Obj().Name()
		if byValue.Lookup(m.Obj().Pkg(), m.Obj().Name()) != nil {
			receiver = named.Obj().Name()
		}
		fmt.Fprintf(d, "\tmethod (%s) %s%s\n", receiver, m.Obj().Name(), d.signature(m.Obj()))
	}
}

// signature is the type of a function without the keyword, with its type
// parameters.
func (d *description) signature(fn types.Object) string {
	return strings.TrimPrefix(d.typ(fn.Type()), "func")
}

func (d *description) typeParams(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	params := make([]string, list.Len())
	for i := range params {
		p := list.At(i)
		params[i] = p.Obj().Name() + " " + d.typ(p.Constraint())
	}
	return "[" + strings.Join(params, ", ") + "]"
}

func (d *description) typ(t types.Type) string { return types.TypeString(t, d.qualify) }

// difference lists the lines that only one of two texts has.
func difference(want, got string) string {
	var b strings.Builder
	was, is := strings.Split(want, "\n"), strings.Split(got, "\n")
	for _, line := range was {
		if !slices.Contains(is, line) {
			fmt.Fprintf(&b, "- %s\n", line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			fmt.Fprintf(&b, "+ %s\n", line)
		}
	}
	return b.String()
}

func TestEachKindOfDeclarationIsDescribed(t *testing.T) {
	const source = `package p
		const Limit = 1 << 20
		const hidden = 1
		var Err error
		func Ask[T ~int | ~string](key string) (T, error) { panic(0) }
		type base struct{}
		func (base) Title() string { return "" }
		type Server struct { base; Name string; n int }
		func (s *Server) Tool[In, Out any](name string, h func(In) Out) *Server { return s }
		type Set[K comparable] map[K]bool
		type Source interface { List() []string; close() }
		type Number interface { ~int | ~float64 }
		type Alias = Server`
	const want = `package p // import "p"

const Limit untyped int = 1048576
var Err error
func Ask[T ~int | ~string](key string) (T, error)
type Alias = Server
type Number interface
	union ~int | ~float64
type Server struct
	field Name string
	method (Server) Title() string
	method (*Server) Tool[In, Out any](name string, h func(In) Out) *Server
type Set[K comparable] map[K]bool
type Source interface
	method List() []string
	unexported methods
`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := new(types.Config).Check("p", fset, []*ast.File{file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(pkg); got != want {
		t.Errorf("got\n%s\nwant\n%s\nwhich differ in\n%s", got, want, difference(want, got))
	}
}
