package definition_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

func TestChangeNamesWhatEachDefinitionIs(t *testing.T) {
	t.Parallel()
	s, u := newStore(), server(host.TrustAsk)
	annotated := func(name string, a *mcp.ToolAnnotations) mcp.Tool {
		described := tool(name, "First \u202eline\nsecond line")
		described.Annotations = a
		return described
	}
	l := tools(
		annotated("a", &mcp.ToolAnnotations{ReadOnlyHint: new(true), DestructiveHint: new(true)}),
		annotated("b", &mcp.ToolAnnotations{DestructiveHint: new(true)}),
		annotated("c", &mcp.ToolAnnotations{DestructiveHint: new(false)}),
		annotated("d", nil), tool("e", strings.Repeat("word ", 1000)),
	)
	l.Instructions = "Call a first.\nThen b."
	shown(t, s, u, l)
	c, err := s.Waiting(t.Context(), u)
	if err != nil || c == nil {
		t.Fatal(c, err)
	}
	var got []string
	for _, d := range c.Definitions[:len(c.Definitions)-1] {
		got = append(got, d.Name+"|"+d.Description+"|"+strings.Join(d.Annotations, ","))
	}
	want := []string{"|Call a first.|", `a|First \u202eline|read-only`, `b|First \u202eline|destructive`, `c|First \u202eline|not destructive`, `d|First \u202eline|`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if last := c.Definitions[len(want)].Description; len(last) > 500 || !strings.HasSuffix(last, "…") {
		t.Errorf("got %q, want it cut", last)
	}
}

func TestForgottenServerHasNothingApproved(t *testing.T) {
	t.Parallel()
	s, u := newStore(), server(host.TrustAsk)
	recorded := 0
	record := func() error { recorded++; return nil }
	if forgotten, err := s.Forget(t.Context(), u, record); err != nil || forgotten || recorded != 0 {
		t.Errorf("got %t, %v, %d records, want nothing to forget", forgotten, err, recorded)
	}
	shown(t, s, u, tools(tool("a", "one")))
	c, err := s.Waiting(t.Context(), u)
	if err == nil {
		err = s.Approve(t.Context(), u, c.Digest)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Forget(t.Context(), u, func() error { return errors.New("the log is full") }); err == nil {
		t.Error("forgot what could not be recorded")
	}
	if kept, _ := shown(t, s, u, tools(tool("a", "one"))); len(kept) != 1 {
		t.Errorf("got %q, want it approved still", kept)
	}
	if forgotten, err := s.Forget(t.Context(), u, record); err != nil || !forgotten || recorded != 1 {
		t.Errorf("got %t, %v, %d records, want it forgotten", forgotten, err, recorded)
	}
	if kept, waiting := shown(t, s, u, tools(tool("a", "one"))); len(kept) != 0 || len(waiting) != 1 {
		t.Errorf("got %q, %q, want the first list to wait again", kept, waiting)
	}
}
