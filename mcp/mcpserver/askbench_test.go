package mcpserver_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// BenchmarkFourQuestions is a call of the stateless era whose handler asks four times,
// which makes five rounds. BenchmarkCall is what a round without questions costs.
func BenchmarkFourQuestions(b *testing.B) {
	s := mcpserver.New("bench", "1", nil)
	s.Tool("hello", "Hello", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 4 {
			if _, err := mcpserver.Ask[colour](ctx, fmt.Sprint("q", i), "Which colour?"); err != nil {
				return "", err
			}
		}
		return "hello", nil
	})
	h := s.HTTPHandler()
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"hello"},
	}
	round := func(more string) []byte {
		text := strings.Replace(benchmarkCall, `"arguments":{}`, `"arguments":{}`+more, 1)
		text = strings.Replace(text, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1)
		r := httptest.NewRequest("POST", "http://localhost/", strings.NewReader(text))
		r.Header = header
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.Bytes()
	}
	b.ReportAllocs()
	for b.Loop() {
		reply := round("")
		for i := range 4 {
			_, state, found := bytes.Cut(reply, []byte(`"requestState":"`))
			if !found {
				b.Fatalf("round %d: got %s", i, reply)
			}
			state, _, _ = bytes.Cut(state, []byte(`"`))
			reply = round(fmt.Sprintf(`,"inputResponses":{"q%d":{"action":"accept","content":{"colour":"red"}}},"requestState":"%s"`, i, state))
		}
		if !bytes.Contains(reply, []byte(`"hello"`)) {
			b.Fatalf("got %s", reply)
		}
	}
}
