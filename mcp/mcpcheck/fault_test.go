package mcpcheck_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpcheck"
)

// simpleServer is a server of 2025-06-18 that answers most requests as it should. The first message that
// contains match gets the reply instead, in which $ID is its id: nothing if it is empty.
type simpleServer struct {
	match, reply string
	ends         bool // the connection ends instead
	stateless    bool // it has 2026-07-28 instead
}

// results are what it answers.
var results = map[string]string{
	"initialize":     `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"simple","version":"1"}}`,
	"ping":           `{}`,
	"tools/list":     `{"tools":[]}`,
	"resources/list": `{"resources":[]}`, "resources/templates/list": `{"resourceTemplates":[]}`,
	"prompts/list": `{"prompts":[]}`,
}

// statelessResult is a result of 2026-07-28 that says the same.
func statelessResult(method string) string {
	if method == "server/discover" {
		return `{"resultType":"complete","supportedVersions":["2026-07-28"],"ttlMs":0,"cacheScope":"private","capabilities":{"tools":{},"resources":{},"prompts":{}}}`
	}
	if result, ok := results[method]; ok && strings.HasSuffix(method, "/list") {
		return `{"resultType":"complete","ttlMs":0,"cacheScope":"private",` + strings.TrimPrefix(result, "{")
	}
	return ""
}

type simpleMessage struct {
	JSONRPC string         `json:"jsonrpc"`
	ID      jsontext.Value `json:"id"`
	Method  string         `json:"method"`
	Params  struct {
		Cursor string `json:"cursor"`
	} `json:"params"`
}

// answer returns the response to a message, empty for none.
func (s *simpleServer) answer(raw string) string {
	var m simpleMessage
	err := json.Unmarshal([]byte(raw), &m)
	id := string(m.ID)
	if id == "" {
		id = "null"
	}
	refused := func(code int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"refused"}}`, id, code)
	}
	result := results[m.Method]
	if s.stateless {
		result = statelessResult(m.Method)
	}
	switch {
	case s.match == unfinished && strings.HasSuffix(raw, ":"):
		return ""
	case s.match != "" && strings.Contains(raw, s.match):
		return strings.ReplaceAll(s.reply, "$ID", id)
	case err != nil && !jsontext.Value(raw).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)):
		return refused(-32700)
	case err != nil, m.JSONRPC != "2.0":
		return refused(-32600)
	case m.ID == nil, m.Method == "": // a notification or a response
		return ""
	case s.stateless && !strings.Contains(raw, `"2026-07-28"`):
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"unsupported","data":{"supported":["2026-07-28"],"requested":"1999-12-31"}}}`, id)
	case m.Params.Cursor != "", strings.HasSuffix(m.Method, "/call"), strings.HasSuffix(m.Method, "/get"), strings.HasSuffix(m.Method, "/read"):
		return refused(-32602)
	case result != "":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	}
	return refused(-32601)
}

// Serve implements mcpclient.Server.
func (s *simpleServer) Serve(ctx context.Context, conn mcp.Conn) error {
	for {
		raw, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		if s.ends && strings.Contains(string(raw), s.match) {
			return nil
		}
		if reply := s.answer(string(raw)); reply != "" {
			if err := conn.Write(ctx, []byte(reply)); err != nil {
				return nil
			}
		}
	}
}

// ServeHTTP serves the same over Streamable HTTP. It has no sessions of its own unless it knows only one.
func (s *simpleServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if r.Method != http.MethodPost || err != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Mcp-Session-Id", "one")
	reply := s.answer(string(raw))
	if reply == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, reply)
}

// unfinished matches a message that ends before its time.
const unfinished = "unfinished"

const anyResult = `{"jsonrpc":"2.0","id":$ID,"result":{}}`

// cancelledError is how some servers answer a request that was cancelled.
const cancelledError = `{"jsonrpc":"2.0","id":"mcpcheck-cancelled","error":{"code":0,"message":"Request cancelled"}}`

type defect struct {
	check  string
	server simpleServer
	status mcpcheck.Status
	text   string
}

// defects are servers that do one thing wrong, and the check that finds it.
var defects = []defect{
	{"messages", simpleServer{match: `"tools/list"`, reply: `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":7}]}}`}, mcpcheck.Fault, "tools/list"},
	{"messages", simpleServer{match: `"tools/list"`, reply: `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[],"resultType":"complete"}}`}, mcpcheck.Warning, "resultType"},
	{"lint", simpleServer{match: `"prompts/list"`, reply: `{"jsonrpc":"2.0","id":$ID,"result":{"prompts":[{"name":"p"}]}}`}, mcpcheck.Warning, `prompt "p"`},
	{"unknown-method", simpleServer{match: "mcpcheck/unknown", reply: anyResult}, mcpcheck.Fault, "want the error -32601"},
	{"string-id", simpleServer{match: `"mcpcheck-1"`, ends: true}, mcpcheck.Fault, "the same id"},
	{"unknown-notification", simpleServer{match: "notifications/mcpcheck", reply: `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}`}, mcpcheck.Fault, "want no answer"},
	{"unknown-members", simpleServer{match: `"mcpcheck":{"a"`, reply: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32602,"message":"no"}}`}, mcpcheck.Fault, "want a result"},
	{"wrong-params", simpleServer{match: `"name":7`, reply: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"no"}}`}, mcpcheck.Warning, "got the error -32603, want -32602"},
	{"unknown-tool", simpleServer{match: "no_such_tool", reply: `{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"isError":true}}`}, mcpcheck.Warning, "got the result"},
	{"unknown-resource", simpleServer{match: "no/such/resource", reply: `{"jsonrpc":"2.0","id":$ID,"result":{"contents":[]}}`}, mcpcheck.Fault, "want the error -32602"},
	{"unknown-prompt", simpleServer{match: "no_such_prompt", reply: anyResult}, mcpcheck.Fault, "want the error"},
	{"unknown-cursor", simpleServer{match: "no-such-cursor", reply: `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[]}}`}, mcpcheck.Warning, "got a list"},
	{
		"unknown-revision",
		simpleServer{match: `"1999-12-31"`, reply: `{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"1999-12-31","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`},
		mcpcheck.Fault, "want a revision that the server has",
	},
	{"invalid-json", simpleServer{match: unfinished}, mcpcheck.Warning, "got no answer, want the error -32700"},
	{"invalid-message", simpleServer{match: "mcpcheck-invalid", reply: `{"jsonrpc":"2.0","id":"mcpcheck-invalid","result":{}}`}, mcpcheck.Fault, "want the error -32600"},
	{"batch", simpleServer{match: "mcpcheck-batch", reply: `[{"jsonrpc":"2.0","id":"mcpcheck-batch","result":{}}]`}, mcpcheck.Warning, "want the error -32600"},
	{"duplicate-members", simpleServer{match: "mcpcheck-b\"", ends: true}, mcpcheck.Fault, "does not withstand it"},
	{"invalid-text", simpleServer{match: "mcpcheck-text", ends: true}, mcpcheck.Fault, "does not withstand it"},
	{"large-message", simpleServer{match: "mcpcheck-large", ends: true}, mcpcheck.Fault, "does not withstand it"},
	{"deep-message", simpleServer{match: "mcpcheck-deep", ends: true}, mcpcheck.Fault, "does not withstand it"},
	{"unknown-cancellation", simpleServer{match: "notifications/cancelled", reply: `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no"}}`}, mcpcheck.Fault, "want no answer"},
	{"cancellation", simpleServer{match: `"requestId":"mcpcheck-cancelled"`, reply: cancelledError}, mcpcheck.Fault, "got 2 answers to a request that was cancelled"},
	{"cancellation", simpleServer{match: `"requestId":"mcpcheck-cancelled"`, ends: true}, mcpcheck.Fault, "after a request was cancelled"},
	{"cancellation", simpleServer{match: `"requestId":"mcpcheck-cancelled"`, reply: `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}`}, mcpcheck.Fault, "want no answer"},
	{"cancellation", simpleServer{match: `"id":"mcpcheck-cancelled"`, reply: cancelledError}, mcpcheck.Warning, "Request cancelled"},
	{"stray-response", simpleServer{match: `"mcpcheck-none","result"`, reply: `{"jsonrpc":"2.0","id":"mcpcheck-none","result":{}}`}, mcpcheck.Fault, "want no answer"},
}

// statelessDefects are those of servers of 2026-07-28 alone.
var statelessDefects = []defect{
	{"unknown-method", simpleServer{stateless: true, match: "mcpcheck/unknown", reply: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"no"}}`}, mcpcheck.Warning, "want -32601"},
	{"unknown-revision", simpleServer{stateless: true, match: `"1999-12-31"`, reply: `{"jsonrpc":"2.0","id":$ID,"result":` + statelessResult("server/discover") + `}`}, mcpcheck.Fault, "want the error -32022"},
	{"messages", simpleServer{stateless: true, match: `"tools/list"`, reply: `{"jsonrpc":"2.0","id":$ID,"result":{"tools":[]}}`}, mcpcheck.Fault, "resultType"},
	{"cancellation", simpleServer{stateless: true, match: `"requestId":"mcpcheck-cancelled"`, reply: cancelledError}, mcpcheck.Fault, "got 2 answers to a request that was cancelled"},
	{"cancellation", simpleServer{stateless: true, match: `"requestId":"mcpcheck-cancelled"`, ends: true}, mcpcheck.Fault, "after a request was cancelled"},
	{"deep-message", simpleServer{stateless: true, match: "mcpcheck-deep", ends: true}, mcpcheck.Fault, "does not withstand it"},
}

func TestSimpleServersHaveNoFaults(t *testing.T) {
	t.Parallel()
	for _, s := range []*simpleServer{{}, {stateless: true}} {
		r, err := mcpcheck.Run(t.Context(), mcpcheck.Target{Server: s}, nil)
		if err != nil || r.Worst() != mcpcheck.OK || len(r.Revisions) != 1 {
			t.Errorf("stateless %v: got %+v, %v, want one revision without faults", s.stateless, r, err)
		}
	}
}

// A lateServer answers the large message only when it gets a cancellation, after the requests in between.
type lateServer struct {
	simpleServer
	until string // what the message has that is answered afterwards
}

func (s *lateServer) Serve(ctx context.Context, conn mcp.Conn) error {
	held := ""
	for {
		raw, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		replies := []string{s.answer(string(raw))}
		if strings.Contains(string(raw), `"mcpcheck-large"`) {
			held, replies = replies[0], nil
		} else if strings.Contains(string(raw), s.until) {
			replies, held = append([]string{held}, replies...), ""
		}
		for _, reply := range replies {
			if reply == "" {
				continue
			}
			if err := conn.Write(ctx, []byte(reply)); err != nil {
				return nil
			}
		}
	}
}

func TestAnswersInAnotherOrderAreNoFault(t *testing.T) {
	t.Parallel()
	for _, until := range []string{`"requestId":"mcpcheck-none"`, `"requestId":"mcpcheck-cancelled"`, `"mcpcheck-none","result"`} {
		for _, stateless := range []bool{false, true} {
			r, err := mcpcheck.Run(t.Context(), mcpcheck.Target{Server: &lateServer{simpleServer{stateless: stateless}, until}}, nil)
			if err != nil || r.Worst() != mcpcheck.OK {
				t.Errorf("%s, stateless %v: got %+v, %v, want no fault", until, stateless, r, err)
			}
		}
	}
}

func TestEachDefectIsFoundByItsCheck(t *testing.T) {
	t.Parallel()
	for _, d := range slices.Concat(defects, statelessDefects) {
		t.Run(d.check, func(t *testing.T) {
			t.Parallel()
			r, err := mcpcheck.Run(t.Context(), mcpcheck.Target{Server: &d.server}, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range r.Results {
				if found := one.Check == d.check && one.Status == d.status && strings.Contains(one.Text, d.text); found {
					revision := "2025-06-18"
					if d.server.stateless {
						revision = "2026-07-28"
					}
					if !strings.HasPrefix(one.Spec, "https://modelcontextprotocol.io/specification/"+revision+"/") && d.check != "lint" {
						t.Errorf("got %+v, want the page of the specification", one)
					}
					return
				}
			}
			t.Errorf("got %+v, want %s %s, %q", r.Results, d.check, d.status, d.text)
		})
	}
}

func TestCarelessHTTPServersAreFound(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(&simpleServer{})
	t.Cleanup(web.Close)
	var heard []mcpcheck.Result
	r, err := mcpcheck.Run(t.Context(), mcpcheck.Target{URL: web.URL}, &mcpcheck.Options{OnResult: func(one mcpcheck.Result) { heard = append(heard, one) }})
	if err != nil {
		t.Fatal(err)
	}
	for _, check := range []string{"foreign-origin", "unknown-revision-header", "unknown-session"} {
		if !slices.ContainsFunc(r.Results, func(one mcpcheck.Result) bool { return one.Check == check && one.Status == mcpcheck.Fault }) {
			t.Errorf("got %+v, want a fault of %s", r.Results, check)
		}
	}
	if r.Worst() != mcpcheck.Fault || !slices.Equal(heard, r.Results) || r.Server.Name != "simple" || !slices.Equal(r.Revisions, []mcp.Revision{mcp.V20250618}) {
		t.Errorf("got %s, %v, %v, %d of %d results, want those of the server", r.Worst(), r.Server, r.Revisions, len(heard), len(r.Results))
	}
}

func TestHTTPServerThatAnswersACancelledRequestTwiceIsFound(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(&simpleServer{match: `"requestId":"mcpcheck-cancelled"`, reply: cancelledError})
	t.Cleanup(web.Close)
	r, err := mcpcheck.Run(t.Context(), mcpcheck.Target{URL: web.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Results, func(one mcpcheck.Result) bool { return one.Check == "cancellation" })
	if i < 0 || r.Results[i].Status == mcpcheck.OK || !strings.Contains(r.Results[i].Text, "to a request that was cancelled") {
		t.Errorf("got %+v, want the answer to the cancellation found", r.Results)
	}
}

// A server that has ended is one fault, and not one of each check that follows.
func TestServerThatEndsIsOneFault(t *testing.T) {
	t.Parallel()
	simple, ended := new(simpleServer), new(atomic.Bool)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil || ended.Load() || bytes.Contains(raw, []byte("tools/call")) {
			ended.Store(true)
			panic(http.ErrAbortHandler)
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		simple.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	r, err := mcpcheck.Run(t.Context(), mcpcheck.Target{URL: web.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	faults, skipped := 0, 0
	for _, one := range r.Results {
		switch {
		case one.Status == mcpcheck.Fault:
			faults++
		case one.Status == mcpcheck.Skipped && strings.Contains(one.Text, "still no new connection"):
			skipped++
		}
	}
	if faults != 2 || skipped < 10 {
		t.Errorf("got %d faults, %d checks skipped, want the request that ended the server, the next one, and no other", faults, skipped)
	}
}

func TestServersWithEventStreamsAloneHaveNoFurtherChecks(t *testing.T) {
	t.Parallel()
	streams := newServer(nil).EventStreamHandler()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && r.URL.RawQuery == "" { // Streamable HTTP
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		streams.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	r, err := mcpcheck.Run(t.Context(), mcpcheck.Target{URL: web.URL + "/sse"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := r.Results[len(r.Results)-1]
	if n := len(r.Results); n > 8 || last.Check != "connection" || last.Status != mcpcheck.Fault || !strings.Contains(last.Text, "Streamable HTTP") {
		t.Errorf("got %d results, %+v, want the messages and one fault", n, last)
	}
}

func TestServersThatCannotBeUsedAreAnError(t *testing.T) {
	t.Parallel()
	gone := simpleServer{match: "jsonrpc", ends: true}
	if r, err := mcpcheck.Run(t.Context(), mcpcheck.Target{Server: &gone}, nil); r != nil || err == nil || !strings.Contains(err.Error(), "2025-11-25: ") {
		t.Errorf("got %+v, %v, want the errors of each revision", r, err)
	}
	if _, err := mcpcheck.Run(t.Context(), mcpcheck.Target{}, nil); err == nil || !strings.Contains(err.Error(), "exactly one of Command, URL and Server") {
		t.Errorf("got %v, want an error of the target", err)
	}
}

func TestEachCheckIsTestedAndExplained(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("probes.go")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("fault_test.go")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"messages", "lint", "connection"}
	for _, m := range regexp.MustCompile(`\{name: "([a-z-]+)"`).FindAllSubmatch(source, -1) {
		names = append(names, string(m[1]))
	}
	if len(names) < 20 {
		t.Fatalf("got %q, want all checks", names)
	}
	for _, name := range names {
		if !strings.Contains(string(tests), `"`+name+`"`) {
			t.Errorf("%s: no test has a server with this defect", name)
		}
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("%s: docs/check.md does not explain it", name)
		}
	}
}
