//go:build linux

package scale_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
)

// operation is something in a session that replica 0 has opened.
type operation struct {
	name   string
	before func(s *opened) // may be nil
	do     func(s *opened)
}

// opened is a session.
type opened struct {
	*cluster
	header []string
	call   *stream // that runs
}

// send sends a message to a replica.
func (s *opened) send(at int, message string) {
	s.Helper()
	if _, err := s.replicas[at].succeed(s.Context(), message, s.header...); err != nil {
		s.Fatal(err)
	}
}

// request sends a request without a message and checks the status.
func (s *opened) request(at int, method, path string, status int) {
	s.Helper()
	res, err := s.replicas[at].do(s.Context(), method, path, "", s.header...)
	if err != nil {
		s.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != status {
		s.Fatalf("%s %s: got status %d, want %d", method, path, res.StatusCode, status)
	}
}

// get opens a GET stream.
func (s *opened) get(at int) { s.call = s.replicas[at].stream(s, http.MethodGet, "", s.header...) }

// begin calls a tool, and waits for its first message.
func (s *opened) begin(tool string) {
	s.call = s.replicas[0].stream(s, http.MethodPost, callOf(tool), s.header...)
	s.call.await(s, "")
}

func (s *opened) ask() {
	s.call = s.replicas[0].stream(s, http.MethodPost, callOf("ask"), s.header...)
	question := s.call.await(s, "elicitation/create")
	_, number, _ := strings.Cut(question, `"id":`)
	number = number[:strings.IndexAny(number, ",}")]
	s.send(1, `{"jsonrpc":"2.0","id":`+number+`,"result":{"action":"accept","content":{"Name":"Ada"}}}`)
	s.call.await(s, "Ada")
}

var operations = []operation{
	{"open a session, at one replica", nil, func(s *opened) {
		if _, err := s.replicas[0].open(s.Context()); err != nil {
			s.Fatal(err)
		}
	}},
	{"`notifications/initialized` at another replica", nil, func(s *opened) { s.send(1, initialized) }},
	{"a call with ten messages and a reply", nil, func(s *opened) { s.begin("steps"); s.call.await(s, "done") }},
	{"a question, answered at another replica", nil, (*opened).ask},
	{"cancel a call that runs at another replica", func(s *opened) { s.begin("wait") }, func(s *opened) {
		s.send(1, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"call"}}`)
	}},
	{"subscribe", nil, func(s *opened) { s.send(0, subscribe) }},
	{"subscribe; all replicas have served the session", everywhere, func(s *opened) { s.send(0, subscribe) }},
	{"open a GET stream", nil, func(s *opened) { s.get(0) }},
	{"open a GET stream at another replica", func(s *opened) { s.get(0) }, func(s *opened) { s.get(1) }},
	{"`Updated`", func(s *opened) { s.send(0, subscribe) }, func(s *opened) { s.request(0, http.MethodPost, "/updated", http.StatusOK) }},
	{"DELETE", nil, func(s *opened) { s.request(0, http.MethodDelete, "/mcp", http.StatusNoContent) }},
}

// everywhere has all replicas serve the session.
func everywhere(s *opened) {
	for at := range s.replicas {
		s.send(at, echo)
	}
}

// measureOperations counts the calls of the engine that operations cause with four replicas.
func measureOperations(t *testing.T, of size, p *page) {
	c := startCluster(t, of.engines[0], 4)
	c.settle = of.settle
	for _, r := range c.replicas { // which joins the others with its first session
		if _, err := r.open(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	rows := [][]string{{"with four replicas", "calls of the engine", "messages that replicas get", "bytes of a message"}}
	for _, o := range operations {
		rows = append(rows, c.count(t, o))
	}
	idle := 10 * of.settle
	before := c.calls()
	time.Sleep(idle)
	got := c.calls().Since(before)
	rows = append(rows, []string{
		"nothing, for each replica and second",
		fmt.Sprintf("%.1f", float64(got["Beat"]+got.Calls())/float64(len(c.replicas))/idle.Seconds()), fmt.Sprint(got["Deliver"]), "–",
	})
	p.add("Calls of the engine", rows...)
	p.add("CPU time between replicas",
		[]string{"", "CPU time of each replica"},
		[]string{"a message that it gets", fmt.Sprintf("%.0f µs", c.costOfMessage(t, of.calls/2))},
	)
}

// count returns the row of an operation.
func (c *cluster) count(t *testing.T, o operation) (row []string) {
	t.Run(o.name, func(t *testing.T) {
		of := &cluster{TB: t, engine: c.engine, replicas: c.replicas, settle: c.settle}
		header, err := c.replicas[0].open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		s := &opened{cluster: of, header: header}
		if o.before != nil {
			o.before(s)
		}
		before := of.settled()
		o.do(s)
		got := of.settled().Since(before)
		size := "–"
		if n := got["Publish"]; n > 0 {
			size = fmt.Sprint(got["Bytes"] / n)
		}
		text := fmt.Sprint(got.Calls())
		for _, name := range []string{"Get", "Put", "Create", "Swap", "Delete", "List", "Publish", "Append", "After", "Trim"} {
			if got[name] > 0 {
				text += fmt.Sprintf(", %d %s", got[name], name)
			}
		}
		row = []string{o.name, strings.Replace(text, ", ", ": ", 1), fmt.Sprint(got["Deliver"]), size}
	})
	return row
}

// settled waits until replicas call the engine no more, and returns their calls.
func (c *cluster) settled() testengine.Counts {
	c.Helper()
	last, since := c.calls(), time.Now()
	for time.Since(since) < c.settle {
		time.Sleep(c.settle / 10)
		if now := c.calls(); now.Calls() != last.Calls() || now["Deliver"] != last["Deliver"] {
			last, since = now, time.Now()
		}
	}
	return last
}

// costOfMessage returns the CPU time, in microseconds, of a message at a replica that does not know
// its session.
func (c *cluster) costOfMessage(t *testing.T, n int) float64 {
	header, err := c.replicas[0].open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	last := c.replicas[len(c.replicas)-1]
	before := c.usage(last, "")
	for i := range n {
		if _, err := c.replicas[0].succeed(t.Context(), []string{subscribe, unsubscribe}[i%2], header...); err != nil {
			t.Fatal(err)
		}
	}
	after := c.usage(last, "")
	got := max(after.Calls.Since(before.Calls)["Deliver"], 1)
	return float64(after.CPU-before.CPU) / 1000 / float64(got)
}
