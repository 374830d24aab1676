package mcpclient_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// proxiedWeb is a server behind a proxy that fails: what the client sends is not checked, because
// the server does not get all of it.
func proxiedWeb(t *testing.T, handle func(e *exchange)) *webServer {
	t.Helper()
	s := &webServer{handle: handle}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Server.Close)
	return s
}

// A failure here means that a call waits for an answer that the client has given, because the
// replica that got it was killed.
func TestAnswerIsSentAgainAfterAFailureOfAProxy(t *testing.T) {
	t.Parallel()
	var posted atomic.Int32
	answered := make(chan struct{})
	s := proxiedWeb(t, sessionWeb(mcp.V20250618, func(e *exchange) {
		switch {
		case e.message.Method == mcp.MethodToolsCall:
			e.event("data: " + `{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Go on?","requestedSchema":{"type":"object","properties":{}}}}`)
			select {
			case <-answered:
				e.event("data: " + e.message.result(`{"content":[]}`))
			case <-e.Request.Context().Done():
			}
		case e.Request.Method == http.MethodPost && e.message.Method == "" && posted.Add(1) == 1:
			e.w.WriteHeader(http.StatusBadGateway)
		case e.Request.Method == http.MethodPost && e.message.Method == "":
			e.w.WriteHeader(http.StatusAccepted)
			close(answered)
		default:
			e.w.WriteHeader(http.StatusMethodNotAllowed)
		}
	}))
	c := connect(t, mcpclient.URL(s.URL), &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20250618},
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{}`)}, nil
		},
	})
	if _, err := c.CallTool(t.Context(), "ask", nil); err != nil || posted.Load() != 2 {
		t.Errorf("got %v after %d answers, want success after 2", err, posted.Load())
	}
}

// A failure here means that a call that runs is reported as one that has not run, because another
// one was refused.
func TestRefusedMessageEndsNoOtherCallOverHTTPWithSSE(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusBadGateway} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			streams, began := makeChan(), make(chan message, 1)
			old := eventStreamWeb("/messages", streams)
			s := proxiedWeb(t, func(e *exchange) {
				switch e.message.Method {
				case mcp.MethodToolsCall:
					e.w.WriteHeader(http.StatusAccepted)
					began <- e.message
				case mcp.MethodPing:
					e.w.Header().Set("Retry-After", "1")
					e.w.WriteHeader(status)
				default:
					old(e)
				}
			})
			c := connect(t, mcpclient.EventStream(s.URL+"/sse"), &mcpclient.Options{NoRestart: true})
			ended := make(chan error, 1)
			go func() {
				_, err := c.CallTool(t.Context(), "slow", nil)
				ended <- err
			}()
			call := <-began
			err := c.Ping(t.Context())
			_, unsure := errors.AsType[*mcpclient.MayHaveRunError](err)
			if e, ok := errors.AsType[*mcpclient.HTTPError](err); !ok || e.Status != status || unsure != (status == http.StatusBadGateway) {
				t.Errorf("got %v, may have run: %v, want the status %d", err, unsure, status)
			}
			stream := <-streams
			stream.event("event: message", "data: "+call.result(`{"content":[]}`))
			streams <- stream
			if err := <-ended; err != nil {
				t.Errorf("the other call: got %v, want its result", err)
			}
		})
	}
}
