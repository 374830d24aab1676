package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// The capabilities of a client with more than a session id holds are in the record of the session, so
// that each replica can serve it. With Keys alone only the one that has opened it can, and another says
// what is missing.
func TestSessionOfAClientWithLargeCapabilitiesBelongsToAllReplicas(t *testing.T) {
	t.Parallel()
	store, bus := new(mcpserver.MemoryStore), new(mcpserver.MemoryBus)
	for name, c := range map[string]struct {
		options mcpserver.Options
		status  int
		body    string
	}{
		"with Store and Bus": {mcpserver.Options{Keys: sharedKeys, Store: store, Bus: bus}, http.StatusOK, "20000 bytes"},
		"with Keys alone":    {mcpserver.Options{Keys: sharedKeys}, http.StatusNotFound, "set Store and Bus on all replicas"},
	} {
		var replicas [2]*sender
		for i := range replicas {
			o := c.options
			srv := newServer(&o)
			t.Cleanup(func() { srv.Shutdown(context.WithoutCancel(t.Context())) })
			srv.Tool("size", "", func(ctx context.Context, _ struct{}) (string, error) {
				return fmt.Sprintf("%d bytes", len(mcpserver.From(ctx).Capabilities().Experimental["x"])), nil
			})
			replicas[i] = &sender{t: t, handler: srv.HTTPHandler(), address: "127.0.0.1:1"}
		}
		first, second := replicas[0], replicas[1]
		text := strings.Repeat("x", 20_000-len(`{"x":""}`))
		status, body := first.send(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},`+
			`"capabilities":{"experimental":{"x":{"x":"`+text+`"}}}}}`)
		if status != http.StatusOK || len(first.session) > 1<<10 {
			t.Fatalf("%s: got status %d, %s, and an id of %d bytes", name, status, body, len(first.session))
		}
		if status, body := first.send(t.Context(), http.MethodPost, callOf(2, "size", "")); !strings.Contains(body, "20000 bytes") {
			t.Errorf("%s: got status %d, %s, of the replica that has opened the session", name, status, body)
		}
		second.session = first.session
		if status, body := second.send(t.Context(), http.MethodPost, callOf(3, "size", "")); status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: got status %d, %s, want %d and %q", name, status, body, c.status, c.body)
		}
		if c.status != http.StatusOK {
			continue
		}
		if status, body := second.send(t.Context(), http.MethodDelete, ""); status != http.StatusNoContent && status != http.StatusOK {
			t.Errorf("%s: DELETE: got status %d, %s", name, status, body)
		}
		second.session = first.session
		if status, body := second.send(t.Context(), http.MethodPost, callOf(4, "size", "")); status != http.StatusNotFound {
			t.Errorf("%s: got status %d, %s, after DELETE", name, status, body)
		}
	}
}
