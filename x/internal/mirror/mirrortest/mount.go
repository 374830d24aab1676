package mirrortest

import (
	"context"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// settle returns when everything has happened that a change causes: SDKs send notifications of
// changes some milliseconds later.
func settle() {
	time.Sleep(time.Minute)
	synctest.Wait()
}

func testChanges(t *testing.T, a Adapter) {
	inFakeTime(t, func(t *testing.T, v mcp.Revision) {
		other := a.New()
		other.AddTool("echo", Echo)
		other.AddResource("note:///1", at)
		changes := 0
		c := mcptest.Connect(t, Mounted(t, other), &mcpclient.Options{
			Revisions: []mcp.Revision{v}, OnToolsChanged: func(context.Context, *mcpclient.Client) { changes++ },
		})
		settle()
		other.AddTool("more", Echo)
		settle()
		if changes != 1 {
			t.Errorf("got %d notifications of a change, want 1", changes)
		}
		if got := Said(c.CallTool(t.Context(), "more", args("hello"))); got != "hello" {
			t.Errorf("new tool: got %q, want hello", got)
		}
		other.RemoveTool("more")
		settle()
		if got, want := toolNames(t, c), []string{"echo"}; !slices.Equal(got, want) {
			t.Errorf("got tools %q, want %q", got, want)
		}
		watchOnce(t, c, other)
	})
}

// watchOnce watches a resource until it has changed once.
func watchOnce(t *testing.T, c *mcpclient.Client, other Other) {
	t.Helper()
	next, stop := iter.Pull2(c.Watch(t.Context(), "note:///1"))
	defer stop()
	for _, what := range []string{"beginning", "update"} { // Watch yields once at the beginning
		uri, err, ok := next()
		if uri != "note:///1" || err != nil || !ok {
			t.Fatalf("%s: got %q, %v, want the resource", what, uri, err)
		}
		settle() // the bridge subscribes to it in the background
		other.Updated("note:///1")
	}
}

func testLaterError(t *testing.T, a Adapter) {
	synctest.Test(t, func(t *testing.T) {
		server, other := mcpserver.New("ours", "1.0.0", nil), a.New()
		server.Tool("own", "", func(context.Context, struct{}) (string, error) { return "own", nil })
		other.AddTool("echo", Echo)
		var errs []error
		unmount, err := other.Mount(server, func(err error) { errs = append(errs, err) })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(unmount)
		other.AddTool("own", Echo)
		settle()
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), `"own"`) {
			t.Errorf("got errors %v, want one that names the tool", errs)
		}
		if got := Said(mcptest.Connect(t, server, nil).CallTool(t.Context(), "own", nil)); got != "own" {
			t.Errorf("got %q, want the server's own tool", got)
		}
	})
}

func testUnmount(t *testing.T, a Adapter) {
	inFakeTime(t, func(t *testing.T, v mcp.Revision) {
		server, other := mcpserver.New("ours", "1.0.0", &mcpserver.Options{Dynamic: true}), a.New()
		other.AddTool("echo", Echo)
		unmount, err := other.Mount(server, nil)
		if err != nil {
			t.Fatal(err)
		}
		c := mcptest.Connect(t, server, &mcpclient.Options{Revisions: []mcp.Revision{v}})
		if got := Said(c.CallTool(t.Context(), "echo", args("hello"))); got != "hello" {
			t.Errorf("got %q, want hello", got)
		}
		unmount()
		if got := other.Sessions(); got != 0 {
			t.Errorf("got %d sessions after unmount, want none", got)
		}
		settle()
		if got := toolNames(t, c); len(got) != 0 {
			t.Errorf("got tools %q after unmount, want none", got)
		}
	})
}

func testTakenName(t *testing.T, a Adapter) {
	server, other := mcpserver.New("ours", "1.0.0", nil), a.New()
	server.Tool("echo", "", func(context.Context, struct{}) (string, error) { return "own", nil })
	other.AddTool("another", Echo)
	other.AddTool("echo", Echo)
	if _, err := other.Mount(server, nil); err == nil || !strings.Contains(err.Error(), `"echo"`) {
		t.Errorf("got %v, want an error that names the tool", err)
	}
	if got := other.Sessions(); got != 0 {
		t.Errorf("got %d sessions after a failed Mount, want none", got)
	}
	c := mcptest.Connect(t, server, nil)
	if got, want := toolNames(t, c), []string{"echo"}; !slices.Equal(got, want) {
		t.Errorf("got tools %q after a failed Mount, want %q", got, want)
	}
	if got := Said(c.CallTool(t.Context(), "echo", nil)); got != "own" {
		t.Errorf("got %q after a failed Mount, want the server's own tool", got)
	}
	defer func() {
		if recover() == nil {
			t.Error("single feature: got no panic")
		}
	}()
	a.Tool(server, "echo", Echo)
}

func testOptions(t *testing.T, a Adapter) {
	server, other := mcpserver.New("ours", "1.0.0", nil), a.New()
	other.AddTool("echo", Echo)
	other.AddPrompt("greet", at)
	other.AddResource("note:///index", at)
	unmount, err := other.Mount(server, nil, mcpserver.Visible(func(*mcp.Identity) bool { return false }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unmount)
	c := mcptest.Connect(t, server, nil)
	if got := toolNames(t, c); len(got) != 0 {
		t.Errorf("got tools %q, want none, because they are visible to nobody", got)
	}
	if _, err := c.GetPrompt(t.Context(), "greet", map[string]string{"who": "Ada"}); err == nil {
		t.Error("prompt: got no error, want one, because it is visible to nobody")
	}
	if _, err := c.ReadResource(t.Context(), "note:///index"); err == nil {
		t.Error("resource: got no error, want one, because it is visible to nobody")
	}
}

func testNewServer(t *testing.T, a Adapter) {
	other := a.New()
	other.AddTool("echo", Echo)
	server, err := other.NewServer(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := mcptest.Connect(t, server, nil)
	if got := server.Info(); got.Name != "notes" || got.Title != "Notes" || got.Version != "2.1.0" || c.Instructions() != "Ask first." {
		t.Errorf("got %+v and instructions %q, want those of the other server", got, c.Instructions())
	}
	if got := Said(c.CallTool(t.Context(), "echo", args("hello"))); got != "hello" {
		t.Errorf("got %q, want hello", got)
	}
	own := &mcpserver.Options{Title: "Ours", Instructions: "Read first."}
	if server, err = other.NewServer(own); err != nil {
		t.Fatal(err)
	}
	if got := mcptest.Connect(t, server, nil).Instructions(); server.Info().Title != "Ours" || got != "Read first." {
		t.Errorf("got title %q and instructions %q, want those of the options", server.Info().Title, got)
	}
}

type ownArgs struct {
	Text string `json:"text"`
}

func testSingles(t *testing.T, a Adapter) {
	server := mcpserver.New("ours", "1.0.0", nil)
	server.Tool("own", "", func(_ context.Context, in ownArgs) (string, error) {
		return "own " + in.Text, nil
	})
	a.Tool(server, "echo", Echo)
	a.Prompt(server, "greet", func(who string) string { return "Greet " + who })
	a.Resource(server, "note:///index", at)
	a.Template(server, "note:///n/{id}", at)
	mcptest.EachRevision(t, server, func(t *testing.T, c *mcpclient.Client) {
		for name, want := range map[string]string{"own": "own hello", "echo": "hello"} {
			if got := Said(c.CallTool(t.Context(), name, args("hello"))); got != want {
				t.Errorf("tool %s: got %q, want %q", name, got, want)
			}
		}
		checkOtherFeatures(t, c)
	})
}
