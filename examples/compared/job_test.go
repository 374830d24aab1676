package compared_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
)

// useJob runs a job as a call, as a task, and as a task that it cancels.
func useJob(t *testing.T, file string) []string {
	c := connect(t, mcpclient.Command(file), &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20251125}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
	})
	answers := []string{tools(t, c), call(t, c, "run", object{"steps": 1}), call(t, c, "run", object{"steps": 0})}
	done, err := tasks.Call(t.Context(), c, "run", object{"steps": 2})
	if err != nil || done.ID() == "" {
		t.Fatalf("got task %v, %v", done, err)
	}
	r, err := done.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answers = append(answers, r.Content.Text(), state(t, done))
	long, err := tasks.Call(t.Context(), c, "run", object{"steps": 1_000_000})
	if err != nil {
		t.Fatal(err)
	}
	answers = append(answers, state(t, long))
	if err := long.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	return append(answers, state(t, long))
}

var wantJob = []string{"run", "1 steps are done.", "failed", "2 steps are done.", "completed", "working", "cancelled"}

func state(t *testing.T, h *tasks.Handle) string {
	t.Helper()
	task, err := h.Get(t.Context())
	if err != nil {
		t.Error(err)
	}
	return string(task.Status)
}
