package httpclient_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/httpclient"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// inbox counts notifications.
type inbox struct {
	mu    sync.Mutex
	notes int
}

func (i *inbox) Notification(jsonrpc.Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.notes++
}

func (*inbox) Request(context.Context, jsonrpc.Message) []byte { return nil }
func (*inbox) Malformed(*jsonrpc.DecodeError) []byte           { return nil }
func (*inbox) LimitReached(mcp.LimitReached)                   {}
func (*inbox) Limits() jsonrpc.Limits                          { return jsonrpc.Limits{} }

// opened is a server that answers each GET with the next of its answers, and the
// last one again and again.
type opened struct {
	mu      sync.Mutex
	answers []func() *http.Response
	at      []time.Time // when each GET came
}

func (o *opened) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	next := o.answers[min(len(o.at), len(o.answers)-1)]
	o.at = append(o.at, time.Now())
	resp := next()
	resp.Request = r
	return resp, nil
}

func (o *opened) times() []time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.at
}

func status(code int) func() *http.Response {
	return func() *http.Response {
		return &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody}
	}
}

// stream is an event stream that ends in an orderly way after some time.
func stream(text string, lasts time.Duration) func() *http.Response {
	return func() *http.Response {
		r, w := io.Pipe()
		go func() {
			_, _ = io.Copy(w, strings.NewReader(text))
			time.Sleep(lasts)
			_ = w.Close()
		}()
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: r}
	}
}

func listening(t *testing.T, answers ...func() *http.Response) (*opened, *inbox, *httpclient.Link) {
	server, notes := &opened{answers: answers}, new(inbox)
	link := httpclient.NewLink(httpclient.ClientParams{
		URL:  &url.URL{Scheme: "http", Host: "server.example", Path: "/mcp"},
		HTTP: &http.Client{Transport: server}, Inbox: notes, MaxMessage: 1 << 20, CloseTimeout: time.Second,
	})
	link.Agree(t.Context(), dialect.Newest(dialect.SessionEra))
	return server, notes, link
}

const note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n"

func TestStandaloneStreamThatIsClosedAtOnceIsReopenedWithBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, _, link := listening(t, stream("", 0))
		time.Sleep(10 * time.Minute)
		times := server.times()
		if n := len(times); n < 10 || n > 20 {
			t.Errorf("got %d connections in 10 min, want one a minute after a few", n)
		}
		if last := times[len(times)-1].Sub(times[len(times)-2]); last < time.Minute {
			t.Errorf("got the last pause of %v, want a minute", last)
		}
		_ = link.Close()
	})
}

func TestStandaloneStreamIsReopenedSoonAfterItHasLasted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, _, link := listening(t, stream("", 30*time.Second))
		time.Sleep(10 * time.Minute)
		if n := len(server.times()); n < 18 {
			t.Errorf("got %d connections in 10 min, want one every 31 s", n)
		}
		_ = link.Close()
	})
}

func TestStandaloneStreamIsReopenedAfterRefusals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		answers []func() *http.Response
		notes   int
	}{
		{"a server that still holds the last stream", []func() *http.Response{stream(note, 0), status(409), status(409), stream(note, time.Hour)}, 2},
		{"a server that never had one", []func() *http.Response{status(405), stream(note, time.Hour)}, 0},
		{"a server that has none any more", []func() *http.Response{stream(note, 0), status(405), stream(note, time.Hour)}, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, notes, link := listening(t, tt.answers...)
			time.Sleep(10 * time.Minute)
			notes.mu.Lock()
			if notes.notes != tt.notes {
				t.Errorf("%s: got %d notifications, want %d", tt.name, notes.notes, tt.notes)
			}
			notes.mu.Unlock()
			_ = link.Close()
			time.Sleep(time.Hour) // until the last stream has ended
		})
	}
}
