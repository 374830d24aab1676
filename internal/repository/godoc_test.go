package repository_test

import (
	"go/ast"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, s := range parseSources(t) {
		if s.isTest() || !isSDK(s.path) {
			continue
		}
		for _, fault := range s.undocumented() {
			t.Errorf("%s is exported without a comment: say its contract (units, defaults, limits, nil, concurrency, errors)", fault)
		}
	}
}

func isSDK(file string) bool {
	return strings.HasPrefix(file, "mcp/") && !strings.Contains(file, "/internal/")
}

// undocumented returns the exported declarations of a file that have no comment.
// A comment on a group holds for the group, and methods whose contract is that of
// a well-known interface need none.
func (s source) undocumented() (found []string) {
	for _, decl := range s.file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Doc == nil && d.Name.IsExported() && !isWellKnownMethod(d) {
				found = append(found, s.at(d)+": "+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if name := undocumentedName(spec); d.Doc == nil && name != "" {
					found = append(found, s.at(spec)+": "+name)
				}
			}
		}
	}
	return found
}

// undocumentedName returns the exported name of a declaration without a comment, or "".
func undocumentedName(spec ast.Spec) string {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Doc == nil && spec.Name.IsExported() {
			return spec.Name.Name
		}
	case *ast.ValueSpec:
		if spec.Doc == nil && spec.Comment == nil && spec.Names[0].IsExported() {
			return spec.Names[0].Name
		}
	}
	return ""
}

// isWellKnownMethod reports whether a method has an unexported receiver, or a name
// that an interface of the standard library gives it.
func isWellKnownMethod(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return false
	}
	receiver := strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*")
	return !ast.IsExported(receiver) || wellKnownMethods.MatchString(d.Name.Name)
}

var wellKnownMethods = regexp.MustCompile(`^(Error|Is|Unwrap|String|GoString|Format|LogValue|(Marshal|Unmarshal)(Text|JSON|JSONTo|JSONFrom))$`)

func TestUndocumentedNamesAreFound(t *testing.T) {
	s := parse(t, "x.go", `package x
		// Documented has a comment.
		type Documented struct{}
		type Bare struct{}
		// A group.
		const (
			One = 1
			Two = 2
		)
		var Err error
		func Func() {}
		func (d *Documented) Method() {}
		func (d *Documented) Error() string { return "" }
		func (h hidden) Method() {}
		func own() {}`)
	want := []string{"x.go:4: Bare", "x.go:10: Err", "x.go:11: Func", "x.go:12: Method"}
	if got := s.undocumented(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
