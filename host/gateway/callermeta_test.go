package gateway_test

import (
	"context"
	"encoding/json/v2"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A client may send keys of metadata that are none. They are for nobody, and no reason to refuse its calls.
func TestMetadataKeysOffTheGrammarAreNotPassedOn(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		var got mcp.Meta
		srv := mcpserver.New("a", "1", &mcpserver.Options{Revisions: []mcp.Revision{revision}, Logger: quiet})
		srv.Tool("look", "Look", func(ctx context.Context, _ struct{}) (string, error) {
			got = mcpserver.From(ctx).Meta()
			return "seen", nil
		})
		g := start(t, upstream("a", srv))
		conn := mcptest.Dial(t, g.Server())
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a__look","_meta":{"_traceId":"x","my key":1,"a/b/c":{},"com.example/a":true,"b":2}}}`,
		} {
			if err := conn.Write(t.Context(), []byte(message)); err != nil {
				t.Fatal(err)
			}
		}
		for answered := false; !answered; {
			raw, err := conn.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			answered = strings.Contains(string(raw), `"id":1,`)
			if answered && !strings.Contains(string(raw), "seen") {
				t.Errorf("%s: got %s, want the call answered", revision, raw)
			}
		}
		if text, err := json.Marshal(got, json.Deterministic(true)); err != nil || string(text) != `{"b":2,"com.example/a":true}` {
			t.Errorf("%s: the upstream got %s, %v, want the keys that are some", revision, text, err)
		}
	}
}
