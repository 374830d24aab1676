package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/hooktest"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/handles"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// userCode is one place at which a server runs code of its author.
type userCode struct {
	name string
	// prepare has hook called there, and may return another server that brings the
	// call about.
	prepare func(o *mcpserver.Options, hook func()) (register func(*mcpserver.Server))
	// trigger brings the call about, from a client or in the process of the server.
	trigger func(ctx context.Context, srv *mcpserver.Server, c *mcpclient.Client) error
	http    bool
	wrap    func(*mcpserver.Server, http.Handler) http.Handler // an author's middleware; nil: none
	era     func(mcp.Revision) bool                            // nil: both
	// onlyPanics leaves out the calls of the server: Shutdown waits for a lock while this
	// code runs, and the clock of synctest stands still then.
	onlyPanics bool
	logged     string // where it panics; empty where the caller of the function gets the panic
}

func registering(register func(srv *mcpserver.Server, hook func())) func(*mcpserver.Options, func()) func(*mcpserver.Server) {
	return func(_ *mcpserver.Options, hook func()) func(*mcpserver.Server) {
		return func(srv *mcpserver.Server) { register(srv, hook) }
	}
}

func callTool(name string) func(context.Context, *mcpserver.Server, *mcpclient.Client) error {
	return func(ctx context.Context, _ *mcpserver.Server, c *mcpclient.Client) error {
		result, err := c.CallTool(ctx, name, nil)
		if err == nil && result.IsError {
			err = errors.New(result.Content.Text())
		}
		return err
	}
}

func request(method string, params any) func(context.Context, *mcpserver.Server, *mcpclient.Client) error {
	return func(ctx context.Context, _ *mcpserver.Server, c *mcpclient.Client) error {
		return c.Request(ctx, method, params, nil)
	}
}

// toolThat registers a tool whose handler is run.
func toolThat(name string, run func(ctx context.Context, hook func()) (any, error)) func(*mcpserver.Options, func()) func(*mcpserver.Server) {
	return registering(func(srv *mcpserver.Server, hook func()) {
		srv.Tool(name, "", func(ctx context.Context, _ struct{}) (string, error) {
			_, err := run(ctx, hook)
			return "", err
		})
	})
}

var userCodes = []userCode{
	{name: "tool", trigger: callTool("it"), logged: "handler panicked", prepare: toolThat("it", func(_ context.Context, hook func()) (any, error) {
		hook()
		return nil, nil
	})},
	{name: "Background.Progress", trigger: callTool("it"), logged: "Background.Progress failed", prepare: toolThat("it", func(ctx context.Context, hook func()) (any, error) {
		background, done, err := mcpserver.Detach(ctx, mcpserver.Background{Progress: func(p mcp.ProgressParams) {
			if p.Progress == 15 { // held back, and sent by a timer
				hook()
			}
		}})
		if err != nil {
			return nil, err
		}
		for n := range 16 {
			mcpserver.Progress(background, float64(n), 0, "")
		}
		time.AfterFunc(time.Minute, done)
		return nil, nil
	})},
	{name: "middleware's constructor", trigger: callTool("quick"), prepare: registering(func(srv *mcpserver.Server, hook func()) {
		defer func() { _ = recover() }()
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			hook()
			return next
		})
	})},
	{name: "middleware", trigger: request(mcp.MethodToolsList, nil), logged: "handler panicked", prepare: registering(func(srv *mcpserver.Server, hook func()) {
		srv.Use(func(next mcpserver.Handler) mcpserver.Handler {
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if r.Method() == mcp.MethodToolsList {
					hook()
				}
				return next(ctx, r)
			}
		})
	})},
	{name: "handler of a notification", logged: "notification handler panicked", prepare: registering(func(srv *mcpserver.Server, hook func()) {
		srv.Handle(acmeNote, func(context.Context, *mcpserver.Request) (any, error) {
			hook()
			return nil, nil
		})
	}), trigger: func(ctx context.Context, _ *mcpserver.Server, c *mcpclient.Client) error {
		return c.Notify(ctx, acmeNote, nil)
	}},
	{name: "Visible, by a change", logged: "function of Visible failed", prepare: secretResource, trigger: func(_ context.Context, srv *mcpserver.Server, _ *mcpclient.Client) error {
		srv.Updated("test://secret")
		return nil
	}},
	{name: "Visible, by the Bus", logged: "function of Visible failed", prepare: func(o *mcpserver.Options, hook func()) func(*mcpserver.Server) {
		bus := new(mcpserver.MemoryBus)
		o.Bus = bus
		return secretResource(o, hook)
	}, trigger: func(_ context.Context, srv *mcpserver.Server, _ *mcpclient.Client) error {
		time.Sleep(time.Second)
		other := newServer(&mcpserver.Options{Bus: srv.Bus()})
		secretResource(nil, func() {})(other)
		other.Updated("test://secret")
		time.Sleep(time.Second)
		return other.Shutdown(context.Background())
	}},
	storeThat("Create", askOnce, callTool("it")),
	storeThat("Put", askAfterMuch, callTool("it")),
	storeThat("Get", askAfterMuch, callTool("it")),
	storeThat("Swap", func(ctx context.Context) error { return useHandle(ctx, false) }, callTool("it")),
	storeThat("Delete", func(ctx context.Context) error { return useHandle(ctx, true) }, callTool("it")),
	{name: "Bus: Publish", logged: "cannot publish a change to other replicas", prepare: busThat(func(b *hookedBus, hook func()) { b.publish = hook }), trigger: func(_ context.Context, srv *mcpserver.Server, _ *mcpclient.Client) error {
		srv.Updated("test://a")
		return nil
	}},
	{name: "Bus: Subscribe", logged: "changes that other replicas announce are not heard of", prepare: busThat(func(b *hookedBus, hook func()) { b.subscribe = hook }), trigger: watchOnce("test://a")},
	eventStoreThat("Append", "keep event"),
	eventStoreThat("After", "read events"),
	eventStoreThat("Trim", "forget events"),
	connThat("Read"),
	connThat("Write"),
	connThat("Close"),
	middlewareThat("ResponseWriter.Write", "Write", "quick", "http.ResponseWriter panicked"),
	middlewareThat("ResponseWriter.WriteHeader", "WriteHeader", "quick", "http.ResponseWriter panicked"),
	middlewareThat("ResponseWriter.SetWriteDeadline", "SetWriteDeadline", "quick", "http.ResponseWriter panicked"),
	middlewareThat("ResponseWriter.Flush", "Flush", "talk", "http.ResponseWriter panicked"),
	middlewareThat("ResponseWriter.WriteHeader, by a timer", "WriteHeader", "slow", "http.ResponseWriter panicked"),
	middlewareThat("ResponseWriter.Flush, by a timer", "Flush", "slow", "http.ResponseWriter panicked"),
	middlewareThat("ResponseWriter.Write, by a timer", "Write", "slow", "http.ResponseWriter panicked"),
	middlewareThat("Request.Body", "Read", "quick", "HTTP request panicked"),
	eventStreamThat("ResponseWriter.Write, of HTTP+SSE", "Write", true),
	eventStreamThat("ResponseWriter.Flush, of HTTP+SSE", "Flush", true),
	eventStreamThat("ResponseWriter.Write, of HTTP+SSE, by a timer", "Write", false),
	{name: "OnLimit", trigger: callTool("limit"), logged: "limit hook panicked", prepare: func(o *mcpserver.Options, hook func()) func(*mcpserver.Server) {
		o.OnLimit = func(mcp.LimitReached) { hook() }
		return toolThat("limit", func(ctx context.Context, _ func()) (any, error) {
			mcpserver.From(ctx).ReportLimit("acme")
			return nil, nil
		})(o, hook)
	}},
	{name: "Logger", trigger: request("acme/fail", nil), prepare: func(o *mcpserver.Options, hook func()) func(*mcpserver.Server) {
		o.Logger = slog.New(hooktest.Log{Hook: func(context.Context, slog.Record) { hook() }})
		return func(srv *mcpserver.Server) {
			srv.Handle("acme/fail", func(context.Context, *mcpserver.Request) (any, error) { return nil, errors.New("private") })
		}
	}},
	{name: "MarshalJSON", trigger: request("acme/encode", nil), logged: "handler panicked", prepare: handling("acme/encode", func(hook func()) (any, error) {
		return hooktest.Value{Hook: hook}, nil
	})},
	{name: "error", trigger: request("acme/error", nil), logged: "panic", prepare: handling("acme/error", func(hook func()) (any, error) {
		return nil, hookedError{hook}
	})},
	{name: "completer", logged: "handler panicked", prepare: registering(func(srv *mcpserver.Server, hook func()) {
		srv.Template("test://{it}", "it", "", func(context.Context, struct {
			It string `json:"it"`
		},
		) ([]byte, error) {
			return nil, nil
		}, mcpserver.CompleteArg("it", func(context.Context, mcpserver.CompletionRequest) ([]string, error) {
			hook()
			return nil, nil
		}))
	}), trigger: request(mcp.MethodComplete, jsontext.Value(`{"ref":{"type":"ref/resource","uri":"test://{it}"},"argument":{"name":"it","value":""}}`))},
	{name: "resource", logged: "handler panicked", prepare: registering(func(srv *mcpserver.Server, hook func()) {
		srv.AddResource(mcp.Resource{URI: "test://it", Name: "it"}, func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
			hook()
			return nil, errors.New("none")
		})
	}), trigger: request(mcp.MethodResourcesRead, map[string]string{"uri": "test://it"})},
	{name: "WhileSubscribed", logged: "function of WhileSubscribed failed", prepare: registering(func(srv *mcpserver.Server, hook func()) {
		srv.AddResource(mcp.Resource{URI: "test://it", Name: "it"}, readRaw(nil, nil), mcpserver.WhileSubscribed(func(context.Context, string) { hook() }))
	}), trigger: watchOnce("test://it")},
	{name: "Filter's feed", logged: "handler panicked", prepare: registering(func(srv *mcpserver.Server, hook func()) {
		srv.Extend(mcpserver.Extension{ID: "com.example/feed", Filters: map[string]mcpserver.Filter{
			"feed": func(context.Context, *mcpserver.Request, jsontext.Value) (any, iter.Seq2[string, any], error) {
				return true, func(func(string, any) bool) { hook() }, nil
			},
		}})
	}), trigger: func(ctx context.Context, srv *mcpserver.Server, _ *mcpclient.Client) error {
		ours, theirs := memory.Pair()
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ctx, theirs) }()
		go func() {
			for _, err := ours.Read(ctx); err == nil; _, err = ours.Read(ctx) {
			}
		}()
		err := ours.Write(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"com.example/feed":{}}}},"notifications":{"feed":true}}}`))
		time.Sleep(5 * time.Second)
		_ = ours.Close()
		<-served
		return err
	}},
}

func handling(method string, run func(hook func()) (any, error)) func(*mcpserver.Options, func()) func(*mcpserver.Server) {
	return registering(func(srv *mcpserver.Server, hook func()) {
		srv.Handle(method, func(context.Context, *mcpserver.Request) (any, error) { return run(hook) })
	})
}

// secretResource registers a resource whose Visible calls hook once a client has
// subscribed to it.
func secretResource(_ *mcpserver.Options, hook func()) func(*mcpserver.Server) {
	return func(srv *mcpserver.Server) {
		srv.AddResource(mcp.Resource{URI: "test://secret", Name: "secret"}, readRaw(nil, nil), mcpserver.Visible(func(*mcp.Identity) bool {
			hook()
			return true
		}))
	}
}

func watchOnce(uri string) func(context.Context, *mcpserver.Server, *mcpclient.Client) error {
	return func(ctx context.Context, _ *mcpserver.Server, c *mcpclient.Client) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		for _, err := range c.Watch(ctx, uri) {
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// storeThat is a method of a Store that the handler of a tool leads to.
func storeThat(method string, handler func(ctx context.Context) error, trigger func(context.Context, *mcpserver.Server, *mcpclient.Client) error) userCode {
	return userCode{
		name: "Store." + method, trigger: trigger, logged: "Store." + method + " panicked",
		era: func(r mcp.Revision) bool { return isModern(r) || method == "Swap" || method == "Delete" },
		prepare: func(o *mcpserver.Options, hook func()) func(*mcpserver.Server) {
			o.Ask = &mcpserver.AskOptions{SingleUse: true}
			o.Store = hookedStore{new(mcpserver.MemoryStore), hookOf(method, hook)}
			o.Keys = []mcpserver.Key{{ID: "a", Secret: bytes.Repeat([]byte{1}, 32)}}
			return toolThat("it", func(ctx context.Context, _ func()) (any, error) { return nil, handler(ctx) })(o, hook)
		},
	}
}

// hookOf returns a function that calls hook for one name.
func hookOf(name string, hook func()) func(string) {
	return func(called string) {
		if called == name {
			hook()
		}
	}
}

func askOnce(ctx context.Context) error {
	_, err := mcpserver.Ask[colour](ctx, "colour", "Which?")
	return err
}

// askAfterMuch makes a state that is too large to be sent to the client.
func askAfterMuch(ctx context.Context) error {
	_, err := mcpserver.Once(ctx, "much", func() (string, error) { return strings.Repeat("x", 100<<10), nil })
	if err != nil {
		return err
	}
	return askOnce(ctx)
}

func useHandle(ctx context.Context, remove bool) error {
	h := handles.New[string](nil)
	name, err := h.New(ctx, "it")
	if err != nil {
		return err
	}
	if remove {
		_, err = h.Delete(ctx, name)
	} else {
		_, err = h.Update(ctx, name, func(value *string) error { *value = "other"; return nil })
	}
	return err
}

type hookedStore struct {
	mcp.Store
	hook func(method string)
}

func (s hookedStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	s.hook("Get")
	return s.Store.Get(ctx, key)
}

func (s hookedStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	s.hook("Put")
	return s.Store.Put(ctx, key, value, ttl)
}

func (s hookedStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	s.hook("Create")
	return s.Store.Create(ctx, key, value, ttl)
}

func (s hookedStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	s.hook("Swap")
	return s.Store.Swap(ctx, key, old, value, ttl)
}

func (s hookedStore) Delete(ctx context.Context, key string) error {
	s.hook("Delete")
	return s.Store.Delete(ctx, key)
}

// eventStoreThat is a method of an EventStore.
func eventStoreThat(method, logged string) userCode {
	return userCode{
		name: "EventStore." + method, http: true, logged: "event store: " + logged,
		trigger: func(ctx context.Context, srv *mcpserver.Server, c *mcpclient.Client) error {
			err := callTool("talk")(ctx, srv, c)
			_ = c.Close() // ends the session, and its streams
			return err
		},
		era: func(r mcp.Revision) bool { return !isModern(r) },
		prepare: func(o *mcpserver.Options, hook func()) func(*mcpserver.Server) {
			o.HTTP = &mcpserver.HTTPOptions{Events: hookedEvents{&countingStore{events: make(map[string][][]byte)}, hookOf(method, hook)}}
			return toolThat("talk", func(ctx context.Context, _ func()) (any, error) {
				_ = mcpserver.From(ctx).Notify(ctx, acmeNote, nil)
				if method == "After" {
					mcpserver.CloseStream(ctx, time.Second)
					time.Sleep(2 * time.Second)
				}
				return nil, nil
			})(o, hook)
		},
	}
}

// fromTheStart resumes every stream behind its first event, as a client does that has
// read no more.
type fromTheStart struct{ http.RoundTripper }

func (f fromTheStart) RoundTrip(r *http.Request) (*http.Response, error) {
	if stream, _, ok := strings.Cut(r.Header.Get("Last-Event-ID"), "-"); ok {
		r = r.Clone(r.Context())
		r.Header.Set("Last-Event-ID", stream+"-0")
	}
	return f.RoundTripper.RoundTrip(r)
}

// connThat is a method of a connection of an author's own.
func connThat(method string) userCode {
	var hooks sync.Map // by *mcpserver.Server
	return userCode{
		name: "Conn." + method, logged: "connection panicked",
		prepare: func(_ *mcpserver.Options, hook func()) func(*mcpserver.Server) {
			return func(srv *mcpserver.Server) {
				hooks.Store(srv, hook)
				srv.Tool("talk", "", func(ctx context.Context, _ struct{}) (string, error) {
					return "", mcpserver.From(ctx).Notify(ctx, acmeNote, nil)
				})
			}
		},
		trigger: func(ctx context.Context, srv *mcpserver.Server, _ *mcpclient.Client) error {
			ours, theirs := memory.Pair()
			served := make(chan error, 1)
			hook, _ := hooks.Load(srv)
			go func() { served <- srv.Serve(ctx, hookedConn{theirs, hookOf(method, hook.(func()))}) }()
			c, err := mcpclient.Connect(ctx, mcpclient.Conn(ours), &mcpclient.Options{Logger: slog.New(slog.DiscardHandler)})
			if err == nil {
				_, err = c.CallTool(ctx, "talk", nil)
				_ = c.Close()
			}
			_ = ours.Close()
			<-served
			return err
		},
	}
}

type hookedConn struct {
	mcp.Conn
	hook func(method string)
}

func (c hookedConn) Read(ctx context.Context) ([]byte, error) {
	c.hook("Read")
	return c.Conn.Read(ctx)
}

func (c hookedConn) Write(ctx context.Context, msg []byte) error {
	c.hook("Write")
	return c.Conn.Write(ctx, msg)
}

func (c hookedConn) Close() error {
	c.hook("Close")
	return c.Conn.Close()
}

func busThat(set func(b *hookedBus, hook func())) func(*mcpserver.Options, func()) func(*mcpserver.Server) {
	return func(o *mcpserver.Options, hook func()) func(*mcpserver.Server) {
		b := &hookedBus{publish: func() {}, subscribe: func() {}}
		set(b, hook)
		o.Bus = b
		o.Keys = []mcpserver.Key{{ID: "a", Secret: bytes.Repeat([]byte{1}, 32)}}
		return func(srv *mcpserver.Server) {
			srv.AddResource(mcp.Resource{URI: "test://a", Name: "a"}, readRaw(nil, nil))
		}
	}
}

type hookedBus struct {
	mcpserver.MemoryBus
	publish, subscribe func()
}

func (b *hookedBus) Publish(ctx context.Context, topic string, msg []byte) error {
	b.publish()
	return b.MemoryBus.Publish(ctx, topic, msg)
}

func (b *hookedBus) Subscribe(ctx context.Context, topic string, deliver func([]byte)) (func(), error) {
	b.subscribe()
	return b.MemoryBus.Subscribe(ctx, topic, deliver)
}

type hookedEvents struct {
	mcp.EventStore
	hook func(method string)
}

func (e hookedEvents) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	e.hook("Append")
	return e.EventStore.Append(ctx, stream, n, msg)
}

func (e hookedEvents) After(ctx context.Context, stream string, n int64) ([][]byte, error) {
	e.hook("After")
	return e.EventStore.After(ctx, stream, n)
}

func (e hookedEvents) Trim(ctx context.Context, stream string, n int64) error {
	e.hook("Trim")
	return e.EventStore.Trim(ctx, stream, n)
}

type hookedError struct{ hook func() }

func (e hookedError) Error() string { return "an error" }

func (e hookedError) Is(error) bool {
	e.hook()
	return false
}

// run runs one place with a hook that is run once, and fails the test when the
// bubble comes to a stop. The second client has to be served as before, unless the
// hook ends the server.
func (u userCode) run(t *testing.T, r mcp.Revision, hook func(*mcpserver.Server)) (log string) {
	t.Helper()
	var book logbook
	var srv *mcpserver.Server
	var armed, hooked atomic.Bool
	o := &mcpserver.Options{Logger: textLog(&book)}
	register := u.prepare(o, func() {
		if armed.CompareAndSwap(true, false) {
			hooked.Store(true)
			hook(srv)
		}
	})
	srv = newServer(o)
	srv.Tool("quick", "", nothing)
	if u.logged == "" || u.name == "Bus: Subscribe" {
		armed.Store(true)
	}
	register(srv)
	target := mcpclient.InProcess(srv)
	co := &mcpclient.Options{Logger: slog.New(slog.DiscardHandler), Revisions: []mcp.Revision{r}, ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"colour":"red"}`)}, nil
	}}
	if u.http {
		h := routes(srv)
		if u.wrap != nil {
			h = u.wrap(srv, h)
		}
		p, stop := serveHandler(t, srv, h)
		defer func() { <-stop() }()
		target, co.HTTP.Client = mcpclient.URL("http://localhost/mcp"), p.client(t)
		co.HTTP.Client.Transport = fromTheStart{co.HTTP.Client.Transport}
	}
	first, err := mcpclient.Connect(t.Context(), target, co)
	if err == nil {
		defer first.Close()
	}
	if srvEnded(srv) {
		time.Sleep(5 * time.Second) // until the Shutdown of the hook has come to its end
		return book.String()
	}
	if err != nil {
		t.Fatal(err)
	}
	other := *co
	second, err := mcpclient.Connect(t.Context(), target, &other)
	if srvEnded(srv) {
		time.Sleep(5 * time.Second) // until the Shutdown of the hook has come to its end
		return book.String()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if strings.HasPrefix(u.name, "Visible") {
		watching, unwatch := context.WithCancel(t.Context())
		defer unwatch()
		go func() {
			for range second.Watch(watching, "test://secret") { //nolint:revive // it is enough to subscribe
			}
		}()
		time.Sleep(time.Second)
	}
	armed.Store(!hooked.Load())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err = u.trigger(ctx, srv, first)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil && !srvEnded(srv) {
		t.Errorf("got %v, want an answer within a minute", err)
	}
	if err != nil && (strings.Contains(err.Error(), "goroutine ") || strings.Contains(err.Error(), ".go:")) {
		t.Errorf("the client got a stack: %v", err)
	}
	time.Sleep(5 * time.Second)
	if armed.Load() {
		t.Errorf("the hook was not run: %v", err)
	}
	if !srvEnded(srv) {
		if _, err := second.CallTool(t.Context(), "quick", nil); err != nil {
			t.Errorf("the other client: %v", err)
		}
	}
	return book.String()
}

func srvEnded(srv *mcpserver.Server) bool { return !srv.Ready() }

func TestUserCodeMayCallTheServer(t *testing.T) {
	t.Parallel()
	for _, u := range userCodes {
		for _, r := range eras {
			if u.onlyPanics || u.era != nil && !u.era(r) {
				continue
			}
			t.Run(fmt.Sprint(u.name, ", ", r), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					u.run(t, r, func(srv *mcpserver.Server) {
						srv.Updated("test://secret")
						srv.SetTool(mcp.Tool{Name: "new", InputSchema: jsontext.Value(`{"type":"object"}`)}, rawNothing)
						srv.RemoveTool("new")
						srv.Use(func(next mcpserver.Handler) mcpserver.Handler { return next })
						ctx, cancel := context.WithTimeout(context.Background(), time.Second)
						defer cancel()
						_ = srv.Shutdown(ctx)
					})
				})
			})
		}
	}
}

func TestPanicOfUserCodeEndsNothingElse(t *testing.T) {
	t.Parallel()
	for _, u := range userCodes {
		for _, r := range eras {
			if u.era != nil && !u.era(r) {
				continue
			}
			t.Run(fmt.Sprint(u.name, ", ", r), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ran := false
					log := u.run(t, r, func(*mcpserver.Server) {
						ran = true
						panic("lost marbles")
					})
					if ran && u.logged != "" && (!strings.Contains(log, u.logged) || !strings.Contains(log, "lost marbles") || !strings.Contains(log, "goroutine ")) {
						t.Errorf("got the log %s, want %q with the panic and its stack", log, u.logged)
					}
				})
			})
		}
	}
}

// notifyingConn sends a notification of the request that sends one, before it.
type notifyingConn struct {
	mcp.Conn
	request atomic.Pointer[mcpserver.Request]
}

func (c *notifyingConn) Write(ctx context.Context, msg []byte) error {
	if r := c.request.Swap(nil); r != nil {
		if err := r.Notify(ctx, acmeNote, nil); err != nil {
			return err
		}
	}
	return c.Conn.Write(ctx, msg)
}

func TestConnMayNotifyWhileItWritesANotification(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := memory.Pair()
		conn := &notifyingConn{Conn: theirs}
		srv := newServer(nil)
		srv.Tool("talk", "", func(ctx context.Context, _ struct{}) (string, error) {
			conn.request.Store(mcpserver.From(ctx))
			return "", mcpserver.From(ctx).Notify(ctx, acmeNote, nil)
		})
		served := make(chan error, 1)
		go func() { served <- srv.Serve(t.Context(), conn) }()
		var notes atomic.Int32
		c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(ours), &mcpclient.Options{
			OnNotification: func(context.Context, string, jsontext.Value) { notes.Add(1) },
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CallTool(t.Context(), "talk", nil); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if got := notes.Load(); got != 2 {
			t.Errorf("got %d notifications, want 2", got)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
}
