//go:build !race

// The race detector keeps shadows of what is allocated, so that there is nothing to
// measure.

package mcpserver_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A failure here means that more is kept for each session, while nothing happens in it:
// the profile of the heap says what.
func TestIdleSessionIsSmall(t *testing.T) {
	checkIdleSessions(t, notes(), 1080)
}

// A failure here means the same for sessions that replicas share: 10,000 of them take at most
// 15 MB of the replica that has opened them.
func TestIdleSessionOfReplicasIsSmall(t *testing.T) {
	srv := newServer(&mcpserver.Options{Keys: sharedKeys, Store: new(mcpserver.MemoryStore), Bus: new(mcpserver.MemoryBus)})
	defer srv.Shutdown(t.Context())
	checkIdleSessions(t, srv, 1500)
}

// checkIdleSessions opens sessions and compares the memory of each with a ceiling in bytes.
func checkIdleSessions(t *testing.T, srv *mcpserver.Server, ceiling int64) {
	t.Helper()
	h := srv.HTTPHandler()
	const sessions = 3000
	open := func() {
		first := inProcess(t, h, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
			`"clientInfo":{"name":"client","version":"1"},"capabilities":{"roots":{"listChanged":true},"elicitation":{}}}}`)
		inProcess(t, h, first.Get("Mcp-Session-Id"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	open()
	before := inUse()
	for range sessions {
		open()
	}
	if each := (inUse() - before) / sessions; each > ceiling {
		t.Errorf("got %d bytes for a session, want at most %d", each, ceiling)
	}
	runtime.KeepAlive(h)
}

// inUse returns the bytes of the heap and of the stacks that are in use.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // which forgets what pools hold
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// A failure here means that more is kept for each subscription, while nothing happens.
// Of what is measured the greater part is net/http's, and some the client's.
func TestIdleSubscriptionIsSmall(t *testing.T) {
	s := httptest.NewServer(notes().HTTPHandler())
	defer s.Close()
	const streams, ceiling = 500, 33_000
	conns := make([]net.Conn, 0, streams+1)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	listen := func() {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		const body = `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["notes://a"]},"_meta":{` +
			`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		fmt.Fprintf(c, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"+
			"Content-Length: %d\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: subscriptions/listen\r\n\r\n%s", c.RemoteAddr(), len(body), body)
		answer := make([]byte, 4096)
		for n := 0; !bytes.Contains(answer[:n], []byte("acknowledged")); {
			more, err := c.Read(answer[n:])
			if n += more; err != nil {
				t.Fatalf("got %s, %v", answer[:n], err)
			}
		}
	}
	listen()
	before := inUse()
	for range streams {
		listen()
	}
	if each := (inUse() - before) / streams; each > ceiling {
		t.Errorf("got %d bytes for a subscription, want at most %d", each, ceiling)
	}
}

// A failure here means that a change of a resource costs more for each subscriber:
// the profile of allocations says what.
func TestDeliveryAllocatesLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := notes()
		defer srv.Shutdown(t.Context())
		h := srv.HTTPHandler()
		const sessions, ceiling = 100, 3
		for range sessions {
			first := inProcess(t, h, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`)
			inProcess(t, h, first.Get("Mcp-Session-Id"), `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"notes://a"}}`)
		}
		allocs := testing.AllocsPerRun(20, func() {
			srv.Updated("notes://a")
			time.Sleep(time.Second) // in which it is silent
		})
		if each := allocs / sessions; each > ceiling {
			t.Errorf("got %.1f allocations for each session, want at most %v", each, ceiling)
		}
	})
}
