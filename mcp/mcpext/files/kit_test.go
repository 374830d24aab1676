package files_test

import (
	"encoding/json/jsontext"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/hooktest"
	"github.com/fondaco/fondaco/mcp/internal/jsontest"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/internal/wiretest"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) { leak.Main(m) }

// eachEra runs a test once for each era, in fake time.
func eachEra(t *testing.T, test func(t *testing.T, r mcp.Revision)) {
	t.Helper()
	t.Parallel()
	for _, r := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, r) })
		})
	}
}

// newServer returns a server that logs nothing.
func newServer() *mcpserver.Server {
	return mcpserver.New("test", "1", &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
}

// hidden is the option that hides a feature from the clients of these tests.
func hidden() mcpserver.Option {
	return mcpserver.Visible(func(who *mcp.Identity) bool { return who.Principal != mcp.PrincipalLocal })
}

// wire is the client's end of a connection to a server, in raw JSON.
type wire struct{ wiretest.Client }

// dial connects a client that speaks a revision and has made itself known.
func dial(t *testing.T, srv *mcpserver.Server, r mcp.Revision) *wire {
	t.Helper()
	w := &wire{wiretest.Client{T: t, Conn: mcptest.Dial(t, srv)}}
	w.Initialize(r, `{}`)
	return w
}

// These functions have short names in the tests of this package.
var (
	at, same  = jsontest.At, jsontest.Equal
	isModern  = wiretest.Stateless
	panicText = hooktest.PanicText
)

func decoded[T any](t *testing.T, raw jsontext.Value) T {
	t.Helper()
	return jsontest.Decode[T](t, raw)
}

// watch subscribes to one resource in the way of the revision.
func watch(w *wire, uri string) {
	w.T.Helper()
	if isModern(w.Revision) {
		w.Send("subscriptions/listen", fmt.Sprintf(`{"notifications":{"resourceSubscriptions":[%q]}}`, uri))
		w.Notification("notifications/subscriptions/acknowledged")
		return
	}
	w.Must("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri))
}

// watchLists asks to hear of changes of all lists, where one has to ask.
func watchLists(w *wire) {
	w.T.Helper()
	if isModern(w.Revision) {
		w.Send("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`)
		w.Notification("notifications/subscriptions/acknowledged")
	}
}
