package mcpserver_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/memory"
	"github.com/fondaco/fondaco/mcp/mcpext/handles"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// walker opens entries of tables from an address, over HTTP or over a connection. What it sends
// is not kept by the test, so that the heap shows what the server keeps.
type walker struct {
	t       *testing.T
	ctx     context.Context
	work    *sync.WaitGroup
	srv     *mcpserver.Server
	address string
	conn    mcp.Conn // nil over HTTP
	session string
	id      int
}

// filler reads as that many bytes of text.
type filler int

func (f *filler) Read(p []byte) (int, error) {
	n := min(int(*f), len(p))
	if n == 0 {
		return 0, io.EOF
	}
	*f -= filler(n)
	copy(p[:n], bytes.Repeat([]byte{'x'}, n))
	return n, nil
}

// start sends a message in which "@" is replaced by size bytes, and does not wait for its end.
func (w *walker) start(message string, size int, header ...string) {
	w.id++
	message = strings.ReplaceAll(message, "ID", fmt.Sprint(w.id))
	before, after, _ := strings.Cut(message, "@")
	if w.conn != nil {
		if err := w.conn.Write(w.ctx, []byte(before+strings.Repeat("x", size)+after)); err != nil {
			w.t.Log(err) // the connection was closed to make room
		}
		return
	}
	r := httptest.NewRequestWithContext(w.ctx, http.MethodPost, "http://127.0.0.1/mcp",
		io.MultiReader(strings.NewReader(before), (*filler)(&size), strings.NewReader(after)))
	if message == "" {
		r = httptest.NewRequestWithContext(w.ctx, http.MethodGet, "http://127.0.0.1/mcp", nil)
	}
	r.RemoteAddr = w.address
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if w.session != "" {
		r.Header.Set("Mcp-Session-Id", w.session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], strings.Clone(header[i+1]))
	}
	answered := &firstHeader{ResponseRecorder: httptest.NewRecorder(), ctx: w.ctx, unread: r.Header.Get(unread) != ""}
	w.work.Go(func() { w.srv.HTTPHandler().ServeHTTP(answered, r) })
	synctest.Wait()
	if id := answered.Header().Get("Mcp-Session-Id"); id != "" {
		w.session = id
	}
}

// unread is the header of a request whose client does not read the body of the response.
const unread = "X-Unread"

// firstHeader is a recorder that keeps no body.
type firstHeader struct {
	*httptest.ResponseRecorder
	ctx    context.Context
	unread bool
	sent   int                                // to the client
	closed atomic.Pointer[context.CancelFunc] // ends a write
}

// buffered is about what a connection takes whose client does not read.
const buffered = 8 << 10

func (f *firstHeader) Write(p []byte) (int, error) {
	if f.sent += len(p); f.unread && f.sent > buffered {
		ctx, cancel := context.WithCancel(f.ctx)
		f.closed.Store(&cancel)
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return len(p), nil
}

// SetWriteDeadline ends a write if the deadline is past: the server closes the connection.
func (f *firstHeader) SetWriteDeadline(deadline time.Time) error {
	if closed := f.closed.Load(); closed != nil && !deadline.IsZero() && !deadline.After(time.Now()) {
		(*closed)()
	}
	return nil
}

// open opens a session.
func (w *walker) open(capabilities int) {
	w.start(`{"jsonrpc":"2.0","id":ID,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},`+
		`"capabilities":{"elicitation":{},"tasks":{"requests":{"elicitation":{"create":{}}}},"experimental":{"x":{"x":"@"}}}}}`, capabilities)
}

const statelessMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`

// stateless sends a request of the stateless era. Over a connection it is a message like others.
func (w *walker) stateless(method, name, message string, size int, header ...string) {
	session := w.session
	w.session = ""
	h := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name != "" {
		h = append(h, "Mcp-Name", name)
	}
	w.start(message, size, append(h, header...)...)
	w.session = session
}

// openTable is a table in which a client can have the server keep something beyond its request.
type openTable struct {
	open   func(w *walker) // opens one entry, or as many as one client needs
	stream bool            // it can be opened over any connection, too
}

// ownBounds are the tables with a bound of their own in bytes, of which one address may have as much as
// all others. Those that are in no list here have entries whose size no client chooses.
var ownBounds = map[string]openTable{
	"results of tasks": {func(w *walker) {
		w.open(0)
		w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"echo","task":{},"arguments":{"text":"@"}}}`, 200<<10)
	}, true},
	"URIs of subscriptions": {func(w *walker) {
		w.open(0)
		for i := range 4 {
			w.start(fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"method":"resources/subscribe","params":{"uri":"note://%d/@"}}`, i), 40<<10)
		}
	}, true},
	"URIs of subscriptions of the stateless era": {func(w *walker) {
		w.stateless("subscriptions/listen", "", `{"jsonrpc":"2.0","id":ID,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":["note://@"]},`+statelessMeta+`}}}`, 200<<10)
	}, true},
	"params of running calls": {func(w *walker) {
		w.open(0)
		w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"run","arguments":{"text":"@"}}}`, 200<<10)
	}, false}, // over a connection, the message behind initialize is read while that waits
	"large results that are not read": {func(w *walker) {
		w.open(0)
		w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"echo","arguments":{"text":"@"}}}`, 200<<10, unread, "1")
	}, false},
}

// openTables are the tables whose bytes LoadOptions.MaxKept bounds.
var openTables = map[string]openTable{
	"sessions": {func(w *walker) { w.open(60 << 10) }, true},
	"params of calls that wait for an answer": {func(w *walker) {
		w.open(0)
		w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"ask","arguments":{"text":"@"}}}`, 200<<10)
	}, true},
	"answers of calls that wait for another answer": {func(w *walker) {
		w.open(0)
		w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"remember","arguments":{"text":"@"}}}`, 200<<10)
	}, true},
	"headers of calls that wait for an answer": {func(w *walker) {
		w.open(0)
		w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"ask","arguments":{"text":"@"}}}`, 1, "X-Long", strings.Repeat("x", 60<<10))
	}, false},
	"work in the background": {func(w *walker) {
		w.open(0)
		w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"detach","arguments":{"text":"@"}}}`, 200<<10)
	}, true},
	"queued notifications": {func(w *walker) {
		w.open(0)
		for range 4 {
			w.start(`{"jsonrpc":"2.0","method":"notifications/com.example/note","params":{"text":"@"}}`, 60<<10)
		}
	}, true},
	"many small queued notifications": {func(w *walker) {
		w.open(0)
		for range 80 {
			w.start(`{"jsonrpc":"2.0","method":"notifications/com.example/note","params":{"text":"@"}}`, 1<<10)
		}
	}, true},
	"messages that wait for a GET stream": {func(w *walker) {
		w.open(0)
		w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"talk","arguments":{"count":50,"size":20000,"detached":true},"_meta":{"progressToken":1}}}`, 0)
	}, false},
	"messages that wait for the connection of a call": {func(w *walker) {
		w.open(0)
		w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"talk","arguments":{"count":50,"size":20000},"_meta":{"progressToken":1}}}`, 0, unread, "1")
	}, false},
	"many small messages that wait for the connection of a call": {func(w *walker) {
		w.open(0)
		w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"talk","arguments":{"count":200,"size":1000},"_meta":{"progressToken":1}}}`, 0, unread, "1")
	}, false},
	"metadata of subscriptions": {func(w *walker) {
		w.stateless("subscriptions/listen", "", `{"jsonrpc":"2.0","id":ID,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+statelessMeta+`,"com.example/x":"@"}}}`, 200<<10)
	}, true},
	"headers of subscriptions": {func(w *walker) {
		w.stateless("subscriptions/listen", "", `{"jsonrpc":"2.0","id":ID,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},`+statelessMeta+`,"com.example/x":"@"}}}`, 1, "X-Long", strings.Repeat("x", 60<<10))
	}, false},
	"headers of GET streams": {func(w *walker) {
		w.open(0)
		w.start("", 0, "X-Long", strings.Repeat("x", 60<<10))
	}, false},
	"states of calls": {func(w *walker) {
		w.stateless("tools/call", "state", `{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"state","arguments":{"text":"@"},`+statelessMeta+`}}}`, 200<<10)
	}, true},
	"handles": {func(w *walker) {
		w.open(0)
		for range 4 {
			w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"keep","arguments":{"text":"@"}}}`, 60<<10)
		}
	}, true},
	"small handles": {func(w *walker) {
		w.open(0)
		for range 60 {
			w.start(`{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"keep","arguments":{"text":"@"}}}`, 1<<10)
		}
	}, true},
}

// untilEnd waits as Ask does, without a timer: the runtime removes a stopped timer of a bubble late,
// with what it holds.
func untilEnd(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// walked returns a server whose tools keep what their callers send.
func walked(t *testing.T, most int64) *mcpserver.Server {
	srv := newServer(&mcpserver.Options{
		Logger: slog.New(slog.DiscardHandler),
		Load: &mcpserver.LoadOptions{
			MaxKept: most, MaxWatched: int(most / 256), MaxBytes: int(most), MaxUnsent: most,
			ToolRate: mcp.Rate{PerSecond: -1}, SubscriptionRate: mcp.Rate{PerSecond: -1},
		},
	})
	work := tasks.Enable(srv, &tasks.Options{MaxBytes: int(most), Logger: slog.New(slog.DiscardHandler)})
	type text struct {
		Text string `json:"text"`
	}
	srv.Tool("echo", "", func(_ context.Context, in text) (string, error) { return in.Text, nil }, work.AsTask())
	srv.Tool("run", "", func(ctx context.Context, in text) (string, error) { return in.Text, untilEnd(ctx) })
	srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "note://{+path}", Name: "note"}, func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
		return nil, nil
	})
	srv.Tool("ask", "", func(ctx context.Context, in text) (string, error) {
		return in.Text, mcpserver.WaitIdle(ctx, untilEnd)
	})
	srv.Tool("remember", "", func(ctx context.Context, in text) (string, error) {
		if _, err := mcpserver.Once(ctx, "text", func() (string, error) { return strings.Clone(in.Text), nil }); err != nil {
			return "", err
		}
		return in.Text, mcpserver.WaitIdle(ctx, untilEnd)
	})
	srv.Tool("state", "", func(ctx context.Context, in text) (string, error) {
		if _, err := mcpserver.Once(ctx, "text", func() (string, error) { return in.Text, nil }); err != nil {
			return "", err
		}
		_, err := mcpserver.Ask[colour](ctx, "colour", "Which colour?")
		return "", err
	})
	srv.Tool("detach", "", func(ctx context.Context, in text) (string, error) {
		background, done, err := mcpserver.Detach(ctx, mcpserver.Background{})
		if err != nil {
			return "", err
		}
		go func() {
			defer done()
			<-background.Done()
			_ = in
		}()
		return "", nil
	})
	kept := handles.New[string](nil)
	srv.Tool("keep", "", func(ctx context.Context, in text) (string, error) { return kept.New(ctx, in.Text) })
	srv.Tool("talk", "", func(ctx context.Context, in struct {
		Count    int  `json:"count"`
		Size     int  `json:"size"`
		Detached bool `json:"detached,omitempty"`
	},
	) (string, error) {
		if in.Detached {
			background, done, err := mcpserver.Detach(ctx, mcpserver.Background{})
			if err != nil {
				return "", err
			}
			defer done()
			ctx = background
		}
		for range in.Count {
			if err := mcpserver.From(ctx).Notify(ctx, mcp.NotificationProgress, &mcp.ProgressParams{ProgressToken: mcp.IntProgressToken(1), Message: strings.Repeat("x", in.Size)}); err != nil {
				return "", err
			}
		}
		return "", nil
	})
	srv.Handle("notifications/com.example/note", func(ctx context.Context, _ *mcpserver.Request) (any, error) {
		<-ctx.Done()
		return nil, nil
	})
	return srv
}

var wide = flag.Bool("wide", false, "open the tables of what clients make a server keep as wide as they go, over every transport")

// A failure here means that clients make the server keep more bytes than LoadOptions.MaxKept. The
// heap is measured, so it does not matter whether the server has counted right.
func TestNoTableKeepsMoreBytesThanItsClientsMay(t *testing.T) {
	entries, most := 18, int64(320<<10)
	if *wide {
		entries, most = 100, 4<<20
	}
	// What entries take that do not count: at most 2 KiB each, with their goroutines' objects, and
	// what a session, a call and a request take themselves; and one entry of any size, for which an
	// empty share has room. The piece that is being written to a client that does not read is at most
	// 64 KiB.
	uncounted, written := int64(entries)*24<<10+256<<10, int64(entries)*64<<10
	for table, kind := range allTables() {
		_, own := ownBounds[table]
		for _, from := range []struct {
			name    string
			address func(i int) string
			bound   int64
			memory  bool // over connections, if the table can be opened there
			wide    bool
		}{
			{"one address", func(int) string { return "192.0.2.1:1" }, most / 4, false, false},
			{"many addresses", func(i int) string { return fmt.Sprintf("192.0.2.%d:1", i) }, most, true, false},
			{"loopback", func(i int) string { return fmt.Sprintf("127.0.0.1:%d", i+1) }, most, true, true},
			{"one address", func(int) string { return "192.0.2.1:1" }, most / 4, true, true},
			{"many addresses", func(i int) string { return fmt.Sprintf("192.0.2.%d:1", i) }, most, false, true},
			{"loopback", func(i int) string { return fmt.Sprintf("127.0.0.1:%d", i+1) }, most, false, true},
		} {
			if from.wide && !*wide {
				continue
			}
			transport, bound := "HTTP", from.bound+uncounted
			if from.memory && kind.stream {
				transport = "memory"
			}
			if strings.Contains(table, "the connection of a call") {
				bound += written
			}
			if own {
				bound = 4*most + uncounted // a call keeps its message and what is decoded from it
			}
			t.Run(table+"/"+from.name+"/"+transport, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					walk(t, kind.open, from.address, transport == "memory", entries, bound, most)
				})
			})
		}
	}
}

func allTables() map[string]openTable {
	all := maps.Clone(ownBounds)
	maps.Copy(all, openTables)
	return all
}

func walk(t *testing.T, open func(*walker), address func(int) string, connections bool, entries int, bound, most int64) {
	srv := walked(t, most)
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	defer work.Wait()
	defer func() {
		cancel()
		ended, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = srv.Shutdown(ended)
	}()
	walkers := make([]*walker, entries)
	before := liveHeap()
	for i := range walkers {
		w := &walker{t: t, ctx: ctx, work: &work, srv: srv, address: address(i)}
		walkers[i] = w
		if connections {
			ours, theirs := memory.Pair()
			w.conn = ours
			work.Go(func() {
				_ = srv.ServeConn(ctx, theirs, mcpserver.ConnOptions{Request: &http.Request{RemoteAddr: w.address, Header: make(http.Header)}})
			})
			work.Go(func() {
				for {
					if _, err := ours.Read(ctx); err != nil {
						return
					}
				}
			})
		}
		open(w)
		synctest.Wait()
	}
	if grown := liveHeap() - before; grown > bound {
		t.Errorf("the heap has grown by %d KiB, want at most %d KiB", grown>>10, bound>>10)
	}
}
