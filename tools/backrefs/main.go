// Command backrefs shows whether the files of packages can be read from top to bottom, and which types
// are large.
//
//	backrefs [-v] package...
//
// A file refers to another one of its package if it names a function, method, field, type, variable or
// constant that the other one declares. The files are put in an order in which few of these references
// lead back, to a file above; -v prints the order with the references that do.
package main

import (
	"flag"
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	verbose := flag.Bool("v", false, "print the order of the files")
	flag.Parse()
	list, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
	}, flag.Args()...)
	if err != nil || packages.PrintErrors(list) > 0 {
		fmt.Fprintln(os.Stderr, "backrefs: cannot load the packages:", err)
		os.Exit(2)
	}
	for _, p := range list {
		report(p, *verbose)
	}
}

func report(p *packages.Package, verbose bool) {
	refs := references(p)
	var files []string
	for _, f := range p.Syntax {
		files = append(files, fileOf(p, f.Package))
	}
	order := order(files, refs)
	back := refs.back(order)
	fmt.Printf("%s: %d files, %d references between files, %d back (%d %%); methods: %s\n",
		p.PkgPath, len(files), len(refs), len(back), 100*len(back)/max(len(refs), 1), methods(p))
	if !verbose {
		return
	}
	for _, file := range order {
		var up []string
		for _, r := range back {
			if r.from == file {
				up = append(up, r.to)
			}
		}
		fmt.Printf("  %-24s %s\n", file, strings.Join(up, " "))
	}
}

// A reference leads from a file to one that declares something that it names.
type reference struct{ from, to string }

type referenceSet map[reference]bool

func references(p *packages.Package) referenceSet {
	refs := make(referenceSet)
	for name, object := range p.TypesInfo.Uses {
		if object.Pkg() != p.Types || !isDeclared(p, object) {
			continue
		}
		if r := (reference{fileOf(p, name.Pos()), fileOf(p, object.Pos())}); r.from != r.to {
			refs[r] = true
		}
	}
	return refs
}

// isDeclared reports whether an object is one of the package, and not local to a function.
func isDeclared(p *packages.Package, object types.Object) bool {
	switch object := object.(type) {
	case *types.Func:
		return true
	case *types.Var:
		return object.IsField() || object.Parent() == p.Types.Scope()
	case *types.TypeName, *types.Const:
		return object.Parent() == p.Types.Scope()
	}
	return false
}

// back returns the references that lead back in an order of files.
func (refs referenceSet) back(order []string) (back []reference) {
	for r := range refs {
		if slices.Index(order, r.to) < slices.Index(order, r.from) {
			back = append(back, r)
		}
	}
	slices.SortFunc(back, func(a, b reference) int { return strings.Compare(a.from+" "+a.to, b.from+" "+b.to) })
	return back
}

// order returns an order of files in which moving no single one makes fewer references lead back.
func order(files []string, refs referenceSet) []string {
	ordered := slices.Sorted(slices.Values(files))
	for {
		least := len(refs.back(ordered))
		for _, file := range files {
			ordered = place(ordered, file, refs)
		}
		if len(refs.back(ordered)) == least {
			return ordered
		}
	}
}

// place moves a file to where the fewest references lead back; it stays if no place is better.
func place(ordered []string, file string, refs referenceSet) []string {
	at := slices.Index(ordered, file)
	others := slices.Delete(slices.Clone(ordered), at, at+1)
	count := func(from, to string) int {
		if refs[reference{from, to}] {
			return 1
		}
		return 0
	}
	back := make([]int, len(others)+1) // with the file at each place
	for _, other := range others {
		back[0] += count(other, file)
	}
	for i, other := range others {
		back[i+1] = back[i] + count(file, other) - count(other, file)
	}
	if least := slices.Min(back); back[at] > least {
		at = slices.Index(back, least)
	}
	return slices.Insert(others, at, file)
}

// methods names the three types with the most methods.
func methods(p *packages.Package) string {
	number := make(map[string]int)
	for _, name := range p.Types.Scope().Names() {
		declared, ok := p.Types.Scope().Lookup(name).(*types.TypeName)
		if !ok {
			continue
		}
		if named, ok := declared.Type().(*types.Named); ok && named.Obj() == declared {
			number[name] = named.NumMethods()
		}
	}
	names := slices.SortedFunc(maps.Keys(number), func(a, b string) int { return number[b] - number[a] })
	var most []string
	for _, name := range names[:min(3, len(names))] {
		most = append(most, fmt.Sprintf("%s %d", name, number[name]))
	}
	return strings.Join(most, ", ")
}

func fileOf(p *packages.Package, at token.Pos) string {
	return filepath.Base(p.Fset.Position(at).Filename)
}
