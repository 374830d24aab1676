package interop_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func tool(name string, arguments any) plan { return plan{"name": name, "arguments": arguments} }

// everyFeature is a plan for the fixture server, and what has to come of it.
func everyFeature() (do plan, want map[string]any) {
	do = plan{
		"call":     tool("add", plan{"a": 1, "b": 2}),
		"read":     "note://by/Ada",
		"get":      tool("greet", plan{"name": "Bo"}),
		"complete": plan{"ref": plan{"type": "ref/prompt", "name": "greet"}, "argument": plan{"name": "name", "value": "a"}},
		"progress": tool("steps", plan{"n": 3}),
		"cancel":   tool("wait", plan{}),
		"changed":  tool("grow", plan{"name": "grown"}),
		"updated":  plan{"uri": "note://counter", "name": "touch", "arguments": plan{}},
	}
	want = map[string]any{
		"call":     map[string]any{"text": `{"sum":3}`, "structured": map[string]any{"sum": 3.0}, "isError": false},
		"read":     "a note by Ada",
		"get":      "Greet Bo",
		"complete": []any{"Ada", "Alan"},
		"progress": map[string]any{"text": "done", "seen": []any{1.0, 2.0, 3.0}},
		"cancel":   "cancelled",
		"changed":  true,
		"updated":  true,
	}
	return do, want
}

// A failure here means that programs written with another SDK cannot use a
// server written with this one.
func TestForeignClientsUseEveryFeatureOfAServer(t *testing.T) {
	needNode(t)
	t.Parallel()
	addr := serveFixture(t)
	targets := map[string]string{
		"http":  "http://" + addr + "/mcp",
		"sse":   "sse+http://" + addr + "/sse",
		"stdio": "stdio:" + filepath.Join(binaries, "fixture"),
	}
	for _, cell := range []struct{ sdk, transport, version string }{
		{"2", "http", "2026-07-28"},
		{"2", "stdio", "2026-07-28"},
		{"2-modern", "http", "2026-07-28"},
		{"2-modern", "stdio", "2026-07-28"},
		{"2-legacy", "http", "2025-11-25"},
		{"2-legacy", "stdio", "2025-11-25"},
		{"2-legacy", "sse", "2025-11-25"},
		{"1", "http", ""},
		{"1", "stdio", ""},
		{"1", "sse", ""},
	} {
		t.Run(cell.sdk+" over "+cell.transport, func(t *testing.T) {
			do, want := everyFeature()
			session := cell.version != "2026-07-28"
			if session {
				do["asked"], want["asked"] = tool("ask", plan{}), "Hello, Ada"
			}
			out := foreignClient(t, cell.sdk, targets[cell.transport], do)
			if out.Version != cell.version {
				t.Errorf("spoke %q, want %q", out.Version, cell.version)
			}
			if !slices.Contains(out.Tools, "media") || !slices.Contains(out.Resources, "note://hello") ||
				!slices.Contains(out.Templates, "note://by/{name}") || !slices.Contains(out.Prompts, "greet") {
				t.Errorf("lists are not whole: %+v", out)
			}
			for step, want := range want {
				if got := out.Steps[step]; !reflect.DeepEqual(got, want) {
					t.Errorf("%s: got %v, want %v", step, got, want)
				}
			}
		})
	}
}
