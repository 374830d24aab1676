package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// hookedHTTP is an author's middleware that wraps the response and the body of a request.
type hookedHTTP struct {
	next http.Handler
	hook func(method string)
}

func (h hookedHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r = r.Clone(r.Context())
	r.Body = hookedBody{r.Body, h.hook}
	h.next.ServeHTTP(&hookedWriter{w, h.hook}, r)
}

type hookedBody struct {
	io.ReadCloser
	hook func(method string)
}

func (b hookedBody) Read(p []byte) (int, error) {
	b.hook("Read")
	return b.ReadCloser.Read(p)
}

type hookedWriter struct {
	http.ResponseWriter
	hook func(method string)
}

func (w *hookedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *hookedWriter) WriteHeader(status int) {
	w.hook("WriteHeader")
	w.ResponseWriter.WriteHeader(status)
}

func (w *hookedWriter) Write(p []byte) (int, error) {
	w.hook("Write")
	return w.ResponseWriter.Write(p)
}

func (w *hookedWriter) FlushError() error {
	w.hook("Flush")
	return http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *hookedWriter) SetWriteDeadline(t time.Time) error {
	w.hook("SetWriteDeadline")
	return http.NewResponseController(w.ResponseWriter).SetWriteDeadline(t)
}

// middlewareThat is a method of the http.ResponseWriter or of the body that an author's
// middleware passes to Streamable HTTP, while a tool is called.
func middlewareThat(name, method, tool, logged string) userCode {
	var hooks sync.Map // by *mcpserver.Server
	return userCode{
		name: name, http: true, trigger: callTool(tool), logged: logged,
		prepare: func(_ *mcpserver.Options, hook func()) func(*mcpserver.Server) {
			return func(srv *mcpserver.Server) {
				hooks.Store(srv, hookOf(method, hook))
				srv.Tool("talk", "", func(ctx context.Context, _ struct{}) (string, error) {
					err := mcpserver.From(ctx).Notify(ctx, acmeNote, nil)
					time.Sleep(time.Second) // the notification is flushed before the reply comes
					return "", err
				})
				srv.Tool("slow", "", func(ctx context.Context, _ struct{}) (string, error) {
					select {
					case <-time.After(30 * time.Second):
					case <-ctx.Done():
					}
					return "", nil
				})
			}
		},
		wrap: func(srv *mcpserver.Server, h http.Handler) http.Handler {
			hook, _ := hooks.Load(srv)
			return hookedHTTP{h, hook.(func(string))}
		},
	}
}

// eventStreamThat is a method of the http.ResponseWriter of a connection of HTTP+SSE, during
// the reply to a ping, or later if the reply does not call it.
func eventStreamThat(name, method string, ping bool) userCode {
	var hooks sync.Map // by *mcpserver.Server
	return userCode{
		name: name, logged: "http.ResponseWriter panicked", onlyPanics: !ping, era: func(r mcp.Revision) bool { return !isModern(r) },
		prepare: func(_ *mcpserver.Options, hook func()) func(*mcpserver.Server) {
			return func(srv *mcpserver.Server) { hooks.Store(srv, hookOf(method, hook)) }
		},
		trigger: func(ctx context.Context, srv *mcpserver.Server, _ *mcpclient.Client) error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			loaded, _ := hooks.Load(srv)
			hook := loaded.(func(string))
			var initialized atomic.Bool
			recorder := newLockedRecorder()
			h := hookedHTTP{srv.EventStreamHandler(), func(method string) {
				if initialized.Load() {
					hook(method)
				}
			}}
			aborted := make(chan any, 1)
			go func() {
				defer func() { aborted <- recover() }()
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/sse", nil)
				r.Header.Set("Accept", "text/event-stream")
				h.ServeHTTP(recorder, r)
			}()
			time.Sleep(time.Second)
			_, endpoint, _ := strings.Cut(strings.TrimSpace(recorder.body()), "data: ")
			post := func(message string) {
				r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1"+endpoint, strings.NewReader(message))
				r.Header.Set("Content-Type", "application/json")
				srv.EventStreamHandler().ServeHTTP(httptest.NewRecorder(), r)
				time.Sleep(time.Second)
			}
			post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`)
			initialized.Store(true)
			if ping {
				post(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			}
			select {
			case v := <-aborted:
				if v != nil && v != http.ErrAbortHandler {
					return fmt.Errorf("the handler panicked with %v, want http.ErrAbortHandler", v)
				}
				return nil
			case <-time.After(20 * time.Second):
			}
			cancel()
			<-aborted
			return nil
		},
	}
}

// lockedRecorder is an httptest.ResponseRecorder that is read while it is written.
type lockedRecorder struct {
	mu sync.Mutex
	*httptest.ResponseRecorder
}

func newLockedRecorder() *lockedRecorder {
	return &lockedRecorder{ResponseRecorder: httptest.NewRecorder()}
}

func (r *lockedRecorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ResponseRecorder.Write(p)
}

func (r *lockedRecorder) body() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ResponseRecorder.Body.String()
}
