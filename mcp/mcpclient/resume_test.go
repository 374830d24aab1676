package mcpclient_test

import (
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A server that polls its client: it closes the connection each time before it
// has said everything.
func TestCallIsPolledAndEachMessageIsTakenOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-106a", "R-106b", "R-114")
	var call message
	gets := make(chan string, 8)
	s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
		last := e.Header.Get("Last-Event-Id")
		switch {
		case e.message.Method == mcp.MethodToolsCall:
			call = e.message
			e.event("id: a-0", "data: ")
			e.event("id: a-1", progressOf(call, 1))
			e.event("id: a-1", "retry: 500", "data: ")
		case e.Request.Method == http.MethodGet && last == "":
			e.w.WriteHeader(http.StatusMethodNotAllowed)
		case last == "a-1":
			gets <- last
			e.event("id: a-1", progressOf(call, 1)) // a server that counts from the wrong end
			e.event("id: a-2", progressOf(call, 2))
		case last == "a-2":
			gets <- last
			e.event("id: a-2", "data: ")
			e.event("data: " + call.result(`{"content":[]}`)) // an event without an id of its own
		}
	}))
	c := connect(t, mcpclient.URL(s.URL), nil)
	var got []float64
	_, err := c.CallTool(t.Context(), "slow", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) { got = append(got, p.Progress) }))
	if err != nil || !slices.Equal(got, []float64{1, 2}) || len(gets) != 2 {
		t.Errorf("got %v after %d polls, %v, want 1 and 2 after 2", got, len(gets), err)
	}
	for _, e := range s.exchanges(http.MethodGet, "") {
		if e.Header.Get("Last-Event-Id") != "" && e.Header.Get("Mcp-Session-Id") != "s0" {
			t.Errorf("resumed in session %q, want s0", e.Header.Get("Mcp-Session-Id"))
		}
	}
	if got := len(s.exchanges(http.MethodPost, mcp.MethodToolsCall)); got != 1 {
		t.Errorf("called %d times, want once", got)
	}
}

func TestStreamThatCannotBeResumedIsALostCall(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func(e *exchange){
		"refused":        func(e *exchange) { e.json(http.StatusBadRequest, e.fail(-32600, "not kept any more", "")) },
		"no GET":         func(e *exchange) { e.w.WriteHeader(http.StatusMethodNotAllowed) },
		"another answer": func(e *exchange) { e.json(http.StatusOK, `{}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
				switch {
				case e.message.Method == mcp.MethodToolsCall:
					e.event("id: 1", "retry: 1", "data:")
				case e.Request.Method == http.MethodGet:
					refuse(e)
				}
			}))
			c := connect(t, mcpclient.URL(s.URL), nil)
			_, err := c.CallTool(t.Context(), "slow", nil)
			if _, ok := errors.AsType[*mcpclient.LostError](err); !ok {
				t.Errorf("got %v, want a LostError", err)
			}
			if got := resumptions(s); got != 1 {
				t.Errorf("tried %d times, want once", got)
			}
		})
	}
}

// resumptions counts the connections that go on behind an event.
func resumptions(s *webServer) (n int) {
	for _, e := range s.exchanges(http.MethodGet, "") {
		if e.Header.Get("Last-Event-Id") != "" {
			n++
		}
	}
	return n
}

func TestRetryOfZeroDoesNotMakeTheClientFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &webServer{handle: sessionWeb(mcp.V20251125, func(e *exchange) {
			switch {
			case e.message.Method == mcp.MethodToolsCall:
				e.event("id: 1", "retry: 0", "data:")
			case e.Header.Get("Last-Event-Id") != "":
				e.event("id: 1", "retry: 0", "data:")
			default:
				e.w.WriteHeader(http.StatusMethodNotAllowed)
			}
		})}
		c := connect(t, mcpclient.URL("http://server.example/mcp"), overMemory(s))
		_, err := c.CallTool(t.Context(), "slow", nil, mcpclient.WithTimeout(1200*time.Millisecond))
		if err == nil {
			t.Error("got no error, want the deadline")
		}
		if got := resumptions(s); got == 0 || got > 2 {
			t.Errorf("came back %d times in 1.2 s, want 1 or 2", got)
		}
	})
}

// What was missed on the standalone stream is lost; what comes is not.
func TestStandaloneStreamContinuesWhenMissedEventsAreGone(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
		switch last := e.Header.Get("Last-Event-Id"); {
		case e.Request.Method != http.MethodGet:
		case last != "":
			e.json(http.StatusBadRequest, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"not kept"}}`)
		case opened.Add(1) == 1:
			e.event("id: 7", "retry: 1", "data:")
		default:
			e.event(`data: {"jsonrpc":"2.0","method":"acme/news"}`)
			e.hold()
		}
	}))
	seen := make(chan string, 8)
	connect(t, mcpclient.URL(s.URL), &mcpclient.Options{
		OnEvent: func(_ ctxT, e mcpclient.Event) {
			if e.Kind == mcpclient.EventGap {
				seen <- "gap"
			}
		},
		OnNotification: func(_ ctxT, method string, _ rawValue) { seen <- method },
	})
	if first, second := <-seen, <-seen; first+" "+second != "gap acme/news" {
		t.Errorf("got %s %s, want a gap, and then the news", first, second)
	}
	if got := resumptions(s); got != 1 {
		t.Errorf("tried to go on %d times, want once", got)
	}
}

func TestBrokenStreamWithoutEventIDsIsALostCall(t *testing.T) {
	t.Parallel()
	s := web(t, sessionWeb(mcp.V20251125, func(e *exchange) {
		switch {
		case e.message.Method == mcp.MethodToolsCall:
			e.event(`data: {"jsonrpc":"2.0","method":"acme/news"}`)
		default:
			e.w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	c := connect(t, mcpclient.URL(s.URL), nil)
	_, err := c.CallTool(t.Context(), "slow", nil)
	if _, ok := errors.AsType[*mcpclient.LostError](err); !ok || resumptions(s) != 0 {
		t.Errorf("got %v after %d tries, want a LostError without any: there was no event id", err, resumptions(s))
	}
}
