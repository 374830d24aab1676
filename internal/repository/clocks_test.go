package repository_test

import (
	"go/ast"
	"go/build/constraint"
	"go/token"
	"testing"
)

// mayMeasureTime are test files that may compare real time with an upper bound, each with the reason.
var mayMeasureTime = map[string]string{
	"internal/model/final_test.go": "the schedules run in fake time: model_test.go calls synctest.Test",
}

// A busy machine makes every test slower, so a test asserts the cause of what happens: an error, a
// state, an order. Fake time may be compared, and so may a lower bound.
func TestTestsAssertNoUpperBoundOfRealTime(t *testing.T) {
	unused := make(map[string]bool)
	for name := range mayMeasureTime {
		unused[name] = true
	}
	for _, s := range parseSources(t) {
		if !s.isTest() || s.measuresTime() {
			continue
		}
		found := s.upperBounds()
		if len(found) > 0 && mayMeasureTime[s.path] != "" {
			delete(unused, s.path)
			continue
		}
		for _, at := range found {
			t.Errorf("%s: a test asserts how long something took: assert the cause, use testing/synctest, or move it to a TestLoad", at)
		}
	}
	for name := range unused {
		t.Errorf("%s compares no time: drop it from the list", name)
	}
}

func TestUpperBoundsOfRealTimeAreFound(t *testing.T) {
	s := parse(t, "x_test.go", `package x
		func f() {
			took := time.Since(began)
			if took > time.Second || 2*time.Second <= time.Since(began) { t.Error(took) } // two faults
			if took < time.Second { t.Error(took) }
			if took > 0 { t.Error(took) }
			synctest.Test(t, func(t *testing.T) {
				if took > time.Second { t.Error(took) }
			})
		}`)
	if got := s.upperBounds(); len(got) != 2 {
		t.Errorf("got %q, want two", got)
	}
	for text, want := range map[string]bool{"load && unix": true, "unix": false, "load || unix": false} {
		s := parse(t, "x_test.go", "//go:build "+text+"\n\npackage x\n")
		if got := s.measuresTime(); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

// measuresTime reports whether the file is built with the tag load only.
func (s source) measuresTime() bool {
	for _, group := range s.file.Comments {
		for _, comment := range group.List {
			if !constraint.IsGoBuild(comment.Text) {
				continue
			}
			expr, err := constraint.Parse(comment.Text)
			return err == nil && !expr.Eval(func(tag string) bool { return tag != "load" })
		}
	}
	return false
}

// upperBounds returns the places that compare a measured time with an upper bound, outside of fake time.
// A comparison with 0 is left out, because it makes sense in fake time alone.
func (s source) upperBounds() (found []string) {
	measured := make(map[string]bool) // variables
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			return !isCall(n, "synctest", "Test")
		case *ast.AssignStmt:
			for i, value := range n.Rhs {
				if name, ok := n.Lhs[i].(*ast.Ident); ok && len(n.Lhs) == len(n.Rhs) {
					measured[name.Name] = isCall(value, "time", "Since")
				}
			}
		case *ast.BinaryExpr:
			least, most := n.Y, n.X // of least < most
			switch n.Op {
			case token.LSS, token.LEQ:
				least, most = n.X, n.Y
			case token.GTR, token.GEQ:
			default:
				return true
			}
			name, ok := most.(*ast.Ident)
			if zero, is := least.(*ast.BasicLit); is && zero.Value == "0" {
				return true
			}
			if isCall(most, "time", "Since") || ok && measured[name.Name] {
				found = append(found, s.at(n))
			}
		}
		return true
	})
	return found
}

// isCall reports whether an expression calls pkg.name.
func isCall(e ast.Expr, pkg, name string) bool {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == pkg && f.Sel.Name == name
}
