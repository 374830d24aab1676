package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A key of the configuration that the server refuses is a state with a next step, as a sign-in is.
func TestUpstreamThatRefusesItsKeyWantsAnotherOne(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-10")
	srv := newServer("locked")
	srv.Tool("hello", "Say hello", func(context.Context, struct{}) (string, error) { return "hello", nil })
	door := &authorizingServer{word: "two"}
	u := host.Upstream{
		Key: "locked", Transport: "over HTTP", Target: mcpclient.URL(door.serve(t, srv.HTTPHandler())),
		Header: http.Header{"Authorization": {"Bearer one"}},
	}
	states := make(chan host.Status, 100)
	g := gateway.New([]host.Upstream{u}, &gateway.Options{Logger: quiet, OnStatus: func(s host.Status) { states <- s }})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	if s := awaitState(t, g, states, host.NeedsSignIn); !s.WantsKey || s.Retry.IsZero() || !strings.Contains(s.Reason, "401") {
		t.Errorf("got %+v, want another key, and further attempts", s)
	}

	door.set("one", "")
	g.Retry("locked")
	if s := awaitState(t, g, states, host.Ready); s.WantsKey {
		t.Errorf("got %+v, want no key wanted any more", s)
	}
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(mcptest.Dial(t, g.Server())), &mcpclient.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	call := func() *mcp.CallToolResult {
		t.Helper()
		result, err := c.CallTool(t.Context(), "locked__hello", nil)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	if result := call(); result.IsError {
		t.Fatalf("got %+v with the right key", result)
	}

	// The key is revoked: the call fails with the command, and the upstream waits.
	door.set("three", "")
	result := call()
	if !result.IsError || !strings.Contains(result.Content.Text(), `"fondaco set locked --header 'Authorization: Bearer KEY'" gives it another key`) {
		t.Errorf("got %+v, want the next step", result)
	}
	var why string
	if _, err := result.Meta.Get(host.MetaRefused, &why); err != nil || why != host.RefusedSignIn {
		t.Errorf("got %q, %v, want %q for programs", why, err, host.RefusedSignIn)
	}
	if s := awaitState(t, g, states, host.NeedsSignIn); !s.WantsKey {
		t.Errorf("got %+v, want another key", s)
	}
}
