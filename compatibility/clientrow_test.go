package compatibility

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A clientRow is a client that deviates from the protocol, and what it is answered.
type clientRow struct {
	name  string
	over  transport
	fresh bool // no session of 2025-11-25 is opened before the steps
	steps []step
}

// A step is one message of the client and the answer to it.
type step struct {
	// send is a message; {up} is the prefix of the names of tools and prompts behind a host.
	// Without a message the step waits for the answer to an earlier one.
	send string
	// want has members that the answer has as well; an array has as many elements, each as
	// wanted. Without it the step does not wait for an answer.
	want   string
	behind string // in place of want behind a host, if it differs

	// Over HTTP:
	method string // default POST
	path   string // default /mcp
	header http.Header
	status int    // wanted; default 200 with an answer, else 202
	text   string // part of the body, in place of want
}

func TestClientsThatDeviate(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(routes(newPlainServer(t)))
	t.Cleanup(web.Close)
	for i := range clientRows {
		row := &clientRows[i]
		if row.over != overHTTP {
			t.Run(row.name+" over stdio", func(t *testing.T) {
				t.Parallel()
				row.run(t, streamTo(t, newPlainServer(t)), "")
			})
		}
		if row.over != overStdio {
			t.Run(row.name+" over http", func(t *testing.T) {
				t.Parallel()
				row.run(t, &rawPoster{t: t, base: web.URL}, "")
			})
		}
	}
}

// A rawClient sends the bytes of one step and checks what is answered.
type rawClient interface{ do(step) }

const (
	openSession   = `{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	sessionOpened = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// run runs the steps of the row.
func (row *clientRow) run(t *testing.T, c rawClient, prefix string) {
	steps := row.steps
	if !row.fresh {
		steps = slices.Concat([]step{{send: openSession, want: `{"id":"open","result":{"protocolVersion":"2025-11-25"}}`}, {send: sessionOpened}}, steps)
	}
	for _, s := range steps {
		s.send = strings.ReplaceAll(s.send, "{up}", prefix)
		if prefix != "" {
			s.want = cmp.Or(s.behind, s.want)
		}
		s.header = s.header.Clone()
		if name := s.header["Mcp-Name"]; name != nil {
			name[0] = strings.ReplaceAll(name[0], "{up}", prefix)
		}
		c.do(s)
		if t.Failed() {
			return
		}
	}
}

// newPlainServer returns a server without deviations.
func newPlainServer(t *testing.T) *mcpserver.Server {
	s := mcpserver.New("plain", "1", &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
	s.Tool("echo", "Returns the text", func(_ context.Context, in struct {
		Text string `json:"text,omitzero"`
	},
	) (string, error) {
		return "text: " + in.Text, nil
	})
	release := make(chan struct{})
	s.Tool("wait", "Waits for release", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-release:
			return "released", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	s.Tool("release", "Ends one wait", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case release <- struct{}{}:
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	s.AddTool(mcp.Tool{Name: "fail", OutputSchema: jsontext.Value(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		return &mcp.CallToolResult{IsError: true, StructuredContent: jsontext.Value(`{"why":"no paper"}`)}, nil
	})
	held := make(chan string)
	s.Tool("hold", "Says that it runs, and why it was cancelled", func(ctx context.Context, _ struct{}) (string, error) {
		held <- "held"
		<-ctx.Done()
		reason := "none"
		if cancelled, ok := errors.AsType[*mcp.CancelledError](context.Cause(ctx)); ok {
			reason = cancelled.Reason
		}
		held <- "cancelled: " + reason
		return "", ctx.Err()
	})
	s.Tool("held", "Returns what the tool hold says", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case said := <-held:
			return said, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	return s
}

func routes(s *mcpserver.Server) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/mcp", s.HTTPHandler())
	mux.Handle("/sse", s.EventStreamHandler())
	return mux
}
