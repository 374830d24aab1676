package mcptest_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A trial is a test whose failures are kept.
type trial struct {
	testing.TB
	mu       sync.Mutex
	failures []string
}

func (t *trial) Helper() {}

func (t *trial) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

// only fails the test unless the trial has failed once, for the reason.
func (t *trial) only(reason string) {
	t.TB.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failures) != 1 || !strings.Contains(t.failures[0], reason) {
		t.TB.Errorf("got %q, want one failure that says %q", t.failures, reason)
	}
}

// played is a server that answers each request with the same result, and
// server/discover as it should.
type played struct{ result string }

const discovered = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`

func (p played) Serve(ctx context.Context, conn mcp.Conn) error {
	for {
		msg, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		if answer := p.answer(msg); answer != "" {
			_ = conn.Write(ctx, []byte(answer))
		}
	}
}

func (p played) answer(msg []byte) string {
	m := parseHead(msg)
	switch {
	case m.ID == nil:
		return ""
	case m.Method == mcp.MethodDiscover:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, discovered)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, p.result)
}

func (p played) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, p.answer(body))
}

const noTools = `{"resultType":"complete","tools":[{"name":"x"}],"ttlMs":0,"cacheScope":"private"}`

// Whatever stands between the peers, it sees what is wrong.
func TestWrongMessageFailsTheTest(t *testing.T) {
	t.Parallel()
	const want = `/tools/0: missing "inputSchema"`
	list := func(t *testing.T, target mcpclient.Target, o *mcpclient.Options) {
		t.Helper()
		c, err := mcpclient.Connect(t.Context(), target, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for range c.Tools(t.Context()) {
		}
	}
	t.Run("a connection", func(t *testing.T) {
		t.Parallel()
		try := &trial{TB: t}
		list(t, mcpclient.Conn(mcptest.Dial(try, played{noTools})), nil)
		try.only(want)
	})
	t.Run("a client", func(t *testing.T) {
		t.Parallel()
		try := &trial{TB: t}
		for range mcptest.Connect(try, played{noTools}, nil).Tools(t.Context()) {
		}
		try.only(want)
	})
	t.Run("a handler", func(t *testing.T) {
		t.Parallel()
		try := &trial{TB: t}
		web := httptest.NewServer(mcptest.CheckHandler(try, played{noTools}))
		defer web.Close()
		list(t, mcpclient.URL(web.URL), nil)
		try.only(want)
	})
	t.Run("a transport", func(t *testing.T) {
		t.Parallel()
		try := &trial{TB: t}
		web := httptest.NewServer(played{noTools})
		defer web.Close()
		list(t, mcpclient.URL(web.URL), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Client: &http.Client{Transport: mcptest.CheckTransport(try, nil)}}})
		try.only(want)
	})
	t.Run("a transcript", func(t *testing.T) {
		t.Parallel()
		transcript := read(t, "testdata/ping/2025-11-25.txtar")
		transcript.Lines[len(transcript.Lines)-1].Message = jsontext.Value(`{"jsonrpc":"2.0","id":99,"result":{}}`)
		if err := transcript.Check(); err == nil || !strings.Contains(err.Error(), "without a request") {
			t.Errorf("got %v", err)
		}
	})
}

func TestOnlyMessagesOfOneSideAreChecked(t *testing.T) {
	t.Parallel()
	try := &trial{TB: t}
	conn := mcptest.CheckWire(try, mcptest.Dial(t, newFixture()), mcptest.Client, mcptest.CheckOnly(mcptest.Server))
	if err := conn.Write(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/progress"}`)); err != nil {
		t.Fatal(err)
	}
	if len(try.failures) != 0 {
		t.Errorf("got %q of the side that is not checked", try.failures)
	}
}

// The methods of an extension are checked as soon as their form is known.
func TestMethodOfAnExtension(t *testing.T) {
	t.Parallel()
	type params struct {
		Shelf int      `json:"shelf"`
		Meta  mcp.Meta `json:"_meta,omitempty"`
	}
	type result struct {
		mcp.ResultBase
		Books []string `json:"books"`
	}
	for given, want := range map[string]string{
		`{"shelf":"top"}`: "/shelf: want integer",
		`{"shelf":1}`:     "/books/0: want string",
	} {
		try := &trial{TB: t}
		ours, theirs := memory.Pair()
		conn := mcptest.CheckWire(try, ours, mcptest.Client, mcptest.ExpectMethod("books/list", params{}, result{}))
		ask := `{"jsonrpc":"2.0","id":1,"method":"books/list","params":` + given + `}`
		if err := conn.Write(t.Context(), []byte(ask)); err != nil {
			t.Fatal(err)
		}
		if want == "/books/0: want string" {
			if err := theirs.Write(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"result":{"books":[5]}}`)); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		_ = conn.Close()
		try.only(want)
	}
}

func TestGreaseDetectsAPeerThatAcceptsUnknownMethods(t *testing.T) {
	t.Parallel()
	try := &trial{TB: t}
	s := played{`{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`}
	c := mcptest.Connect(t, mcptest.WrapConn(s, func(conn mcp.Conn) mcp.Conn { return mcptest.Grease(try, conn, 1) }), nil)
	for range 20 {
		for range c.Tools(t.Context()) {
		}
	}
	if len(try.failures) == 0 || !strings.Contains(try.failures[0], "unknown method") {
		t.Errorf("got %q, want what was answered to unknown methods", try.failures)
	}
}

// Without this the tests under grease and with bad peers could show nothing.
func TestGreaseAndFaultsAreInjected(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		wrap func(mcp.Conn) mcp.Conn
		mark string
	}{
		"grease":     {func(c mcp.Conn) mcp.Conn { return mcptest.Grease(t, c, 1) }, `"grease`},
		"strays":     {func(c mcp.Conn) mcp.Conn { return mcptest.InjectFaults(c, mcptest.Faults{UnknownResponses: true}) }, `"stray`},
		"duplicates": {func(c mcp.Conn) mcp.Conn { return mcptest.InjectFaults(c, mcptest.Faults{Duplicates: true}) }, `"id":3,"result"`},
	} {
		between := mcptest.Record(test.wrap(mcptest.Dial(t, newFixture())), mcptest.Client)
		c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(between), nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err := c.CallTool(t.Context(), "echo", map[string]string{"text": "x"}); err != nil {
				t.Error(err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if got := strings.Count(between.Transcript().String(), test.mark); got < 2 {
			t.Errorf("%s: got %d marks in\n%s", name, got, between.Transcript())
		}
	}
}

func TestReorderSendsAnswersInAnotherOrder(t *testing.T) {
	t.Parallel()
	ours, theirs := memory.Pair()
	conn := mcptest.InjectFaults(ours, mcptest.Faults{Reorder: true})
	defer conn.Close()
	const n = 40
	for i := range n {
		if err := theirs.Write(t.Context(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{}}`, i)); err != nil {
			t.Fatal(err)
		}
	}
	seen, overtaken := make(map[string]bool), 0
	for i := range n {
		msg, err := conn.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		id := string(parseHead(msg).ID)
		if id != fmt.Sprint(i) {
			overtaken++
		}
		seen[id] = true
	}
	if len(seen) != n || overtaken < 10 {
		t.Errorf("got %d of %d answers, %d of them out of order", len(seen), n, overtaken)
	}
}

// head is what a played server has to know of a message.
type head struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
}

func parseHead(msg []byte) (h head) {
	_ = json.Unmarshal(msg, &h)
	return h
}

// canned answers every request with the same event stream.
type canned string

func (c canned) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(string(c))),
	}, nil
}

// Lines of an event stream end in three ways, and its messages are checked in each.
func TestEventsAreCheckedHoweverTheirLinesEnd(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n", "\r"} {
		try := &trial{TB: t}
		rt := mcptest.CheckTransport(try, canned("event: message"+end+`data: {"jsonrpc":"2.0","result":{}}`+end+end))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://x.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := rt.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if len(try.failures) != 1 {
			t.Errorf("lines that end in %q: got %q, want the answer to nothing", end, try.failures)
		}
	}
}

// early answers when it has read as many bytes of a request as its header announces. It reads the end
// of the body only after its response was read, as net/http may do.
type early struct{ played }

func (e early) RoundTrip(r *http.Request) (*http.Response, error) {
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(e.answer(body))),
	}, nil
}

func TestResponseMayArriveBeforeTheEndOfTheRequestIsRead(t *testing.T) {
	t.Parallel()
	try := &trial{TB: t}
	rt := mcptest.CheckTransport(try, early{played{`{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}`}})
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL("http://x.example/"), &mcpclient.Options{
		HTTP: mcpclient.HTTPOptions{Client: &http.Client{Transport: rt}}, Revisions: []mcp.Revision{mcp.V20260728},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, err := range c.Tools(t.Context()) {
		t.Errorf("got %v, want no tool", err)
	}
	if len(try.failures) != 0 {
		t.Errorf("got %q, want no wrong message", try.failures)
	}
}
