//go:build !race

// The race detector makes sync.Pool forget at random, so that there is nothing to count.

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// relayedCall returns what makes one call of a tool through a gateway, over HTTP on both sides, and the gateway's
// recorder, nil without one.
func relayedCall(t testing.TB, records bool) (call func(), recorder *traffic.Recorder) {
	srv := mcpserver.New("behind", "1", nil)
	srv.Tool("greet", "Greets", func(context.Context, struct{}) (string, error) { return "Hello", nil })
	behind := httptest.NewServer(srv.HTTPHandler())
	t.Cleanup(behind.Close)
	var o gateway.Options
	if records {
		h := hostProcess{traffic: traffic.New(), recordings: recordings{handshakes: traffic.NewHandshakes()}}
		o.OnMessage, recorder = h.onMessage(nil), h.traffic
	}
	g := gateway.New([]host.Upstream{{Key: "behind", Target: mcpclient.URL(behind.URL), Settings: host.Settings{Share: true}}}, &o)
	t.Cleanup(g.Close)
	g.Start(t.Context())
	body := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"behind__greet","arguments":{},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	handler, w := g.Server().HTTPHandler(), httptest.NewRecorder()
	return func() {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1/mcp", io.NopCloser(bytes.NewReader(body)))
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"behind__greet"},
		}
		w.Body.Reset()
		clear(w.Header())
		if handler.ServeHTTP(w, r); !bytes.Contains(w.Body.Bytes(), []byte(`"text":"Hello"`)) {
			t.Fatalf("got %s", w.Body)
		}
	}, recorder
}

// A failure here means that the recorder, which every host has, does more for each call than it did.
func TestRecordingOfARelayedCallAllocatesLittle(t *testing.T) {
	allocations := func(records bool) float64 {
		call, recorder := relayedCall(t, records)
		for range 100 {
			call()
		}
		n := testing.AllocsPerRun(200, call)
		if records {
			methods := make(map[string]int)
			for _, m := range recorder.Messages() {
				methods[fmt.Sprint(m.Upstream, " ", m.Kind, " ", m.Method)]++
			}
			for _, want := range []string{" request tools/call", " result tools/call", "behind request tools/call", "behind result tools/call"} {
				if methods[want] < 200 {
					t.Errorf("got %d messages %q, want one for each call: %v", methods[want], want, methods)
				}
			}
		}
		return n
	}
	const ceiling = 22
	if with, without := allocations(true), allocations(false); with > without+ceiling {
		t.Errorf("got %v allocations for a call, and %v without a recorder, want at most %d more", with, without, ceiling)
	}
}

func BenchmarkRelayedCall(b *testing.B) {
	for _, records := range []bool{false, true} {
		b.Run(fmt.Sprintf("recorder=%t", records), func(b *testing.B) {
			call, _ := relayedCall(b, records)
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}

// The arguments of a call reach the upstream as the client has sent them, so the recorder finds for which call it is.
func TestHopsOfARelayedCallAreJoined(t *testing.T) {
	call, recorder := relayedCall(t, true)
	call()
	groups := make(map[uint64]int)
	for _, m := range recorder.Messages() {
		if m.Method == "tools/call" {
			groups[m.Group()]++
		}
	}
	if len(groups) != 1 || groups[0] != 0 {
		t.Errorf("got the messages of one call in the calls %v, want one", groups)
	}
}
