package interop_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"os/exec"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// visitForeign runs the steps of a plan with a client of another SDK and checks the
// negotiated revision, which version 1 of the TypeScript SDK does not report. sdk is one of
// programs or of client.mjs, and target an argument of both.
func visitForeign(t *testing.T, sdk, target string, v mcp.Revision, p plan, l lacks) {
	t.Helper()
	text, err := json.Marshal(p.without(l))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "node", "client.mjs", sdk, target, string(text))
	if _, inGo := programs[sdk]; inGo {
		cmd = exec.CommandContext(ctx, program(sdk), "client", target, string(text))
	}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("client %s of %s: %v\n%s", sdk, target, err, stderr.Bytes())
	}
	var out struct {
		Error   string `json:"error"`
		Version string `json:"version"`
		Results []any  `json:"results"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("client %s of %s printed %s: %v", sdk, target, stdout.Bytes(), err)
	}
	if out.Error != "" {
		t.Fatalf("client %s of %s: %s\n%s", sdk, target, out.Error, stderr.Bytes())
	}
	if out.Version != "" && out.Version != v.String() {
		t.Errorf("spoke %q, want %s", out.Version, v)
	}
	p.check(t, l, out.Results)
}
