package streamhttp

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

var initializeBatching = strings.Replace(initialize, "2025-11-25", mcp.V20250326.String(), 1)

func TestBatchIsAnsweredAsOneArray(t *testing.T) {
	t.Parallel()
	s := serveTest(t, newTestCore(plainTools), nil)
	id := s.open(initializeBatching)
	for _, tt := range []struct {
		name   string
		body   string
		status int
		kind   string
		want   []string
	}{
		{"calls", "[" + callTool(1, "hello") + "," + callTool(2, "fail") + "]", 200, TypeJSON, []string{`[{"jsonrpc":"2.0","id":1,`, `hello`, `-32602`, `]`}},
		{"call among notifications", "[" + initialized + "," + callTool(1, "hello") + "]", 200, TypeJSON, []string{`[{"jsonrpc":"2.0","id":1,`}},
		{"bad item", "[" + callTool(1, "hello") + `,{"jsonrpc":"2.0"}]`, 200, TypeJSON, []string{`"id":1`, `-32600`}},
		{"initialize", "[" + initialize + "]", 200, TypeJSON, []string{`not in a batch`}},
		{"call that talks", "[" + callTool(1, "talk") + "]", 200, TypeEventStream, []string{event(noteA), event(noteB), "data: [{", "said"}},
		{"notifications", "[" + initialized + "," + initialized + "]", 202, "", nil},
		{"responses", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, 202, "", nil},
		{"empty", "[]", 400, TypeJSON, []string{"-32600"}},
		{"no JSON", "[{]", 400, TypeJSON, []string{"-32700"}},
		{"too many", "[" + strings.Repeat(initialized+",", 100) + initialized + "]", 400, TypeJSON, []string{"-32600"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.post(tt.body, HeaderSession, id)
			if a.status != tt.status || a.header.Get(headerContentType) != tt.kind {
				t.Errorf("got status %d, type %q, body %s, want %d, %q", a.status, a.header.Get(headerContentType), a.body, tt.status, tt.kind)
			}
			for _, want := range tt.want {
				if !strings.Contains(plain(a.body), want) {
					t.Errorf("got body %q, want %q in it", a.body, want)
				}
			}
			if tt.want == nil && a.body != "" {
				t.Errorf("got body %q, want none", a.body)
			}
		})
	}
}

func TestBatchOfCancelledCallsEndsWithoutAReply(t *testing.T) {
	t.Parallel()
	s := serveTest(t, newTestCore(plainTools), nil)
	id := s.open(initializeBatching)
	session := s.core.session()
	got := make(chan answer)
	go func() { got <- s.post("["+callTool(5, "wait")+","+callTool(6, "wait")+"]", HeaderSession, id) }()
	eventually(t, "both calls run", func() bool { return session.Running.Len() == 2 })
	cancel := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
	}
	s.post("["+cancel("5")+","+cancel("6")+"]", HeaderSession, id)
	if a := <-got; a.status != 200 || a.header.Get(headerContentType) != TypeEventStream || a.body != "" {
		t.Errorf("got status %d, type %q, body %q, want an empty stream", a.status, a.header.Get(headerContentType), a.body)
	}
}
