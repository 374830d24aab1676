package mcpclient_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// eventStreamWeb is a server of HTTP+SSE at /sse, which names the endpoint.
func eventStreamWeb(endpoint string, streams chan *exchange) func(*exchange) {
	return func(e *exchange) {
		switch {
		case e.Request.Method == http.MethodGet && e.URL.Path == "/sse":
			e.event("event: endpoint", "data: "+endpoint)
			streams <- e
			e.hold()
			<-streams // nothing writes to it any more
		case e.Request.Method == http.MethodPost && e.URL.Path == "/messages":
			e.w.WriteHeader(http.StatusAccepted)
			stream := <-streams
			if text := session(mcp.V20241105, pages{none: page("", "old")}.handle)(nil, e.message); text != "" {
				stream.event("event: message", "data: "+text)
			}
			streams <- stream
		default:
			http.Error(e.w, "Cannot "+e.Request.Method, http.StatusNotFound)
		}
	}
}

func TestServerOfHTTPWithSSEIsFound(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-090", "R-094", "D-17")
	for name, target := range map[string]func(string) mcpclient.Target{"searched": mcpclient.URL, "known": mcpclient.EventStream} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := web(t, eventStreamWeb("/messages?id=1", makeChan()))
			c := connect(t, target(s.URL+"/sse"), &mcpclient.Options{HTTP: mcpclient.HTTPOptions{Header: http.Header{"X-Key": {"k"}}}})
			if got := c.Revision(); got != mcp.V20241105 {
				t.Errorf("got %v, want %v", got, mcp.V20241105)
			}
			if got, err := names(t, c); err != nil || len(got) != 1 {
				t.Errorf("got %v, %v", got, err)
			}
			for _, e := range s.exchanges(http.MethodPost, mcp.MethodToolsList) {
				if e.Header.Get("X-Key") != "k" || e.URL.Query().Get("id") != "1" {
					t.Errorf("got %v %v", e.URL, e.Header)
				}
			}
		})
	}
}

func TestEndpointOfAnotherOriginIsRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-096")
	elsewhere := web(t, func(*exchange) {})
	for name, endpoint := range map[string]string{
		"another port":   elsewhere.URL + "/messages",
		"another host":   "//evil.example/messages",
		"another scheme": "https://" + strings.TrimPrefix(elsewhere.URL, "http://"),
		"no event":       "",
	} {
		t.Run(name, func(t *testing.T) {
			s := web(t, eventStreamWeb(endpoint, makeChan()))
			c, err := mcpclient.Connect(t.Context(), mcpclient.EventStream(s.URL+"/sse"), &mcpclient.Options{Logger: quiet()})
			if err == nil && endpoint != "" {
				c.Close()
				t.Fatal("connected")
			}
			if endpoint != "" && !strings.Contains(err.Error(), "endpoint event: want the origin "+s.URL) {
				t.Errorf("got %v", err)
			}
			if got := elsewhere.log(); len(got) != 0 {
				t.Errorf("the other origin got %v", got)
			}
		})
	}
}

func TestStatelessRevisionIsRefusedOverHTTPWithSSE(t *testing.T) {
	t.Parallel()
	s := web(t, eventStreamWeb("/messages", makeChan()))
	for target, want := range map[mcpclient.Target]string{
		mcpclient.EventStream(s.URL + "/sse"): "Options.Revisions has only 2026-07-28",
		mcpclient.URL(s.URL + "/sse"):         "want one of 2026-07-28",
	} {
		_, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{Logger: quiet(), Revisions: []mcp.Revision{mcp.V20260728}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// The server behind the endpoint was replaced, and the stream does not show it yet.
func TestCallOverHTTPWithSSEWhoseSessionIsUnknownIsSentAgainOverANewStream(t *testing.T) {
	t.Parallel()
	var opened, refused atomic.Int32
	streams := makeChan()
	old, replaced := eventStreamWeb("/messages?id=1", streams), eventStreamWeb("/messages?id=2", makeChan())
	s := web(t, func(e *exchange) {
		switch {
		case e.Request.Method == http.MethodGet && opened.Add(1) > 1 || e.URL.Query().Get("id") == "2":
			replaced(e)
		case e.message.Method == mcp.MethodToolsList:
			refused.Add(1)
			http.Error(e.w, "Could not find session", http.StatusNotFound)
		default:
			old(e)
		}
	})
	c := connect(t, mcpclient.EventStream(s.URL+"/sse"), &mcpclient.Options{NoRestart: true})
	if got, err := names(t, c); err != nil || len(got) != 1 {
		t.Errorf("got %v, %v, want the list of the new session", got, err)
	}
	if got := refused.Load(); got != 1 || opened.Load() != 2 {
		t.Errorf("refused %d times over %d streams, want once over 2", got, opened.Load())
	}
}
