package mcpclient_test

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const mirroring = `{"tools":[
	{"name":"good","inputSchema":{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},
		"n":{"type":"integer","x-mcp-header":"N"},
		"on":{"type":"boolean","x-mcp-header":"On"},
		"deep":{"type":"object","properties":{"er":{"type":"string","x-mcp-header":"Deeper"}}},
		"plain":{"type":"string"}}}},
	{"name":"number","inputSchema":{"type":"object","properties":{"x":{"type":"number","x-mcp-header":"X"}}}},
	{"name":"space","inputSchema":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"a b"}}}},
	{"name":"twice","inputSchema":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"A"},"y":{"type":"string","x-mcp-header":"a"}}}},
	{"name":"items","inputSchema":{"type":"object","properties":{"x":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}}
]}`

func mirrored(e *exchange) {
	if e.message.Method == mcp.MethodToolsList {
		e.json(200, e.result(mirroring))
		return
	}
	e.json(200, e.result(`{"content":[]}`))
}

func TestArgumentsAreMirroredInHeaders(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-144", "R-146a", "R-146b", "R-148a", "R-148b", "R-149a", "D-12", "D-13", "G-d")
	s := web(t, statelessWeb(mirrored))
	var log strings.Builder
	c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if got, err := names(t, c); err != nil || !slices.Equal(got, []string{"good"}) {
		t.Errorf("got %v, %v, want the good tool alone", got, err)
	}
	for _, dropped := range []string{"number", "space", "twice", "items"} {
		if !strings.Contains(log.String(), "tool="+dropped+" error=") {
			t.Errorf("got log %s, want tool %q and the reason", &log, dropped)
		}
	}
	for _, args := range []string{
		`{"region":"eu","n":42,"on":true,"deep":{"er":" é"},"plain":"p"}`,
		`{"region":"","n":null,"deep":{}}`,
	} {
		if _, err := c.CallTool(t.Context(), "good", raw(args)); err != nil {
			t.Fatal(err)
		}
	}
	want := []map[string][]string{
		{"Mcp-Param-Region": {"eu"}, "Mcp-Param-N": {"42"}, "Mcp-Param-On": {"true"}, "Mcp-Param-Deeper": {"=?base64?IMOp?="}},
		{"Mcp-Param-Region": {""}},
	}
	for i, e := range s.exchanges(http.MethodPost, mcp.MethodToolsCall) {
		got := map[string][]string{}
		for key, values := range e.Header {
			if strings.HasPrefix(key, "Mcp-Param-") {
				got[key] = values
			}
		}
		if len(got) != len(want[i]) {
			t.Errorf("call %d: got %v, want %v", i, got, want[i])
		}
		for key, values := range want[i] {
			if !slices.Equal(got[key], values) {
				t.Errorf("call %d: %s: got %q, want %q", i, key, got[key], values)
			}
		}
	}
}

func TestHeaderMarksAreIgnoredOutsideOfStatelessHTTP(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-148c", "D-13")
	s := web(t, sessionWeb(mcp.V20251125, mirrored))
	_, memory := serve(t, stateless(func(_ *script, m message) string {
		return m.result(mirroring)
	}))
	for name, target := range map[string]mcpclient.Target{"session": mcpclient.URL(s.URL), "memory": memory} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, target, nil)
			if got, err := names(t, c); err != nil || len(got) != 5 {
				t.Errorf("got %v, %v, want all five", got, err)
			}
		})
	}
}

func TestMissingHeaderIsFixedByListingAgain(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-151", "D-15")
	var calls, lists atomic.Int32
	s := web(t, statelessWeb(func(e *exchange) {
		if e.message.Method == mcp.MethodToolsList {
			lists.Add(1)
			e.json(200, e.result(mirroring))
			return
		}
		calls.Add(1)
		if e.Header.Get("Mcp-Param-Region") != "eu" {
			e.json(400, e.fail(-32020, "Mcp-Param-Region is missing", ""))
			return
		}
		e.json(200, e.result(`{"content":[]}`))
	}))
	c := connect(t, mcpclient.URL(s.URL), nil)
	if _, err := c.CallTool(t.Context(), "good", raw(`{"region":"eu"}`)); err != nil || calls.Load() != 2 || lists.Load() != 1 {
		t.Errorf("%d calls, %d lists, %v", calls.Load(), lists.Load(), err)
	}
	_, err := c.CallTool(t.Context(), "good", raw(`{"region":"us"}`))
	if mcp.CodeOf(err) != mcp.CodeHeaderMismatch || calls.Load() != 4 {
		t.Errorf("once more is enough: %d calls, %v", calls.Load(), err)
	}
	_, err = c.CallTool(t.Context(), "plain", nil)
	if mcp.CodeOf(err) != mcp.CodeHeaderMismatch || calls.Load() != 5 {
		t.Errorf("without marks there is nothing to mend: %d calls, %v", calls.Load(), err)
	}
}

func TestMissingHeadersAreFoundWithAPriorToo(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-149a")
	s := web(t, statelessWeb(func(e *exchange) {
		if e.message.Method == mcp.MethodToolsCall && e.Header.Get("Mcp-Param-Region") == "" {
			e.json(http.StatusBadRequest, e.fail(-32020, "header missing", ""))
			return
		}
		mirrored(e)
	}))
	c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{Prior: statelessPrior()})
	if _, err := c.CallTool(t.Context(), "good", raw(`{"region":"eu"}`)); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(s.log(), ", "); got != "POST tools/call, POST tools/list, POST tools/call" {
		t.Errorf("got %q, want a list and the call again", got)
	}
}
