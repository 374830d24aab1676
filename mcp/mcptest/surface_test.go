package mcptest_test

import (
	"context"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// setUpdate sets the flag of CheckSurface for the rest of a test.
func setUpdate(t *testing.T, value string) {
	t.Helper()
	if err := flag.Set("mcptest.update", value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = flag.Set("mcptest.update", "false") })
}

func TestCheckSurfaceReportsChangesWithVerdicts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "surface.json")
	checked := func(s *mcpserver.Server) string {
		f := &failures{TB: t}
		mcptest.CheckSurface(f, mcptest.Connect(t, s, nil), file)
		return strings.Join(f.said, "\n")
	}
	if got := checked(newServer()); !strings.Contains(got, "there is no file "+file+"; write it by go test -run '^TestCheckSurfaceReportsChangesWithVerdicts$' -mcptest.update") {
		t.Errorf("without a file: got %q, want how to write it", got)
	}
	setUpdate(t, "true")
	if got := checked(newServer()); got != "" {
		t.Errorf("update: got %q", got)
	}
	setUpdate(t, "false")
	if got := checked(newServer()); got != "" {
		t.Errorf("the same server: got %q, want no failure", got)
	}
	changed := mcpserver.New("counter", "1.0.0", nil)
	changed.Tool("add", "Adds numbers", func(_ context.Context, in struct{ A, B, C int }) (Total, error) {
		return Total{in.A + in.B + in.C}, nil
	})
	got := checked(changed)
	for _, want := range []string{
		`compatible: tool "add": /description: was "Adds two numbers", is "Adds numbers"`,
		`compatible: tool "add": /inputSchema/properties/C: added`,
		`breaking: tool "add": /inputSchema/required: added "C"`,
		`breaking: tool "book": removed`,
		"-mcptest.update",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got %q, want %q in it", got, want)
		}
	}
}
