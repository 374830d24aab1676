package streamhttp

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
)

var initializeBatching = strings.Replace(initialize, "2025-11-25", mcp.V20250326.String(), 1)

func TestBatchIsAnsweredAsOneArray(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-010a", "R-011")
	s := serveTest(t, newTestCore(plainTools), nil)
	id := s.open(initializeBatching)
	for _, tt := range []struct {
		name   string
		body   string
		status int
		kind   string
		want   []string
	}{
		{"calls", "[" + callTool(1, "hello") + "," + callTool(2, "fail") + "]", 200, httpheader.TypeJSON, []string{`[{"jsonrpc":"2.0","id":1,`, `hello`, `-32602`, `]`}},
		{"call among notifications", "[" + initialized + "," + callTool(1, "hello") + "]", 200, httpheader.TypeJSON, []string{`[{"jsonrpc":"2.0","id":1,`}},
		{"bad item", "[" + callTool(1, "hello") + `,{"jsonrpc":"2.0"}]`, 200, httpheader.TypeJSON, []string{`"id":1`, `-32600`}},
		{"initialize", "[" + initialize + "]", 200, httpheader.TypeJSON, []string{`not in a batch`}},
		{"call that talks", "[" + callTool(1, "talk") + "]", 200, httpheader.TypeEventStream, []string{event(noteA), event(noteB), "data: [{", "said"}},
		{"notifications", "[" + initialized + "," + initialized + "]", 202, "", nil},
		{"responses", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, 202, "", nil},
		{"empty", "[]", 400, httpheader.TypeJSON, []string{"-32600"}},
		{"no JSON", "[{]", 400, httpheader.TypeJSON, []string{"-32700"}},
		{"too many", "[" + strings.Repeat(initialized+",", 100) + initialized + "]", 400, httpheader.TypeJSON, []string{"-32600"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := s.post(tt.body, httpheader.SessionID, id)
			if a.status != tt.status || a.header.Get(httpheader.ContentType) != tt.kind {
				t.Errorf("got status %d, type %q, body %s, want %d, %q", a.status, a.header.Get(httpheader.ContentType), a.body, tt.status, tt.kind)
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
	go func() { got <- s.post("["+callTool(5, "wait")+","+callTool(6, "wait")+"]", httpheader.SessionID, id) }()
	eventually(t, "both calls run", func() bool { return session.Running.Len() == 2 })
	cancel := func(id string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`
	}
	s.post("["+cancel("5")+","+cancel("6")+"]", httpheader.SessionID, id)
	if a := <-got; a.status != 200 || a.header.Get(httpheader.ContentType) != httpheader.TypeEventStream || a.body != "" {
		t.Errorf("got status %d, type %q, body %q, want an empty stream", a.status, a.header.Get(httpheader.ContentType), a.body)
	}
}

func TestBatchOverAnEventStreamIsAnsweredAsOneEvent(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-010a", "R-011")
	s := serveEventStream(t, newTestCore(plainTools), nil)
	stream, there := s.connect()
	there.post(initializeBatching)
	stream.event()
	for _, tt := range []struct {
		body string
		want []string // one event each
	}{
		{"[" + callTool(1, "hello") + "," + initialized + "," + callTool(2, "fail") + `,{"jsonrpc":"2.0"},` + initialize + `,{"jsonrpc":"2.0","id":9,"result":{}}]`, []string{`data: [{"jsonrpc":"2.0","id":1,"result"`}},
		{"[" + callTool(3, "talk") + "]", []string{event(noteA), event(noteB), `data: [{"jsonrpc":"2.0","id":3,"result"`}},
		{"[]", []string{`data: {"jsonrpc":"2.0","error":{"code":-32600`}},
		{"[" + initialized + "]", nil},
		{ping, []string{`data: {"jsonrpc":"2.0","id":1,"result":{}}`}},
	} {
		if a := there.post(tt.body); a.status != 202 || a.body != "" {
			t.Errorf("%s: got status %d, body %s, want 202 and none", tt.body, a.status, a.body)
		}
		for _, want := range tt.want {
			if got := stream.event(); !strings.Contains(got, want) {
				t.Errorf("%s: got %q, want %q", tt.body, got, want)
			}
		}
	}
}

// A batch is as large as its limit allows and no larger, however small its items.
func TestCallsOfABatchCountAsCalls(t *testing.T) {
	t.Parallel()
	s := serveTest(t, newTestCore(plainTools), nil)
	id := s.open(initializeBatching)
	var items []string
	for n := range 100 {
		items = append(items, callTool(n, "wait"))
	}
	got := make(chan answer)
	go func() { got <- s.post("["+strings.Join(items, ",")+"]", httpheader.SessionID, id) }()
	session := s.core.session()
	eventually(t, "all calls run", func() bool { return session.Running.Len() == len(items) })
	a := s.post("["+callTool(7, "hello")+","+callTool(1000, "hello")+"]", httpheader.SessionID, id)
	if !strings.Contains(a.body, "a request with this id is running") || !strings.Contains(a.body, `"id":1000,"result"`) {
		t.Errorf("got %s, want the id that is in use refused", a.body)
	}
	s.do("DELETE", "", httpheader.SessionID, id)
	if a := <-got; strings.Count(a.body, `"error"`) != len(items) {
		t.Errorf("got %d errors, want %d", strings.Count(a.body, `"error"`), len(items))
	}
}
