package mcp_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestToolAnnotationsApplyTheDefaults(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                                         string
		a                                            *mcp.ToolAnnotations
		readOnly, destructive, idempotent, openWorld bool
	}{
		{"nil", nil, false, true, false, true},
		{"empty", &mcp.ToolAnnotations{}, false, true, false, true},
		{"read-only", &mcp.ToolAnnotations{ReadOnlyHint: new(true), DestructiveHint: new(true)}, true, false, true, true},
		{"additive", &mcp.ToolAnnotations{DestructiveHint: new(false), IdempotentHint: new(true)}, false, false, true, true},
		{"closed", &mcp.ToolAnnotations{OpenWorldHint: new(false), ReadOnlyHint: new(false)}, false, true, false, false},
	} {
		got := [4]bool{c.a.ReadOnly(), c.a.Destructive(), c.a.Idempotent(), c.a.OpenWorld()}
		if want := [4]bool{c.readOnly, c.destructive, c.idempotent, c.openWorld}; got != want {
			t.Errorf("%s: got %v, want %v", c.name, got, want)
		}
	}
}

func TestToolTaskSupport(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "D-19")
	for _, c := range []struct {
		tool mcp.Tool
		want mcp.TaskSupport
	}{
		{mcp.Tool{}, mcp.TaskForbidden},
		{mcp.Tool{Execution: &mcp.ToolExecution{}}, mcp.TaskForbidden},
		{mcp.Tool{Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskRequired}}, mcp.TaskRequired},
	} {
		if got := c.tool.TaskSupport(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
