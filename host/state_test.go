package host

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// states returns the constants of type State.
func states(t *testing.T) (all []State) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "state.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "State" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, State(text))
		}
		return true
	})
	return all
}

func TestEveryStateHasItsFactsAndARowOfTheDocumentation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/hosting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n| state | meaning | calls |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	documented := make(map[State]bool)
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		for _, name := range regexp.MustCompile("`[^`]+`").FindAllString(cells[1], -1) {
			documented[State(strings.Trim(name, "`"))] = true
		}
	}
	all := states(t)
	for _, s := range all {
		if _, ok := stateFacts[s]; !ok || !documented[s] {
			t.Errorf("%s: facts %t, documented %t, want both", s, ok, documented[s])
		}
	}
	if len(documented) != len(all) || len(stateFacts) != len(all) {
		t.Errorf("got %d states, %d facts and %d in docs/hosting.md, want as many", len(all), len(stateFacts), len(documented))
	}
}
