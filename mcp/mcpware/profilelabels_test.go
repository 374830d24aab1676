package mcpware_test

import (
	"bytes"
	"context"
	"maps"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpware"
)

// labels are those of a context.
func labels(ctx context.Context) map[string]string {
	all := make(map[string]string)
	pprof.ForLabels(ctx, func(key, value string) bool {
		all[key] = value
		return true
	})
	return all
}

func TestProfilesNameTheMethodAndTheToolOfARequest(t *testing.T) {
	t.Parallel()
	var inTool map[string]string
	profile := new(bytes.Buffer)
	s := server(func(ctx context.Context, _ number) (string, error) {
		inTool = labels(ctx)
		started := make(chan struct{})
		go func() { // which has the labels, too
			defer close(started)
			_ = pprof.Lookup("goroutine").WriteTo(profile, 1)
		}()
		<-started
		return "ok", nil
	})
	var read map[string]string
	s.Resource("secret://a", "a", "text/plain", func(ctx context.Context) ([]byte, error) {
		read = labels(ctx)
		return []byte("x"), nil
	})
	s.Use(mcpware.ProfileLabels())
	c := connect(t, s)
	if _, err := c.CallTool(t.Context(), "tool", number{4711}); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"mcp.method": mcp.MethodToolsCall, "mcp.name": "tool"}; !maps.Equal(inTool, want) {
		t.Errorf("got %v in the tool, want %v", inTool, want)
	}
	if got := profile.String(); strings.Count(got, `{"mcp.method":"tools/call", "mcp.name":"tool"}`) < 2 || strings.Contains(got, "4711") {
		t.Errorf("got %s, want the labels of the handler and of what it has started, and no arguments", got)
	}
	if _, err := c.ReadResource(t.Context(), "secret://a"); err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"mcp.method": mcp.MethodResourcesRead}; !maps.Equal(read, want) {
		t.Errorf("got %v in the resource, want %v", read, want)
	}
}

func TestProfileLabelsAreBounded(t *testing.T) {
	t.Parallel()
	var seen map[string]string
	s := server(func(context.Context, number) (string, error) { return "ok", nil })
	s.Use(mcpware.ProfileLabels(), func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			seen = labels(ctx)
			return next(ctx, r)
		}
	})
	c := connect(t, s)
	_, _ = c.CallTool(t.Context(), strings.Repeat("x", 129), number{})
	if want := map[string]string{"mcp.method": mcp.MethodToolsCall}; !maps.Equal(seen, want) {
		t.Errorf("got %v, want %v", seen, want)
	}
}
