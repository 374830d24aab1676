package mcpserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// eventMap is an EventStore for servers in one process.
type eventMap struct {
	full    atomic.Bool // refuses events
	refused atomic.Int32
	mu      sync.Mutex
	streams map[string]map[int64][]byte
}

func (m *eventMap) Append(_ context.Context, stream string, n int64, msg []byte) error {
	if m.full.Load() {
		m.refused.Add(1)
		return errors.New("no space left")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.streams == nil {
		m.streams = make(map[string]map[int64][]byte)
	}
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

// brokenStore is the Store of one replica. It fails while it is broken.
type brokenStore struct {
	mcp.Store
	broken atomic.Bool
	hidden atomic.Bool // drops what says that the replica is alive

	hold atomic.Pointer[chan struct{}] // unless nil, the Bus waits until it is closed
	held atomic.Int32                  // counts the messages for which the Bus has waited
}

func (s *brokenStore) fails() error {
	if s.broken.Load() {
		return errors.New("connection refused")
	}
	return nil
}

func (s *brokenStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if err := s.fails(); err != nil {
		return nil, false, err
	}
	return s.Store.Get(ctx, key)
}

func (s *brokenStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := s.fails(); err != nil {
		return err
	}
	if s.hidden.Load() && strings.Contains(key, ".alive.") {
		return nil
	}
	return s.Store.Put(ctx, key, value, ttl)
}

func (s *brokenStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	if err := s.fails(); err != nil {
		return false, err
	}
	return s.Store.Create(ctx, key, value, ttl)
}

func (s *brokenStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	if err := s.fails(); err != nil {
		return false, err
	}
	return s.Store.Swap(ctx, key, old, value, ttl)
}

// countingBus is a Bus that counts its messages, and can repeat them.
type countingBus struct {
	mcpserver.MemoryBus
	published atomic.Int32

	mu   sync.Mutex
	sent []func() error // guarded by mu: publish the messages again
}

func (b *countingBus) Publish(ctx context.Context, topic string, msg []byte) error {
	b.published.Add(1)
	again := func() error { return b.MemoryBus.Publish(context.Background(), topic, msg) }
	b.mu.Lock()
	b.sent = append(b.sent, again)
	b.mu.Unlock()
	return b.MemoryBus.Publish(ctx, topic, msg)
}

// repeat publishes all messages so far again.
func (b *countingBus) repeat() (err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, again := range b.sent {
		err = errors.Join(err, again())
	}
	return err
}

// busOf is the Bus of one replica. It sends nothing while its Store is broken.
type busOf struct {
	mcp.Bus
	store *brokenStore
}

func (b busOf) Publish(ctx context.Context, topic string, msg []byte) error {
	if held := b.store.hold.Load(); held != nil {
		b.store.held.Add(1)
		<-*held
	}
	if err := b.store.fails(); err != nil {
		return err
	}
	return b.Bus.Publish(ctx, topic, msg)
}

// cluster is several servers with the same Store, Bus, events and keys.
type cluster struct {
	*testing.T
	stores  []*brokenStore
	bus     *countingBus
	kept    *eventMap // events of all replicas
	servers []*mcpserver.Server
	urls    []string
	step    chan struct{} // the tool "steps" sends a message for each value
	stopped chan struct{} // the tool "wait" was cancelled
}

func newCluster(t *testing.T, n int) *cluster {
	c := &cluster{T: t, bus: new(countingBus), step: make(chan struct{}), stopped: make(chan struct{}, 1)}
	shared, events := new(mcpserver.MemoryStore), new(eventMap)
	c.kept = events
	for range n {
		store := &brokenStore{Store: shared}
		srv := newServer(&mcpserver.Options{Keys: sharedKeys, Store: store, Bus: busOf{c.bus, store}, HTTP: &mcpserver.HTTPOptions{Events: events}})
		srv.Resource("notes://a", "a", "", fixed(""))
		srv.Tool("name", "Asks for a name", func(ctx context.Context, _ struct{}) (string, error) {
			answer, err := mcpserver.Ask[struct{ Name string }](ctx, "name", "Your name?")
			return answer.Name, err
		})
		srv.Tool("log", "Logs", func(ctx context.Context, _ struct{}) (string, error) {
			mcpserver.Log(ctx).Debug("detail")
			return "logged", nil
		})
		srv.Tool("steps", "Sends progress", func(ctx context.Context, _ struct{}) (string, error) {
			for i := range 3 {
				<-c.step
				mcpserver.Progress(ctx, float64(i+1), 3, "")
			}
			return "finished", nil
		})
		srv.Tool("wait", "Waits to be cancelled", func(ctx context.Context, _ struct{}) (string, error) {
			mcpserver.Progress(ctx, 1, 2, "")
			<-ctx.Done()
			c.stopped <- struct{}{}
			return "", ctx.Err()
		})
		web := httptest.NewServer(srv.HTTPHandler())
		t.Cleanup(func() {
			web.CloseClientConnections()
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_ = srv.Shutdown(ctx)
			web.Close()
		})
		c.servers, c.urls, c.stores = append(c.servers, srv), append(c.urls, web.URL), append(c.stores, store)
	}
	return c
}

// setBroken breaks and mends the Store and the Bus of all replicas.
func (c *cluster) setBroken(broken bool) {
	for _, s := range c.stores {
		s.broken.Store(broken)
	}
}

// do sends a request to one of the servers.
func (c *cluster) do(at int, method, session, body string, header ...string) *http.Response {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), method, c.urls[at], strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		r.Header.Set("Accept", "text/event-stream")
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { res.Body.Close() })
	return res
}

// post sends a message, checks the status, and returns the body.
func (c *cluster) post(at int, session, body string, status int) string {
	c.Helper()
	res := c.do(at, http.MethodPost, session, body)
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		c.Fatalf("%s at %d: got status %d, %s, %v, want %d", body, at, res.StatusCode, text, err, status)
	}
	return string(text)
}

// status sends a request and returns the status.
func (c *cluster) status(at int, method, session, body string) int {
	c.Helper()
	res := c.do(at, method, session, body)
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	return res.StatusCode
}

// open opens a session and returns its id.
func (c *cluster) open(at int) string {
	c.Helper()
	res := c.do(at, http.MethodPost, "", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
		`"clientInfo":{"name":"client","version":"1"},"capabilities":{"elicitation":{}}}}`)
	return res.Header.Get("Mcp-Session-Id")
}

// events are the events of a response.
type events struct {
	*cluster
	body *bufio.Scanner
	end  func() error
	last string // the id of the last event
}

func (c *cluster) events(res *http.Response) *events {
	c.Helper()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(res.Body)
		c.Fatalf("got status %d, %s, want an event stream", res.StatusCode, text)
	}
	return &events{cluster: c, body: bufio.NewScanner(res.Body), end: res.Body.Close}
}

// next returns the data of the next event that has any, or nothing at the end. It skips changes of
// the lists of tools and resources, which the replicas announce when they are made.
func (e *events) next() string {
	for e.body.Scan() {
		if id, ok := strings.CutPrefix(e.body.Text(), "id: "); ok {
			e.last = id
		}
		if data, ok := strings.CutPrefix(e.body.Text(), "data: "); ok && data != "" && !strings.Contains(data, "tools/list_changed") && !strings.Contains(data, "resources/list_changed") {
			return data
		}
	}
	return ""
}

// want reads the next event and checks that it contains a text.
func (e *events) want(text string) string {
	e.Helper()
	got := e.next()
	if !strings.Contains(got, text) {
		e.Fatalf("got the event %q, want %q", got, text)
	}
	return got
}

// questionID returns the id of a request of the server, as it is in the message.
func questionID(question string) string {
	_, number, _ := strings.Cut(question, `"id":`)
	return number[:strings.IndexAny(number, ",}")]
}

func TestAnswerReachesTheReplicaThatAsks(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	id := c.open(0)
	call := c.events(c.do(1, http.MethodPost, id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"name"}}`))
	number := questionID(call.want("elicitation/create"))
	answer := `{"jsonrpc":"2.0","id":` + number + `,"result":{"action":"accept","content":{"Name":"Ada"}}}`
	other := c.open(0)
	c.post(2, other, answer, http.StatusAccepted) // of another session
	c.post(2, id, strings.Replace(answer, "Ada", "Bob", 1), http.StatusAccepted)
	c.post(0, id, answer, http.StatusAccepted) // the second one counts no more
	call.want("Bob")
}

func TestDeletedSessionIsUnknownToAllReplicas(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-119")
	c := newCluster(t, 3)
	id := c.open(0)
	c.post(1, id, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, http.StatusOK)
	if res := c.do(2, http.MethodDelete, id, ""); res.StatusCode != http.StatusNoContent {
		t.Fatalf("DELETE: got status %d", res.StatusCode)
	}
	for at := range c.servers { // 0 has opened it, 1 has served it, 2 has ended it
		for c.status(at, http.MethodPost, id, `{"jsonrpc":"2.0","id":1,"method":"ping"}`) != http.StatusNotFound {
			time.Sleep(time.Millisecond) // until it knows
		}
	}
}

func TestLogLevelHoldsOnAllReplicas(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	id := c.open(0)
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log"}}`
	if got := c.post(0, id, call, http.StatusOK); strings.Contains(got, "detail") {
		t.Fatalf("got %s before debug was wanted", got)
	}
	c.post(1, id, `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}`, http.StatusOK)
	for at := range c.servers {
		for !strings.Contains(c.post(at, id, call, http.StatusOK), "detail") {
			time.Sleep(time.Millisecond) // until it knows
		}
	}
}

func TestCancellationReachesTheReplicaThatRunsTheCall(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	id := c.open(0)
	call := c.events(c.do(1, http.MethodPost, id, `{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait","_meta":{"progressToken":1}}}`))
	call.want("notifications/progress")
	c.post(2, id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`, http.StatusAccepted)
	<-c.stopped
	if got := call.next(); got != "" {
		t.Errorf("got %s after the cancellation, want nothing", got)
	}
}

// A failure here means that a client can have the replicas send messages to each other as fast
// as it likes.
func TestCancellationsOfUnknownRequestsAreBounded(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	id := c.open(0)
	before, began := c.bus.published.Load(), time.Now()
	for range 200 {
		c.post(1, id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}`, http.StatusAccepted)
	}
	bound := 32 * (int32(time.Since(began)/time.Second) + 2)
	if n := c.bus.published.Load() - before; n == 0 || n > bound {
		t.Errorf("got %d messages for 200 cancellations, want 1 to %d", n, bound)
	}
}

func TestSubscriptionHoldsWhereverTheStreamIs(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	id := c.open(0)
	c.post(1, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, http.StatusAccepted)
	c.post(2, id, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"notes://a"}}`, http.StatusOK)
	for at := range c.servers {
		stream := c.events(c.do(at, http.MethodGet, id, ""))
		c.servers[(at+1)%3].Updated("notes://a")
		stream.want("notes://a")
		stream.end()
	}
	c.post(0, id, `{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"notes://a"}}`, http.StatusOK)
	stream := c.events(c.do(1, http.MethodGet, id, ""))
	// Replicas that had the stream may notify for a short time longer, but not for ever.
	for updated, n := true, 0; updated; n++ {
		c.servers[2].Updated("notes://a")
		c.servers[2].Prompt(fmt.Sprint("new", n), "A change of the list", func(context.Context, struct{}) ([]mcp.PromptMessage, error) { return nil, nil })
		updated = false
		for event := stream.next(); !strings.Contains(event, "notifications/prompts/list_changed"); event = stream.next() {
			if event == "" {
				t.Fatal("the stream has ended, want the change of the list")
			}
			updated = true
		}
	}
}

// A failure here means that a message of the Bus which is late, or which somebody repeats, ends the
// notifications of a client.
func TestLateMessagesTakeNoNotificationsFromAReplica(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	id := c.open(0)
	c.post(0, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, http.StatusAccepted)
	c.post(0, id, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"notes://a"}}`, http.StatusOK)
	c.events(c.do(1, http.MethodGet, id, "")).end()
	stream := c.events(c.do(0, http.MethodGet, id, ""))
	if err := c.bus.repeat(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond) // a replica that gives its place to another one forwards for a second
	c.servers[0].Updated("notes://a")
	stream.want("notes://a")
}

func TestNotificationsWaitForTheStreamAtAnyReplica(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	id := c.open(0)
	c.post(0, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, http.StatusAccepted)
	c.post(0, id, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"notes://a"}}`, http.StatusOK)
	c.servers[0].Updated("notes://a")
	stream := c.events(c.do(1, http.MethodGet, id, ""))
	stream.want("notes://a")
	c.servers[0].Updated("notes://a")
	c.servers[1].Prompt("new", "A change of another list", func(context.Context, struct{}) ([]mcp.PromptMessage, error) { return nil, nil })
	got := []string{stream.next(), stream.next()}
	slices.Sort(got)
	if !strings.Contains(got[0], "prompts/list_changed") || !strings.Contains(got[1], "notes://a") {
		t.Errorf("got %q, want each change once", got)
	}
}

// A failure here means that a client misses a change between notifications/initialized and its
// first GET, if they reach different replicas. The first replica may not know of the former before the
// change, because the Bus does not say when a message has arrived; then another client tries.
func TestChangesAreKeptFromInitializedOn(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	for try := range 20 {
		id := c.open(0)
		c.post(1, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, http.StatusAccepted)
		c.post(0, id, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, http.StatusOK)
		c.servers[0].Prompt(fmt.Sprint("new", try), "A change of the list", func(context.Context, struct{}) ([]mcp.PromptMessage, error) { return nil, nil })
		res := c.do(2, http.MethodGet, id, "")
		giveUp := time.AfterFunc(2*time.Second, func() { _ = res.Body.Close() })
		got := c.events(res).next()
		giveUp.Stop()
		if strings.Contains(got, "notifications/prompts/list_changed") {
			return
		}
	}
	t.Error("20 clients were not notified of a change before their first GET")
}

func TestCallIsResumedAtAnyReplica(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-114")
	c := newCluster(t, 3)
	id := c.open(0)
	go func() { c.step <- struct{}{} }() // the response begins with the first message
	call := c.events(c.do(0, http.MethodPost, id, `{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"steps","_meta":{"progressToken":1}}}`))
	call.want(`"progress":1`)
	call.end()
	for at, text := range []string{"", `"progress":2`, `"progress":3`} {
		if at == 0 {
			continue
		}
		resumed := c.events(c.do(at, http.MethodGet, id, "", "Last-Event-ID", call.last))
		c.step <- struct{}{}
		resumed.want(text)
		resumed.end()
		call.last = resumed.last
	}
	resumed := c.events(c.do(1, http.MethodGet, id, "", "Last-Event-ID", call.last))
	resumed.want("finished")
	if got := resumed.next(); got != "" {
		t.Errorf("got %s after the reply, want the end", got)
	}
	again := c.events(c.do(2, http.MethodGet, id, "", "Last-Event-ID", call.last))
	again.want("finished")
	res := c.do(2, http.MethodGet, c.open(2), "", "Last-Event-ID", call.last)
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("another session: got status %d, want 400", res.StatusCode)
	}
}

// A client that loses the resumed stream before its first message has to know where to resume again.
func TestStreamThatIsResumedAtAnotherReplicaBeginsWithItsID(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-113b")
	c := newCluster(t, 2)
	id := c.open(0)
	go func() { c.step <- struct{}{} }() // the response begins with the first message
	call := c.events(c.do(0, http.MethodPost, id, `{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"steps","_meta":{"progressToken":1}}}`))
	call.want(`"progress":1`)
	call.end()
	for at := range 2 {
		resumed := c.events(c.do(1-at, http.MethodGet, id, "", "Last-Event-ID", call.last))
		for _, want := range []string{"id: " + call.last, "data: ", ""} {
			if resumed.body.Scan(); resumed.body.Text() != want {
				t.Fatalf("replica %d: got %q, want %q", 1-at, resumed.body.Text(), want)
			}
		}
		resumed.end()
	}
	go func() {
		for range 2 {
			c.step <- struct{}{}
		}
	}()
	last := c.events(c.do(1, http.MethodGet, id, "", "Last-Event-ID", call.last))
	last.want(`"progress":2`)
	last.want(`"progress":3`)
	last.want("finished")
}

func TestGetStreamIsResumedAtAnyReplica(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3)
	id := c.open(0)
	c.post(0, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, http.StatusAccepted)
	c.post(0, id, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"notes://a"}}`, http.StatusOK)
	stream := c.events(c.do(0, http.MethodGet, id, ""))
	c.servers[0].Updated("notes://a")
	stream.want("notes://a")
	first := stream.last
	stream.end()
	c.servers[2].Updated("notes://a") // while there is no stream
	second := c.events(c.do(1, http.MethodGet, id, "", "Last-Event-ID", first))
	second.want("notes://a")
	second.end()
	third := c.events(c.do(2, http.MethodGet, id, "", "Last-Event-ID", first)) // the client has lost the second one
	third.want("notes://a")
}

func TestCallOfAReplicaThatIsGoneEndsWithAnError(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	id := c.open(0)
	go func() { c.step <- struct{}{} }() // the response begins with the first message
	call := c.events(c.do(0, http.MethodPost, id, `{"jsonrpc":"2.0","id":"s","method":"tools/call","params":{"name":"steps","_meta":{"progressToken":1}}}`))
	call.want(`"progress":1`)
	call.end()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	go func() {
		for range 2 {
			c.step <- struct{}{}
		}
	}()
	_ = c.servers[0].Shutdown(ctx)
	resumed := c.events(c.do(1, http.MethodGet, id, "", "Last-Event-ID", call.last))
	got := resumed.next()
	for strings.Contains(got, "notifications/progress") {
		got = resumed.next()
	}
	if !strings.Contains(got, `"id":"s"`) {
		t.Errorf("got %q, want a reply to the call", got)
	}
}

// The replica is alive, and cannot reach the others: for them it is as if it were killed.
func TestCallOfAReplicaThatIsDeadEndsWithinSeconds(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	id := c.open(0)
	call := c.events(c.do(0, http.MethodPost, id, `{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"wait","_meta":{"progressToken":1}}}`))
	call.want("notifications/progress")
	call.end()
	c.stores[0].broken.Store(true)
	resumed := c.events(c.do(1, http.MethodGet, id, "", "Last-Event-ID", call.last))
	got := resumed.want("may have run")
	if !strings.Contains(got, `"id":"w"`) || resumed.next() != "" {
		t.Errorf("got %s, want the error of the call and the end", got)
	}
	again := c.events(c.do(1, http.MethodGet, id, "", "Last-Event-ID", call.last))
	again.want("may have run")
	c.stores[0].broken.Store(false)
	c.post(0, id, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`, http.StatusAccepted)
}

func TestLargeAnswerForAnotherReplicaIsRefused(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	id := c.open(0)
	call := c.events(c.do(0, http.MethodPost, id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"name"}}`))
	number := questionID(call.want("elicitation/create"))
	large := `{"jsonrpc":"2.0","id":` + number + `,"result":{"action":"accept","content":{"Name":"` + strings.Repeat("x", 1<<20) + `"}}}`
	c.post(1, id, large, http.StatusRequestEntityTooLarge)
	c.post(1, id, `{"jsonrpc":"2.0","id":`+number+`,"result":{"action":"accept","content":{"Name":"Ada"}}}`, http.StatusAccepted)
	call.want("Ada")
}

func TestSharedSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	c.servers[1].Template("notes://{+name}", "any", "", func(context.Context, struct {
		Name string `json:"name"`
	},
	) ([]byte, error) {
		return nil, nil
	})
	id := c.open(0)
	refused := 0
	for i := range 300 {
		uri := fmt.Sprintf("notes://%d/%s", i, strings.Repeat("x", 1000))
		if got := c.post(1, id, `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"`+uri+`"}}`, http.StatusOK); strings.Contains(got, "too many subscriptions") {
			refused++
		}
	}
	if refused < 300-(256<<10)/1000 || refused == 300 {
		t.Errorf("got %d of 300 subscriptions with 1,000 bytes refused, want those beyond 256 KiB", refused)
	}
}

func TestSubscriptionHoldsIfRepeatingItFails(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	id := c.open(0)
	subscribe := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"notes://a"}}`
	c.post(0, id, subscribe, http.StatusOK)
	stream := c.events(c.do(0, http.MethodGet, id, ""))
	c.setBroken(true)
	c.post(0, id, subscribe, http.StatusServiceUnavailable)
	c.servers[0].Updated("notes://a")
	stream.want("notes://a")
}

// A client repeats its subscription at a replica that is just taking its place over, and the Store
// fails.
func TestSubscriptionHoldsIfRepeatingItFailsDuringATakeover(t *testing.T) {
	t.Parallel()
	const subscribe = `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"notes://a"}}`
	c := newCluster(t, 2)
	id := c.open(0)
	c.post(0, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, http.StatusAccepted)
	c.post(0, id, subscribe, http.StatusOK)
	c.post(1, id, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, http.StatusOK)
	held := make(chan struct{})
	c.stores[1].hold.Store(&held)
	var stream *events
	var both sync.WaitGroup
	both.Go(func() { stream = c.events(c.do(1, http.MethodGet, id, "")) })
	for c.stores[1].held.Load() == 0 { // until the takeover is recorded and waits for the Bus
		time.Sleep(time.Millisecond)
	}
	status := 0
	both.Go(func() { status = c.status(1, http.MethodPost, id, subscribe) })
	time.Sleep(200 * time.Millisecond) // until the subscription waits for the takeover
	c.stores[1].broken.Store(true)
	c.stores[1].hold.Store(nil)
	close(held)
	both.Wait()
	if status == http.StatusOK {
		t.Error("the subscription succeeded without its Store")
	}
	c.stores[1].broken.Store(false)
	c.servers[1].Updated("notes://a")
	stream.want("notes://a")
	stream.want("notes://a")
}

func TestSessionsAreServedWithoutTheirStore(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	id := c.open(0)
	subscribe := `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"notes://a"}}`
	c.setBroken(true)
	for at := range c.servers {
		if got := c.post(at, id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"log"}}`, http.StatusOK); !strings.Contains(got, "logged") {
			t.Errorf("replica %d, call: got %s, want the result", at, got)
		}
		if got := c.post(at, id, subscribe, http.StatusServiceUnavailable); !strings.Contains(got, "not available") {
			t.Errorf("replica %d, subscribe: got %s, want an error", at, got)
		}
		if got := c.post(at, id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"name"}}`, http.StatusServiceUnavailable); !strings.Contains(got, "not available") {
			t.Errorf("replica %d, question: got %s, want an error", at, got)
		}
	}
	if status := c.do(1, http.MethodDelete, id, "").StatusCode; status != http.StatusServiceUnavailable {
		t.Errorf("DELETE: got status %d, want 503", status)
	}
	c.post(0, c.open(0), `{"jsonrpc":"2.0","id":1,"method":"ping"}`, http.StatusOK) // a new session
	c.setBroken(false)
	for c.status(1, http.MethodPost, id, subscribe) != http.StatusOK { // until the Store is tried again
		time.Sleep(time.Millisecond)
	}
}

var _ mcp.EventStore = (*eventMap)(nil)

func TestPostOfHTTPAndSSEReachesTheReplicaOfItsStream(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	var old []string // the URLs of HTTP+SSE
	for _, srv := range c.servers {
		old = append(old, mcptest.HTTP(t, srv.EventStreamHandler()))
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, old[0], nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stream := c.events(res)
	endpoint := stream.next()
	post := func(at int, path, body string, status int) {
		t.Helper()
		res, err := http.Post(old[at]+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text, _ := io.ReadAll(res.Body); res.StatusCode != status {
			t.Errorf("%.100s at %d: got status %d, %s, want %d", body, at, res.StatusCode, text, status)
		}
	}
	post(1, endpoint, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`, http.StatusAccepted)
	stream.want(`"id":1`)
	post(1, endpoint, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, http.StatusAccepted)
	large := `{"jsonrpc":"2.0","id":2,"method":"ping","params":{"_meta":{"x":"` + strings.Repeat("x", 100_000) + `"}}}`
	for at := range c.servers {
		post(at, endpoint, large, http.StatusAccepted)
		stream.want(`"id":2`)
	}
	post(1, endpoint, `{"jsonrpc":"2.0","id":3,"method":"ping","params":{"_meta":{"x":"`+strings.Repeat("x", 2<<20)+`"}}}`, http.StatusRequestEntityTooLarge)
	post(1, endpoint[:len(endpoint)-3]+"AAA", large, http.StatusNotFound)
	stream.end()
	for status := 0; status != http.StatusNotFound; { // until the connection has ended with its stream
		res, err := http.Post(old[1]+endpoint, "application/json", strings.NewReader(large))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		status = res.StatusCode
	}
}

// A failure here means that sessions leave records in the Store after their end: those of streams
// that could be resumed, and of questions of replicas that were killed.
func TestDeletedSessionLeavesNothingButItsEnd(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2)
	id := c.open(0)
	call := c.events(c.do(0, http.MethodPost, id, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"name"}}`))
	number := questionID(call.want("elicitation/create"))
	answer := `{"jsonrpc":"2.0","id":` + number + `,"result":{"action":"accept","content":{"Name":"Ada"}}}`
	c.post(1, id, answer, http.StatusAccepted)
	call.want("Ada")
	c.events(c.do(0, http.MethodPost, id, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"name"}}`)).want("elicitation/create")
	c.stores[0].broken.Store(true) // as if it were killed
	if got := len(c.sessionKeys()); got < 3 {
		t.Errorf("got %d records, want those of two streams and a question", got)
	}
	if status := c.status(1, http.MethodDelete, id, ""); status != http.StatusNoContent {
		t.Fatalf("DELETE: got status %d", status)
	}
	for end := time.Now().Add(3 * time.Minute); len(c.sessionKeys()) > 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("got the records %q, want that of the end alone", c.sessionKeys())
		}
	}
	c.stores[0].broken.Store(false)
}

// sessionKeys are the keys of sessions in the Store.
func (c *cluster) sessionKeys() []string {
	c.Helper()
	keys, err := c.stores[0].Store.List(c.Context(), "session.", "", 100)
	if err != nil {
		c.Fatal(err)
	}
	return keys
}
