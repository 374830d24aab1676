package surfacediff_test

import (
	"encoding/json/jsontext"
	"errors"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcptest/internal/surfacediff"
)

// tool is a definition, as JSON.
type tool struct{ name, text string }

func nameOf(t tool) string { return t.name }

func (t tool) MarshalJSON() ([]byte, error) { return []byte(t.text), nil }

func TestChangesAreFoundByNameAndJudged(t *testing.T) {
	t.Parallel()
	older := []tool{
		{"add", `{"inputSchema":{"required":["a"]},"title":"Add"}`},
		{"gone", `{}`},
		{"same", `{"a":1,"b":2}`},
	}
	newer := []tool{
		{"add", `{"inputSchema":{"required":["a","b"]},"title":"Sum"}`},
		{"new", `{}`},
		{"same", `{"b":2,"a":1}`},
	}
	var d surfacediff.Diff
	d.Text("instructions", "same", "same")
	d.Text("instructions", "old", "new")
	surfacediff.Features(&d, "tool", older, newer, nameOf)
	want := []surfacediff.Change{
		{"instructions", "", "changed", false},
		{`tool "add"`, "/inputSchema/required", `added "b"`, true},
		{`tool "add"`, "/title", `was "Add", is "Sum"`, false},
		{`tool "gone"`, "", "removed", true},
		{`tool "new"`, "", "added", false},
	}
	if got, err := d.Changes(); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func TestDefinitionThatCannotBeEncodedIsAnError(t *testing.T) {
	t.Parallel()
	var d surfacediff.Diff
	surfacediff.Features(&d, "tool", []tool{{"add", `{`}}, []tool{{"add", `{}`}}, nameOf)
	if _, err := d.Changes(); !errors.As(err, new(*jsontext.SyntacticError)) {
		t.Errorf("got %v, want the error of the encoding", err)
	}
}
