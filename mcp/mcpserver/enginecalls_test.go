package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/internal/testengine"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// counted is two replicas whose calls of the engine are counted. It uses fake time.
type counted struct {
	*testing.T
	testengine.Counter
	replicas []*mcpserver.Server
}

func newCounted(t *testing.T) *counted {
	c := &counted{T: t}
	store, bus, events := c.Store(new(mcpserver.MemoryStore)), c.Bus(new(mcpserver.MemoryBus)), c.Events(new(eventMap))
	for range 2 {
		srv := newServer(&mcpserver.Options{Keys: sharedKeys, Store: store, Bus: bus, HTTP: &mcpserver.HTTPOptions{Events: events}})
		srv.Tool("plain", "Returns a word", func(context.Context, struct{}) (string, error) { return "word", nil })
		srv.Tool("progress", "Sends ten messages", func(ctx context.Context, _ struct{}) (string, error) {
			for i := range 10 {
				mcpserver.Progress(ctx, float64(i), 10, "")
				time.Sleep(time.Second)
			}
			return "word", nil
		})
		t.Cleanup(func() { _ = srv.Shutdown(context.Background()) })
		c.replicas = append(c.replicas, srv)
		srv.HTTPHandler()
	}
	time.Sleep(time.Minute) // in which the replicas announce their features
	return c
}

// post sends a message to a replica and returns the header of the response.
func (c *counted) post(at int, message string, header ...string) http.Header {
	c.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(message))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	c.replicas[at].HTTPHandler().ServeHTTP(w, r)
	if text, _ := io.ReadAll(w.Body); w.Code >= 300 || strings.Contains(string(text), `"error"`) {
		c.Fatalf("%s: got status %d, %s", message, w.Code, text)
	}
	return w.Header()
}

// open opens a session at replica 0 and returns the header of its requests.
func (c *counted) open() (header []string) {
	c.Helper()
	first := c.post(0, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
		`"clientInfo":{"name":"client","version":"1"},"capabilities":{}}}`)
	header = []string{"Mcp-Session-Id", first.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25"}
	c.post(0, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, header...)
	return header
}

// during returns the calls of the engine that f causes.
func (c *counted) during(f func()) testengine.Counts {
	synctest.Wait()
	before := c.Counts()
	f()
	synctest.Wait()
	return c.Counts().Since(before)
}

const sessionCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":1}}}`

func TestStatelessCallsUseNoEngine(t *testing.T) {
	claim.Shows(t, "B-15")
	synctest.Test(t, func(t *testing.T) {
		c := newCounted(t)
		const message = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"_meta":{"progressToken":1,` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		got := c.during(func() {
			for i := range 100 {
				name := []string{"plain", "progress"}[i/2%2]
				c.post(i%2, fmt.Sprintf(message, name), "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name)
			}
		})
		if len(got) > 0 {
			t.Errorf("got %v for 100 calls, want nothing", got)
		}
	})
}

// A session reads its record at most every 5 seconds, at each replica that serves it.
func TestCallsOfASessionUseTheEngineOnceIn5Seconds(t *testing.T) {
	claim.Shows(t, "B-15")
	for _, test := range []struct {
		name     string
		replicas int // that serve the session
		pause    time.Duration
		most     int // for 100 calls
	}{
		{"at its replica, one after another", 1, 0, 1},
		{"at its replica, once in 6 seconds", 1, 6 * time.Second, 100},
		{"at two replicas, one after another", 2, 0, 2},
		{"at two replicas, once in 6 seconds", 2, 6 * time.Second, 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCounted(t)
				session := c.open()
				got := c.during(func() {
					for i := range 100 {
						c.post(i%test.replicas, fmt.Sprintf(sessionCall, i+1, "plain"), session...)
						time.Sleep(test.pause)
					}
				})
				if got.Calls() > test.most || got["Deliver"] > 0 {
					t.Errorf("got %v for 100 calls, want at most %d", got, test.most)
				}
				if most := 2*int(100*test.pause/time.Second) + 2; got["Beat"] > most {
					t.Errorf("got %d heartbeats of two replicas, want at most %d", got["Beat"], most)
				}
			})
		})
	}
}

// With an EventStore, a call whose response is an event stream stores where the stream is, and each
// event once.
func TestCallStoresEachEventOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCounted(t)
		session := c.open()
		got := c.during(func() { c.post(0, fmt.Sprintf(sessionCall, 1, "progress"), session...) })
		delete(got, "Beat")
		if want := (testengine.Counts{"Put": 1, "Append": 11, "Get": 1}); got["Put"] != 1 || got["Append"] != 11 || got.Calls() > want.Calls() {
			t.Errorf("got %v for ten messages and a reply, want at most %v", got, want)
		}
	})
}
