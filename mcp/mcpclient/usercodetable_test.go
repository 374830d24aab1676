package mcpclient_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/hooktest"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const exampleNote = "notifications/example"

// userCode is one place at which a client runs code of its user.
type userCode struct {
	name string
	// prepare has hook called there, where that needs options or a target. It may be nil.
	prepare func(f *userCodeFixture, hook func())
	// trigger has the hook called.
	trigger func(ctx context.Context, f *userCodeFixture) error
	logged  string // where the hook panics; empty where its caller gets the panic
	era     func(mcp.Revision) bool
}

// userCodeFixture is what one test needs.
type userCodeFixture struct {
	srv     *mcpserver.Server
	options mcpclient.Options
	target  mcpclient.Target
	conns   []*hookedConn // that the target has made
	c       *mcpclient.Client
	hook    func()
}

// answering returns a prepare for the handler of a question and a trigger that has the
// server ask it.
func answering(name, method, params string, set func(o *mcpclient.Options, hook func())) userCode {
	return userCode{name: name, logged: "handler panicked", prepare: func(f *userCodeFixture, hook func()) {
		set(&f.options, hook)
		f.srv.AddTool(mcp.Tool{Name: "ask"}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			if len(p.InputResponses) > 0 {
				return new(mcp.CallToolResult), nil
			}
			return &mcp.InputRequiredResult{InputRequests: map[string]mcp.InputRequest{"q": {Method: method, Params: jsontext.Value(params)}}}, nil
		})
	}, trigger: calls("ask")}
}

func calls(tool string, opts ...mcpclient.CallOption) func(context.Context, *userCodeFixture) error {
	return func(ctx context.Context, f *userCodeFixture) error {
		_, err := f.c.CallTool(ctx, tool, nil, opts...)
		return err
	}
}

func setting(set func(o *mcpclient.Options, hook func())) func(*userCodeFixture, func()) {
	return func(f *userCodeFixture, hook func()) { set(&f.options, hook) }
}

const (
	anyForm     = `{"mode":"form","message":"Which?","requestedSchema":{"type":"object","properties":{"colour":{"type":"string"}}}}`
	anyURL      = `{"mode":"url","message":"Sign in","url":"https://example.com/","elicitationId":"1"}`
	anySampling = `{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}],"maxTokens":10}`
)

func acceptForm(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
}

func sampleNothing(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "none"}, nil
}

// changesTools has the server announce that its list of tools has changed.
func changesTools(_ context.Context, f *userCodeFixture) error {
	f.srv.AddTool(mcp.Tool{Name: "new"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) { return new(mcp.CallToolResult), nil })
	return nil
}

// loses ends the connection, and makes a call, which makes it anew.
func loses(ctx context.Context, f *userCodeFixture) error {
	_ = f.conns[0].Conn.Close()
	time.Sleep(time.Second)
	return calls("quick")(ctx, f)
}

// dials has the client connect over connections whose methods are hooked.
func dials(prepare func(f *userCodeFixture, hook func())) func(*userCodeFixture, func()) {
	return func(f *userCodeFixture, hook func()) {
		f.target = mcpclient.Dial(func(context.Context) (mcp.Conn, error) { return f.dial(), nil })
		prepare(f, hook)
	}
}

func (f *userCodeFixture) dial() *hookedConn {
	ours, theirs := memory.Pair()
	go func() { _ = f.srv.Serve(context.Background(), theirs) }()
	nothing := func() {}
	conn := &hookedConn{Conn: ours, read: nothing, write: nothing, close: nothing}
	f.conns = append(f.conns, conn)
	return conn
}

// hookedConn is a connection of a user's own.
type hookedConn struct {
	mcp.Conn
	read, write, close func()
}

func (c *hookedConn) Read(ctx context.Context) ([]byte, error) {
	msg, err := c.Conn.Read(ctx)
	c.read()
	return msg, err
}

func (c *hookedConn) Write(ctx context.Context, msg []byte) error {
	c.write()
	return c.Conn.Write(ctx, msg)
}

func (c *hookedConn) Close() error {
	c.close()
	return c.Conn.Close()
}

// hooksConn is a place in a method of a connection.
func hooksConn(name string, set func(c *hookedConn, hook func())) userCode {
	return userCode{name: "Conn." + name, logged: "connection panicked", prepare: dials(func(f *userCodeFixture, hook func()) {
		f.target = mcpclient.Dial(func(context.Context) (mcp.Conn, error) {
			conn := f.dial()
			set(conn, hook)
			return conn, nil
		})
	}), trigger: func(ctx context.Context, f *userCodeFixture) error {
		if name == "Close" {
			return loses(ctx, f)
		}
		return calls("quick")(ctx, f)
	}}
}

type hookedAuthorizer struct{ authorize, challenged func() }

func (a hookedAuthorizer) Authorize(*http.Request) error { a.authorize(); return nil }

func (a hookedAuthorizer) Challenged(*http.Request, *http.Response) error {
	a.challenged()
	return errors.New("nobody is there to sign in")
}

// overHTTP has the client send requests to the server's handler, which refuses those
// without credentials while refuse is set.
func overHTTP(f *userCodeFixture, refuse *atomic.Bool) {
	f.target = mcpclient.URL("http://localhost/mcp")
	f.options.HTTP.Client = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		if refuse != nil && refuse.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			return w.Result(), nil
		}
		f.srv.HTTPHandler().ServeHTTP(w, r)
		return w.Result(), nil
	})}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hooksHTTP is a place in the HTTP client of a user.
func hooksHTTP(name string, set func(c *http.Client, hook func())) userCode {
	return userCode{name: "HTTP.Client." + name, logged: "HTTP client panicked", trigger: calls("quick"), prepare: func(f *userCodeFixture, hook func()) {
		overHTTP(f, nil)
		set(f.options.HTTP.Client, hook)
	}}
}

// proxied has the client dial connections in memory to the server's handler, with a
// function that selects the proxy.
func proxied(f *userCodeFixture, hook func()) {
	f.target = mcpclient.URL("http://localhost/mcp")
	f.options.HTTP.Client = &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		Proxy:             func(*http.Request) (*url.URL, error) { hook(); return nil, nil },
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go serveOne(theirs, f.srv.HTTPHandler())
			return ours, nil
		},
	}}
}

// serveOne serves HTTP on one connection.
func serveOne(c net.Conn, h http.Handler) {
	l := &oneConn{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
	l.conns <- c
	server := &http.Server{Handler: h, ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateClosed {
			close(l.closed)
		}
	}}
	_ = server.Serve(l)
}

// oneConn is a net.Listener with one connection, which is closed with it.
type oneConn struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (*oneConn) Close() error   { return nil }
func (*oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// inEachResponse has the hook called by a method of the body of each response.
func inEachResponse(body func(hook func(), body io.ReadCloser) io.ReadCloser) func(*http.Client, func()) {
	return func(c *http.Client, hook func()) {
		next := c.Transport
		c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				resp.Body = body(hook, resp.Body)
			}
			return resp, err
		})
	}
}

type hookedRead struct {
	io.ReadCloser
	hook func()
}

func (b hookedRead) Read(p []byte) (int, error) {
	b.hook()
	return b.ReadCloser.Read(p)
}

type hookedClose struct {
	io.ReadCloser
	hook func()
}

func (b hookedClose) Close() error {
	b.hook()
	return b.ReadCloser.Close()
}

type hookedJar struct{ set, get func() }

func (j hookedJar) SetCookies(*url.URL, []*http.Cookie) { j.set() }
func (j hookedJar) Cookies(*url.URL) []*http.Cookie     { j.get(); return nil }

func isStateless(r mcp.Revision) bool { return r == mcp.V20260728 }

func userCodes() []userCode {
	var refuse atomic.Bool
	return []userCode{
		answering("ElicitForm", mcp.MethodElicit, anyForm, func(o *mcpclient.Options, hook func()) {
			o.ElicitForm = func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				hook()
				return acceptForm(ctx, p)
			}
		}),
		answering("ElicitURL", mcp.MethodElicit, anyURL, func(o *mcpclient.Options, hook func()) {
			o.ElicitURL = func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				hook()
				return acceptForm(ctx, p)
			}
		}),
		answering("Sample", mcp.MethodCreateMessage, anySampling, func(o *mcpclient.Options, hook func()) {
			o.Sample = func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				hook()
				return sampleNothing(ctx, p)
			}
		}),
		answering("Ask.BeforeSample", mcp.MethodCreateMessage, anySampling, func(o *mcpclient.Options, hook func()) {
			o.Sample = sampleNothing
			o.Ask.BeforeSample = func(context.Context, *mcp.CreateMessageParams) error { hook(); return nil }
		}),
		answering("Roots", mcp.MethodRootsList, `{}`, func(o *mcpclient.Options, hook func()) {
			o.Roots = func(context.Context) ([]mcp.Root, error) { hook(); return nil, nil }
		}),
		answering("Ask.ShareRoots", mcp.MethodRootsList, `{}`, func(o *mcpclient.Options, hook func()) {
			o.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil }
			o.Ask.ShareRoots = func(context.Context, []mcp.Root) error { hook(); return nil }
		}),
		{name: "OnToolsChanged", logged: "handler panicked", trigger: changesTools, prepare: setting(func(o *mcpclient.Options, hook func()) {
			o.OnToolsChanged = func(context.Context, *mcpclient.Client) { hook() }
		})},
		{name: "OnNotification", logged: "handler panicked", trigger: calls("notify"), prepare: setting(func(o *mcpclient.Options, hook func()) {
			o.OnNotification = func(_ context.Context, method string, _ jsontext.Value) {
				if method == exampleNote {
					hook()
				}
			}
		})},
		{name: "OnLog", logged: "handler panicked", trigger: calls("log"), prepare: setting(func(o *mcpclient.Options, hook func()) {
			o.OnLog = func(context.Context, *mcp.LoggingMessageParams) { hook() }
		})},
		{name: "OnEvent", logged: "handler panicked", trigger: loses, prepare: dials(func(f *userCodeFixture, hook func()) {
			f.options.OnEvent = func(_ context.Context, e mcpclient.Event) {
				if e.Kind == mcpclient.EventLost {
					hook()
				}
			}
		})},
		{name: "WithProgress", logged: "handler panicked", trigger: func(ctx context.Context, f *userCodeFixture) error {
			return calls("progress", mcpclient.WithProgress(func(mcp.ProgressParams) { f.hook() }))(ctx, f)
		}},
		{name: "WithLog", logged: "handler panicked", trigger: func(ctx context.Context, f *userCodeFixture) error {
			return calls("log", mcpclient.WithLog(func(*mcp.LoggingMessageParams) { f.hook() }))(ctx, f)
		}},
		{name: "middleware's constructor", trigger: func(ctx context.Context, f *userCodeFixture) error {
			func() {
				defer func() { _ = recover() }() // as a caller of Use may
				f.c.Use(func(next mcpclient.Handler) mcpclient.Handler {
					f.hook()
					return next
				})
			}()
			return calls("quick")(ctx, f)
		}},
		{name: "middleware", logged: "handler panicked", trigger: func(ctx context.Context, f *userCodeFixture) error {
			return throughMiddleware(ctx, f, "quick", mcp.MethodToolsCall)
		}},
		{name: "middleware, inbound", logged: "handler panicked", trigger: func(ctx context.Context, f *userCodeFixture) error {
			return throughMiddleware(ctx, f, "notify", exampleNote)
		}},
		{name: "Extension.Capabilities", logged: "function of Extension.Capabilities failed", trigger: loses, prepare: dials(func(f *userCodeFixture, hook func()) {
			f.options.Extensions = []mcpclient.Extension{{ID: "com.example/it", Capabilities: func(*mcp.ClientCapabilities) { hook() }}}
		})},
		{name: "Client.Go", logged: "handler panicked", trigger: func(_ context.Context, f *userCodeFixture) error {
			f.c.Go(func(context.Context) { f.hook() })
			return nil
		}},
		{name: "MarshalJSON", logged: "handler panicked", trigger: func(ctx context.Context, f *userCodeFixture) error {
			return f.c.Request(ctx, mcp.MethodToolsList, hooktest.Value{Hook: f.hook}, nil)
		}},
		{name: "Dial", logged: "handler panicked", trigger: loses, prepare: dials(func(f *userCodeFixture, hook func()) {
			f.target = mcpclient.Dial(func(context.Context) (mcp.Conn, error) {
				hook()
				return f.dial(), nil
			})
		})},
		hooksConn("Read", func(c *hookedConn, hook func()) { c.read = hook }),
		hooksConn("Write", func(c *hookedConn, hook func()) { c.write = hook }),
		hooksConn("Close", func(c *hookedConn, hook func()) { c.close = hook }),
		{name: "Logger", trigger: loses, prepare: dials(func(f *userCodeFixture, hook func()) {
			f.options.Logger = slog.New(hooktest.Log{Hook: func(context.Context, slog.Record) { hook() }})
		})},
		hooksHTTP("Transport", func(c *http.Client, hook func()) {
			next := c.Transport
			c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
				hook()
				return next.RoundTrip(r)
			})
		}),
		{name: "HTTP.Client.Transport.Proxy", logged: "HTTP client panicked", trigger: calls("quick"), prepare: proxied},
		hooksHTTP("Transport, body read", inEachResponse(func(hook func(), body io.ReadCloser) io.ReadCloser { return hookedRead{body, hook} })),
		hooksHTTP("Transport, body closed", inEachResponse(func(hook func(), body io.ReadCloser) io.ReadCloser { return hookedClose{body, hook} })),
		hooksHTTP("Jar.Cookies", func(c *http.Client, hook func()) { c.Jar = hookedJar{func() {}, hook} }),
		hooksHTTP("Jar.SetCookies", func(c *http.Client, hook func()) {
			next := c.Transport
			c.Jar, c.Transport = hookedJar{hook, func() {}}, roundTripper(func(r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if err == nil {
					resp.Header.Set("Set-Cookie", "a=b")
				}
				return resp, err
			})
		}),
		{name: "HTTP.Auth.Authorize", logged: "handler panicked", trigger: calls("quick"), era: isStateless, prepare: func(f *userCodeFixture, hook func()) {
			overHTTP(f, nil)
			f.options.HTTP.Auth = hookedAuthorizer{hook, func() {}}
		}},
		{name: "HTTP.Auth.Challenged", logged: "handler panicked", era: isStateless, prepare: func(f *userCodeFixture, hook func()) {
			overHTTP(f, &refuse)
			f.options.HTTP.Auth = hookedAuthorizer{func() {}, hook}
		}, trigger: func(ctx context.Context, f *userCodeFixture) error {
			refuse.Store(true)
			defer refuse.Store(false)
			return calls("quick")(ctx, f)
		}},
	}
}

func throughMiddleware(ctx context.Context, f *userCodeFixture, tool, method string) error {
	f.c.Use(func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (any, error) {
			if r.Method == method {
				f.hook()
			}
			return next(ctx, r)
		}
	})
	return calls(tool)(ctx, f)
}

// userCodeServer returns a server whose tools notify their client.
func userCodeServer() *mcpserver.Server {
	srv := mcpserver.New("test", "1", &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
	tool := func(name string, run func(ctx context.Context)) {
		srv.Tool(name, "", func(ctx context.Context, _ struct{}) (string, error) {
			run(ctx)
			return "", nil
		})
	}
	tool("quick", func(context.Context) {})
	tool("notify", func(ctx context.Context) { _ = mcpserver.From(ctx).Notify(ctx, exampleNote, nil) })
	tool("progress", func(ctx context.Context) { mcpserver.Progress(ctx, 1, 2, "") })
	tool("log", func(ctx context.Context) { mcpserver.Log(ctx).ErrorContext(ctx, "it") })
	return srv
}

// run has the hook called once at the place, and fails the test when anything then
// waits forever, when a caller gets a stack, or when the second client is not served.
func (u userCode) run(t *testing.T, r mcp.Revision, hook func(*mcpclient.Client)) (log string) {
	t.Helper()
	var book lockedLog
	var armed atomic.Bool
	f := &userCodeFixture{srv: userCodeServer()}
	f.target = mcpclient.InProcess(f.srv)
	f.options = mcpclient.Options{Revisions: []mcp.Revision{r}, Logger: slog.New(slog.NewTextHandler(&book, nil)), Timeouts: mcpclient.TimeoutOptions{Close: time.Second}}
	f.hook = func() {
		if armed.CompareAndSwap(true, false) {
			hook(f.c)
		}
	}
	if u.prepare != nil {
		u.prepare(f, f.hook)
	}
	second, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(f.srv), &mcpclient.Options{Revisions: []mcp.Revision{r}})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if f.c, err = mcpclient.Connect(t.Context(), f.target, &f.options); err != nil {
		t.Fatal(err)
	}
	defer f.c.Close()
	time.Sleep(time.Second)
	armed.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err = u.trigger(ctx, f)
	if ctx.Err() != nil {
		t.Errorf("got %v, want an answer within 30 s", err)
	}
	if err != nil && (strings.Contains(err.Error(), "goroutine ") || strings.Contains(err.Error(), ".go:")) {
		t.Errorf("the caller got a stack: %v", err)
	}
	time.Sleep(5 * time.Second)
	if armed.Load() {
		t.Errorf("the hook was not called: %v", err)
	}
	if _, err := second.CallTool(t.Context(), "quick", nil); err != nil {
		t.Errorf("the other client: %v", err)
	}
	return book.String()
}

func (u userCode) inEachEra(t *testing.T, test func(t *testing.T, r mcp.Revision)) {
	t.Helper()
	for _, r := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		if u.era != nil && !u.era(r) {
			continue
		}
		t.Run(fmt.Sprint(u.name, ", ", r), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { test(t, r) })
		})
	}
}

func TestUserCodeMayCallTheClient(t *testing.T) {
	t.Parallel()
	for _, u := range userCodes() {
		u.inEachEra(t, func(t *testing.T, r mcp.Revision) {
			u.run(t, r, func(c *mcpclient.Client) {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				_, _ = c.CallTool(ctx, "quick", nil)
				_ = c.Request(ctx, mcp.MethodToolsList, nil, nil)
				for range c.Tools(ctx) { //nolint:revive // to list them is enough
				}
				_ = c.Notify(ctx, exampleNote, nil)
				c.Use(func(next mcpclient.Handler) mcpclient.Handler { return next })
				_, _ = c.Server(), c.Revision()
				_ = c.Close() // which may wait for the hook, until Timeouts.Close
			})
		})
	}
}

func TestPanicOfUserCodeEndsNothingElseInAClient(t *testing.T) {
	t.Parallel()
	for _, u := range userCodes() {
		u.inEachEra(t, func(t *testing.T, r mcp.Revision) {
			log := u.run(t, r, func(*mcpclient.Client) { panic("lost marbles") })
			if u.logged != "" && (!strings.Contains(log, u.logged) || !strings.Contains(log, "lost marbles") || !strings.Contains(log, "goroutine ")) {
				t.Errorf("got the log %s, want %q with the panic and its stack", log, u.logged)
			}
		})
	}
}
