package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpext/handles"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// liveHeap returns the bytes of the heap that are in use after a collection.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // which forgets what pools hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// checkHeap runs f and compares by how much it has made the heap grow with a bound.
func checkHeap(t *testing.T, what string, most int64, f func()) {
	t.Helper()
	before := liveHeap()
	f()
	if grown := liveHeap() - before; grown > most {
		t.Errorf("%s: the heap has grown by %d KiB, want at most %d KiB", what, grown>>10, most>>10)
	}
}

// opening returns an initialize whose client has declared that many bytes of capabilities.
func opening(capabilities int) string {
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},` +
		`"capabilities":{"experimental":{"x":{"x":"` + strings.Repeat("x", max(0, capabilities-32)) + `"}}}}}`
}

// A failure here means that a client without credentials fills the memory of a server with
// sessions that it has left.
func TestLargeInitializeOfAClientThatLeavesKeepsLittle(t *testing.T) {
	const each, requests = 3_900_000, 25
	long := strings.Repeat("x", each)
	srv := newServer(nil)
	defer srv.Shutdown(t.Context())
	for what, params := range map[string]string{
		"the version":       `{"protocolVersion":"` + long + `","clientInfo":{"name":"c","version":"1"},"capabilities":{}}`,
		"the name":          `{"protocolVersion":"2025-11-25","clientInfo":{"name":"` + long + `","version":"1"},"capabilities":{}}`,
		"the capabilities":  `{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{"experimental":{"x":{"x":"` + long + `"}}}}`,
		"the metadata":      `{"protocolVersion":"2025-11-25","clientInfo":{"name":"` + long[:3000] + `","version":"1"},"capabilities":{},"_meta":{"com.example/x":"` + long + `"}}`,
		"an unknown member": `{"protocolVersion":"2025-11-25","clientInfo":{"name":"` + long[:3000] + `","version":"1"},"capabilities":{"x":"` + long[:3000] + `"},"x":"` + long + `"}`,
	} {
		checkHeap(t, what, 2*each, func() {
			client := &sender{t: t, handler: srv.HTTPHandler(), address: "127.0.0.1:1"}
			for range requests {
				client.session = ""
				client.send(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+params+`}`)
			}
		})
	}
}

// A failure here means that what clients have sent stays in memory after they are gone.
func TestLargeInitializeOverConnectionsThatAreClosedKeepsLittle(t *testing.T) {
	requests := 24
	if *wide {
		requests = 300
	}
	const each, most = 3_900_000, 12 << 20
	srv := newServer(nil)
	defer srv.Shutdown(t.Context())
	bodies := []string{
		strings.Replace(opening(60<<10), `"params":{`, `"params":{"_meta":{"com.example/x":"`+strings.Repeat("x", each)+`"},`, 1),
		opening(each), // which is refused
	}
	checkHeap(t, fmt.Sprint(requests, " requests"), most, func() {
		listening := httptest.NewServer(srv.HTTPHandler())
		defer listening.Close() // waits for the requests
		for i := range requests {
			body := bodies[i%2]
			conn, err := net.Dial("tcp", listening.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: %d\r\n\r\n%s",
				listening.Listener.Addr(), len(body), body)
			if i%4 < 2 { // the others are gone before the response
				if _, err := http.ReadResponse(bufio.NewReader(conn), nil); err != nil {
					t.Fatal(err)
				}
			}
			_ = conn.Close()
		}
	})
}

// keptServer returns a server that keeps at most that many bytes for anonymous clients, and counts
// how often that limit was reached.
func keptServer(t *testing.T, most int64) (*mcpserver.Server, *atomic.Int64) {
	reached := new(atomic.Int64)
	srv := newServer(&mcpserver.Options{
		Logger: slog.New(slog.DiscardHandler),
		Load:   &mcpserver.LoadOptions{MaxKept: most, ToolRate: mcp.Rate{PerSecond: -1}, SubscriptionRate: mcp.Rate{PerSecond: -1}},
		OnLimit: func(e mcp.LimitReached) {
			if e.Limit == mcp.LimitKept {
				reached.Add(1)
			}
		},
	})
	t.Cleanup(func() { srv.Shutdown(context.WithoutCancel(t.Context())) })
	return srv, reached
}

func TestSessionsOfOneAddressKeepNoMoreThanItsShare(t *testing.T) {
	const most, each = 4 << 20, 60 << 10
	srv, reached := keptServer(t, most)
	other := &sender{t: t, handler: srv.HTTPHandler(), address: "192.0.2.2:1"}
	if status, body := other.send(t.Context(), http.MethodPost, opening(each)); status != http.StatusOK {
		t.Fatalf("got status %d, %s", status, body)
	}
	greedy := &sender{t: t, handler: srv.HTTPHandler(), address: "192.0.2.1:1"}
	checkHeap(t, "an address", most/4+1<<20, func() {
		for range 200 {
			greedy.session = ""
			if status, body := greedy.send(t.Context(), http.MethodPost, opening(each)); status != http.StatusOK {
				t.Fatalf("got status %d, %s, want a session instead of an idle one", status, body)
			}
		}
	})
	if reached.Load() == 0 {
		t.Error("OnLimit was not called for what made room")
	}
	for what, client := range map[string]*sender{"the other client": other, "the last session": greedy} {
		if status, body := client.send(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); status != http.StatusOK {
			t.Errorf("%s: got status %d, %s, want its session", what, status, body)
		}
	}
}

func TestSessionsOfManyAddressesKeepNoMoreThanAllAnonymousClientsMay(t *testing.T) {
	const most, each = 4 << 20, 60 << 10
	srv, _ := keptServer(t, most)
	checkHeap(t, "200 addresses", most+1<<20, func() {
		for i := range 200 {
			client := &sender{t: t, handler: srv.HTTPHandler(), address: fmt.Sprintf("192.0.2.%d:1", i)}
			if status, body := client.send(t.Context(), http.MethodPost, opening(each)); status != http.StatusOK {
				t.Fatalf("got status %d, %s", status, body)
			}
		}
	})
}

// A failure here means that many sessions that nobody uses keep newcomers out that need more than one
// of them.
func TestLargerSessionGetsTheRoomOfSmallUnusedOnes(t *testing.T) {
	t.Parallel()
	for where, address := range map[string]string{"loopback": "127.0.0.1:%d", "many addresses": "192.0.2.%d:1"} {
		srv, _ := keptServer(t, 1<<20)
		for i := range 250 {
			client := &sender{t: t, handler: srv.HTTPHandler(), address: fmt.Sprintf(address, i+1)}
			if status, body := client.send(t.Context(), http.MethodPost, opening(5<<10)); status != http.StatusOK {
				t.Fatalf("%s: got status %d, %s", where, status, body)
			}
		}
		larger := &sender{t: t, handler: srv.HTTPHandler(), address: fmt.Sprintf(address, 251)}
		if status, body := larger.send(t.Context(), http.MethodPost, opening(14<<10)); status != http.StatusOK {
			t.Errorf("%s: got status %d, %s, want a session", where, status, body)
		}
	}
}

// A failure here means that the handles of one anonymous client make handles, tasks or states of
// others fail.
func TestHandlesOfOneClientTakeNoRoomOfOthers(t *testing.T) {
	const most, each = 1 << 20, 60 << 10
	store := &mcpserver.MemoryStore{MaxBytes: 4 * most}
	srv := newServer(&mcpserver.Options{Logger: slog.New(slog.DiscardHandler), Store: store})
	defer srv.Shutdown(t.Context())
	kept := handles.New[string](nil)
	srv.Tool("keep", "", func(ctx context.Context, in struct {
		Size int `json:"size"`
	},
	) (string, error) {
		return kept.New(ctx, strings.Repeat("x", in.Size))
	})
	keep := func(s *sender, size int) string {
		_, body := s.send(t.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"keep","arguments":{"size":%d}}}`, size))
		return body
	}
	modest := &sender{t: t, handler: srv.HTTPHandler(), address: "127.0.0.1:1"}
	modest.open()
	if body := keep(modest, each); strings.Contains(body, "isError") {
		t.Fatalf("got %s", body)
	}
	greedy := &sender{t: t, handler: srv.HTTPHandler(), address: "127.0.0.1:2"}
	greedy.open()
	made := 0
	for range 100 {
		if !strings.Contains(keep(greedy, each), "isError") {
			made++
		}
	}
	if want := most / 4 / (each + 1<<10); made != want {
		t.Errorf("one session has made %d handles, want the %d that fit into its quarter", made, want)
	}
	for range 40 {
		greedy.open()
		keep(greedy, each)
	}
	if body := keep(modest, each); strings.Contains(body, "isError") {
		t.Errorf("got %s, want a handle for a client that has few", body)
	}
	for i := range 2 * most / each { // as many bytes as tasks may have
		if err := store.Put(t.Context(), fmt.Sprint("task.", i), make([]byte, each), 0); err != nil {
			t.Fatalf("there is no room for other values in the Store: %v", err)
		}
	}
}

// The first connection loses its only handle, so that it has nothing until its new one is counted.
func TestAddressThatReplacesItsOldestHandleStopsNobody(t *testing.T) {
	t.Parallel()
	srv := newServer(&mcpserver.Options{Logger: slog.New(slog.DiscardHandler), Load: &mcpserver.LoadOptions{MaxKept: 400 << 10}})
	made := handles.New[string](nil)
	srv.Tool("keep", "", func(ctx context.Context, in struct {
		Size int `json:"size"`
	},
	) (string, error) {
		return made.New(ctx, strings.Repeat("x", in.Size))
	})
	for i, call := range []struct {
		from string
		size int
	}{{"198.51.100.1:1", 20 << 10}, {"198.51.100.1:2", 62 << 10}, {"198.51.100.1:1", 20 << 10}, {"198.51.100.2:1", 20 << 10}} {
		r := postCall(nil, srv, "tools/call", "keep", fmt.Sprintf(`"name":"keep","arguments":{"size":%d}`, call.size), call.from, remote)
		if body, _ := io.ReadAll(r.Body); r.StatusCode != http.StatusOK || strings.Contains(string(body), "rror") {
			t.Fatalf("call %d: got %d %s, want a handle", i+1, r.StatusCode, body)
		}
	}
}
