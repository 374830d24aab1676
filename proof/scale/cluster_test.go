//go:build linux

package scale_test

import (
	"bufio"
	"context"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
)

// cluster is replicas that share an engine.
type cluster struct {
	testing.TB
	engine   *testengine.Server // nil without one
	replicas []*replica
	settle   time.Duration // without calls, after which the replicas have settled
}

// replica is a process.
type replica struct {
	*testengine.Server
	url  string
	http *http.Client
}

// startCluster starts an engine and n replicas. Without a name there is no engine.
func startCluster(t testing.TB, name string, n int) *cluster {
	t.Helper()
	c := &cluster{TB: t}
	var url string
	switch name {
	case "Redis":
		c.engine = testengine.Redis(t)
	case "NATS":
		c.engine = testengine.NATS(t)
	case "PostgreSQL":
		c.engine = testengine.Postgres(t)
	}
	if c.engine != nil {
		url = c.engine.URL
	}
	for range n {
		c.replicas = append(c.replicas, startReplica(t, name, url))
	}
	return c
}

func startReplica(t testing.TB, engine, url string) *replica {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	r := &replica{http: &http.Client{Transport: transport}}
	r.Server = testengine.Run(t, testengine.Program{
		Command: func(addr, _ string) *exec.Cmd {
			r.url = "http://" + addr
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), addrVariable+"="+addr, engineVariable+"="+engine, urlVariable+"="+url)
			return cmd
		},
		URL: func(addr string) string { return "http://" + addr },
	})
	return r
}

// answer is a response to a request.
type answer struct {
	status int
	header http.Header
	body   string
	took   time.Duration
}

// failed reports whether a request was refused or its result is an error.
func (a answer) failed() bool { return a.status >= 300 || strings.Contains(a.body, `"error":{`) }

// do sends a request and returns the response, whose body is not read.
func (r *replica) do(ctx context.Context, method, path, body string, header ...string) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, method, r.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodGet {
		q.Header.Set("Accept", "text/event-stream")
	}
	for i := 0; i < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	return r.http.Do(q)
}

const (
	// patience is how long a response may take.
	patience = 30 * time.Second
	// hangTime limits waits for what never happens. It is long because a busy machine is slow.
	hangTime = 3 * time.Minute
)

// post sends a message and reads the response.
func (r *replica) post(ctx context.Context, message string, header ...string) (a answer, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	start := time.Now()
	res, err := r.do(ctx, http.MethodPost, "/mcp", message, header...)
	if err != nil {
		return a, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(text), time.Since(start)}, err
}

// succeed is post for a message whose response must be no error.
func (r *replica) succeed(ctx context.Context, message string, header ...string) (answer, error) {
	a, err := r.post(ctx, message, header...)
	if err == nil && a.failed() {
		err = fmt.Errorf("%s: got status %d, %s", message, a.status, a.body)
	}
	return a, err
}

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"client","version":"1"},"capabilities":{"elicitation":{}}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	subscribe   = `{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"` + watched + `"}}`
	unsubscribe = `{"jsonrpc":"2.0","id":1,"method":"resources/unsubscribe","params":{"uri":"` + watched + `"}}`
	echo        = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"Text":"hello"}}}`
	stateless   = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"Text":"hello"},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
)

var statelessHeader = []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo"}

// callOf returns a call of a tool that sends messages.
func callOf(tool string) string {
	return `{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"` + tool + `","_meta":{"progressToken":1}}}`
}

// open opens a session and returns the header of its requests.
func (r *replica) open(ctx context.Context) (header []string, err error) {
	a, err := r.succeed(ctx, initialize)
	if err != nil {
		return nil, err
	}
	header = []string{"Mcp-Session-Id", a.header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", "2025-11-25"}
	_, err = r.succeed(ctx, initialized, header...)
	return header, err
}

// usage returns what a replica has used up to now.
func (c *cluster) usage(r *replica, query string) (u usage) {
	c.Helper()
	res, err := r.do(c.Context(), http.MethodGet, "/usage"+query, "")
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.UnmarshalRead(res.Body, &u); err != nil {
		c.Fatal(err)
	}
	return u
}

// calls returns the calls of the engine by all replicas up to now.
func (c *cluster) calls() testengine.Counts {
	c.Helper()
	all := make(testengine.Counts)
	for _, r := range c.replicas {
		all.Add(c.usage(r, "").Calls)
	}
	return all
}

// stream is an event stream.
type stream struct {
	lines *bufio.Scanner
	last  string // the id of the last event
	close func()
}

// stream sends a request whose response is an event stream. It ends with the test.
func (r *replica) stream(t testing.TB, method, message string, header ...string) *stream {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	res, err := r.do(ctx, method, "/mcp", message, header...)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	end := sync.OnceFunc(func() { cancel(); res.Body.Close() })
	t.Cleanup(end)
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		t.Fatalf("%s %s: got status %d, %s, want an event stream", method, message, res.StatusCode, text)
	}
	return &stream{lines: bufio.NewScanner(res.Body), close: end}
}

// next returns the next event that contains a text, or false at the end of the stream.
func (s *stream) next(text string) (event string, found bool) {
	for s.lines.Scan() {
		if id, ok := strings.CutPrefix(s.lines.Text(), "id: "); ok {
			s.last = id
		}
		if data, ok := strings.CutPrefix(s.lines.Text(), "data: "); ok && strings.Contains(data, text) {
			return data, true
		}
	}
	return "", false
}

// await reads the stream up to an event that contains a text.
func (s *stream) await(t testing.TB, text string) string {
	t.Helper()
	late := time.AfterFunc(hangTime, s.close)
	defer late.Stop()
	event, ok := s.next(text)
	if !ok {
		t.Fatalf("the event stream ended, or had no event with %q within %v", text, hangTime)
	}
	return event
}

// concurrently calls f for 0 to n-1 on 8 goroutines for each replica, and returns the first error.
func concurrently(replicas, n int, f func(i int) error) error {
	workers := 8 * replicas
	var all sync.WaitGroup
	failed := make(chan error, workers)
	for w := range workers {
		all.Go(func() {
			for i := w; i < n; i += workers {
				if err := f(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return <-failed
}
