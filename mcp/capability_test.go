package mcp_test

import (
	"encoding/json/v2"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestElicitationCapability(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-332b")
	for _, c := range []struct {
		raw       string
		form, url bool
	}{
		{`{}`, false, false},
		{`{"elicitation":{}}`, true, false},
		{`{"elicitation":{"form":{}}}`, true, false},
		{`{"elicitation":{"url":{}}}`, false, true},
		{`{"elicitation":{"form":{},"url":{}}}`, true, true},
	} {
		var caps mcp.ClientCapabilities
		if err := json.Unmarshal([]byte(c.raw), &caps); err != nil {
			t.Fatal(err)
		}
		if form, url := caps.Elicitation.CanForm(), caps.Elicitation.CanURL(); form != c.form || url != c.url {
			t.Errorf("%s: got form %t and url %t, want %t and %t", c.raw, form, url, c.form, c.url)
		}
	}
}

func TestTasksCapabilityTakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ raw, method string }{
		{`{"requests":{"tools":{"call":{}}}}`, mcp.MethodToolsCall},
		{`{"requests":{"sampling":{"createMessage":{}}}}`, mcp.MethodCreateMessage},
		{`{"requests":{"elicitation":{"create":{}}}}`, mcp.MethodElicit},
		{`{"requests":{"tools":{},"sampling":{},"elicitation":{}}}`, ""},
		{`{"requests":{}}`, ""},
		{`{}`, ""},
		{`null`, ""},
	} {
		var capability *mcp.TasksCapability
		if err := json.Unmarshal([]byte(c.raw), &capability); err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{mcp.MethodToolsCall, mcp.MethodCreateMessage, mcp.MethodElicit, mcp.MethodPromptsGet} {
			if got, want := capability.Takes(method), method == c.method; got != want {
				t.Errorf("%s takes %s: got %t, want %t", c.raw, method, got, want)
			}
		}
	}
}

func TestTerminalTaskStates(t *testing.T) {
	t.Parallel()
	for status, want := range map[mcp.TaskStatus]bool{
		mcp.TaskWorking: false, mcp.TaskInputRequired: false,
		mcp.TaskCompleted: true, mcp.TaskFailed: true, mcp.TaskCancelled: true,
	} {
		if got := status.Terminal(); got != want {
			t.Errorf("%s: got %t, want %t", status, got, want)
		}
	}
}
