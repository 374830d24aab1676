package tasks_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// callReplica is one of several servers with the same Keys, Store, Bus and Events.
type callReplica struct {
	*mcpserver.Server
	tasks    *tasks.Tasks
	link     *link
	noEvents atomic.Bool // the EventStore takes nothing from it
}

// cutBus and cutEvents are the connections of a replica to the Bus and the EventStore.
type cutBus struct {
	mcp.Bus
	link *link
}

func (b cutBus) Publish(ctx context.Context, topic string, msg []byte) error {
	if b.link.cut.Load() {
		return errCut
	}
	return b.Bus.Publish(ctx, topic, msg)
}

type cutEvents struct {
	mcp.EventStore
	of *callReplica
}

func (e cutEvents) Append(ctx context.Context, stream string, n int64, msg []byte) error {
	if e.of.link.cut.Load() || e.of.noEvents.Load() {
		return errCut
	}
	return e.EventStore.Append(ctx, stream, n, msg)
}

// eventMap is an EventStore in memory.
type eventMap struct {
	mu      sync.Mutex
	streams map[string]map[int64][]byte
}

func (m *eventMap) Append(_ context.Context, stream string, n int64, msg []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.streams[stream] == nil {
		m.streams[stream] = make(map[int64][]byte)
	}
	m.streams[stream][n] = msg
	return nil
}

func (m *eventMap) After(_ context.Context, stream string, n int64) (msgs [][]byte, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for n++; m.streams[stream][n] != nil; n++ {
		msgs = append(msgs, m.streams[stream][n])
	}
	return msgs, nil
}

func (m *eventMap) Trim(_ context.Context, stream string, n int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for k := range m.streams[stream] {
		if k <= n {
			delete(m.streams[stream], k)
		}
	}
	return nil
}

// callCluster is several replicas, and what they share. Each has the same durable tools.
type callCluster struct {
	*testing.T
	store    mcpserver.MemoryStore
	bus      mcpserver.MemoryBus
	events   eventMap
	replicas []*callReplica
}

// newCallCluster returns n replicas, for which add adds the tools.
func newCallCluster(t *testing.T, n int, o tasks.Options, add func(at int, r *callReplica)) *callCluster {
	t.Helper()
	c := &callCluster{T: t}
	c.events.streams = make(map[string]map[int64][]byte)
	o.Logger = quiet
	for at := range n {
		l := &link{Store: &c.store}
		r := &callReplica{link: l}
		r.Server = mcpserver.New("works", "1", &mcpserver.Options{
			Logger: quiet, Store: l, Bus: cutBus{&c.bus, l}, Keys: durableKeys,
			HTTP: &mcpserver.HTTPOptions{Events: cutEvents{&c.events, r}},
		})
		r.tasks = tasks.Enable(r.Server, &o)
		add(at, r)
		r.HTTPHandler()
		c.replicas = append(c.replicas, r)
		t.Cleanup(func() {
			l.cut.Store(false)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_ = r.Shutdown(ctx)
		})
	}
	return c
}

// durableTool adds a durable tool to a replica.
func (r *callReplica) durableTool(name string, h func(ctx context.Context, in work) (string, error)) {
	r.Tool(name, "Works", h, mcpserver.Durable(), r.tasks.AsTask())
}

// kill cuts a replica from everything that the replicas share: for the others, it was killed. The
// caller has it do nothing more.
func (c *callCluster) kill(at int) { c.replicas[at].link.cut.Store(true) }

// exchangeWriter is the response of a request in memory.
type exchangeWriter struct {
	header http.Header
	status chan int
	once   sync.Once
	pipe   *io.PipeWriter
}

func (w *exchangeWriter) Header() http.Header { return w.header }
func (w *exchangeWriter) Flush()              {}
func (w *exchangeWriter) WriteHeader(status int) {
	w.once.Do(func() { w.status <- status })
}

func (w *exchangeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(bytes.Clone(p))
}

// callResponse is a response as its client reads it.
type callResponse struct {
	*testing.T
	status int
	header http.Header
	lines  *bufio.Scanner
	last   string // the id of the last event
	hangUp func()
}

// do sends a request to a replica.
func (c *callCluster) do(at int, method, session, body string, header ...string) *callResponse {
	c.Helper()
	return c.doUntil(c.Context(), at, method, session, body, header...)
}

// doUntil is do for a client that hangs up when ctx ends.
func (c *callCluster) doUntil(ctx context.Context, at int, method, session, body string, header ...string) *callResponse {
	c.Helper()
	ctx, cancel := context.WithCancel(ctx)
	r, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1/mcp", strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	r.RemoteAddr = "192.0.2.1:1234"
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	read, write := io.Pipe()
	w := &exchangeWriter{header: make(http.Header), status: make(chan int, 1), pipe: write}
	go func() {
		c.replicas[at].HTTPHandler().ServeHTTP(w, r)
		w.WriteHeader(http.StatusOK)
		_ = write.Close()
	}()
	hangUp := func() { cancel(); _ = read.Close() }
	c.Cleanup(hangUp)
	return &callResponse{T: c.T, status: <-w.status, header: w.header, lines: bufio.NewScanner(read), hangUp: hangUp}
}

// open opens a session at a replica.
func (c *callCluster) open(at int, v mcp.Revision) (session string) {
	c.Helper()
	res := c.do(at, http.MethodPost, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+v.String()+
		`","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}}`)
	session = res.header.Get("Mcp-Session-Id")
	if session == "" {
		c.Fatalf("initialize: got status %d and no session", res.status)
	}
	c.do(at, http.MethodPost, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return session
}

// call calls a tool at a replica.
func (c *callCluster) call(at int, session, tool string) *callResponse {
	c.Helper()
	return c.do(at, http.MethodPost, session, callBody(tool))
}

func callBody(tool string) string {
	return `{"jsonrpc":"2.0","id":"the call","method":"tools/call","params":{"name":"` + tool + `","arguments":{},"_meta":{"progressToken":1}}}`
}

// resume resumes a stream at a replica.
func (c *callCluster) resume(at int, session, last string) *callResponse {
	c.Helper()
	res := c.do(at, http.MethodGet, session, "", "Accept", "text/event-stream", "Last-Event-ID", last)
	if res.status != http.StatusOK {
		c.Fatalf("resume after %q: got status %d", last, res.status)
	}
	res.last = last
	return res
}

// follow resumes a stream at a replica until the reply. It resumes it again when the connection ends
// before that, as it does when the replica that has had it is known to have ended.
func (c *callCluster) follow(at int, session, last string) (all []string, id string) {
	c.Helper()
	for range 10 {
		res := c.resume(at, session, last)
		for got := res.next(); got != ""; got = res.next() {
			all = append(all, got)
		}
		last = res.last
		if len(all) > 0 && strings.Contains(all[len(all)-1], `"id":"the call"`) {
			return all, last
		}
		time.Sleep(time.Second)
	}
	c.Fatalf("got no reply, but %q", all)
	return nil, ""
}

// followWant is follow with a check of the messages.
func (c *callCluster) followWant(at int, session, last string, texts ...string) (id string) {
	c.Helper()
	all, id := c.follow(at, session, last)
	for i, text := range texts {
		if len(all) != len(texts) || !strings.Contains(all[i], text) {
			c.Fatalf("got the messages %q, want %q", all, texts)
		}
	}
	return id
}

// next returns the data of the next event, or nothing at the end.
func (r *callResponse) next() string {
	for r.lines.Scan() {
		if id, ok := strings.CutPrefix(r.lines.Text(), "id: "); ok {
			r.last = id
		}
		if data, ok := strings.CutPrefix(r.lines.Text(), "data: "); ok && data != "" {
			return data
		}
	}
	return ""
}

// begins waits for the first event id.
func (r *callResponse) begins() {
	r.Helper()
	for r.lines.Scan() {
		if id, ok := strings.CutPrefix(r.lines.Text(), "id: "); ok {
			r.last = id
			return
		}
	}
	r.Fatal("the stream has no event id")
}

// want reads events, which have to contain these texts.
func (r *callResponse) want(texts ...string) (last string) {
	r.Helper()
	for _, text := range texts {
		if last = r.next(); !strings.Contains(last, text) {
			r.Fatalf("got the event %q, want %q", last, text)
		}
	}
	return last
}

// wantEnd reads the reply and the end.
func (r *callResponse) wantEnd(texts ...string) {
	r.Helper()
	if got := r.want(texts...); !strings.Contains(got, `"id":"the call"`) {
		r.Errorf("got %s, want the reply", got)
	}
	if got := r.next(); got != "" {
		r.Errorf("got %s after the reply, want the end", got)
	}
}

// stored returns the keys of the Store that have a prefix.
func (c *callCluster) stored(prefix string) []string {
	c.Helper()
	keys, err := c.store.List(c.Context(), prefix, "", 100)
	if err != nil {
		c.Fatal(err)
	}
	return keys
}

// eachSessionRevision runs a test in fake time, in each revision that has sessions over Streamable
// HTTP.
func eachSessionRevision(t *testing.T, test func(t *testing.T, v mcp.Revision)) {
	for _, v := range []mcp.Revision{mcp.V20250326, mcp.V20250618, mcp.V20251125} {
		t.Run(v.String(), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { test(t, v) }) })
	}
}
