package proof

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var soakTime = flag.Duration("soaktime", 2*time.Second, "how long TestSoak goes on after it has warmed up, and a third of it before, at most a minute")

const (
	// maxHeapGrowth limits the growth of the heap.
	maxHeapGrowth = 5 << 20
	workers       = 8
)

// A soak counts what its workers have done.
type soak struct {
	t      *testing.T
	server *child

	calls, cancelled, broken, killed, slow atomic.Int64
}

// A failure here means that clients which connect, cancel, disconnect, read slowly or
// lose their server leave something behind, in the server or the clients. Both processes
// are measured after warming up and at the end, each time without clients. Session ids expire
// within the warm-up, because the server keeps those of ended sessions until they expire.
func TestSoak(t *testing.T) {
	s := &soak{t: t, server: startChild(t, "http", idleVariable+"=1s", lifeVariable+"=15s")}
	defer s.server.end(t)
	s.run(min(*soakTime/3, time.Minute))
	serverBefore, clientBefore := s.settled()
	s.run(*soakTime)
	server, client := s.rest(serverBefore, clientBefore)
	s.compare("server", serverBefore, server)
	s.compare("client", clientBefore, client)
	t.Attr("verdict", fmt.Sprintf("soak: %s of %d calls, %d cancelled, %d connections broken off, %d children killed, %d slow readers; server: %s, heap %+.1f MiB; client: %s, heap %+.1f MiB",
		*soakTime, s.calls.Load(), s.cancelled.Load(), s.broken.Load(), s.killed.Load(), s.slow.Load(),
		server, mebibytes(server.Heap-serverBefore.Heap), client, mebibytes(client.Heap-clientBefore.Heap)))
}

// run runs clients for some time.
func (s *soak) run(d time.Duration) {
	deadline := time.Now().Add(d)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			chance := rand.New(rand.NewPCG(uint64(worker), 7))
			for time.Now().Before(deadline) {
				s.runClient(chance)
			}
		})
	}
	all.Wait()
}

// settled waits until abandoned sessions have expired, so that nothing changes any more, and returns
// the resources.
func (s *soak) settled() (server, client resources) {
	server, client = s.server.holdings(s.t), measure()
	for deadline := time.Now().Add(replyTimeout); ; {
		time.Sleep(3 * time.Second)
		serverBefore, clientBefore := server, client
		server, client = s.server.holdings(s.t), measure()
		if server.same(serverBefore) && client.same(clientBefore) || time.Now().After(deadline) {
			return server, client
		}
	}
}

// rest waits until the resources are as before, up to a limit, and returns them.
func (s *soak) rest(serverBefore, clientBefore resources) (server, client resources) {
	for deadline := time.Now().Add(replyTimeout); ; time.Sleep(200 * time.Millisecond) {
		server, client = s.server.holdings(s.t), measure()
		if server.same(serverBefore) && client.same(clientBefore) || time.Now().After(deadline) {
			return server, client
		}
	}
}

// same reports whether all counts are equal.
func (h resources) same(before resources) bool {
	return h.Goroutines == before.Goroutines && h.Descriptors == before.Descriptors && h.Children == before.Children && h.Heap-before.Heap < maxHeapGrowth
}

func (s *soak) compare(who string, before, after resources) {
	if !after.same(before) {
		s.t.Errorf("the %s had %s, and in the end %s", who, before, after)
	}
}

// runClient is one client from its connection to its end.
func (s *soak) runClient(chance *rand.Rand) {
	revisions := mcp.Revisions()
	v := revisions[chance.IntN(len(revisions))]
	switch kind := chance.IntN(20); {
	case kind == 0:
		s.killChild(v)
	case kind == 1:
		s.useAChild(v)
	case kind == 2:
		s.readSlowly()
	case kind < 6:
		s.disconnect(v)
	case kind < 10 && v != mcp.V20260728:
		s.use(mcpclient.EventStream("http://"+s.server.addr+"/sse"), v, chance)
	default:
		s.use(mcpclient.URL("http://"+s.server.addr+"/mcp"), v, chance)
	}
}

func (s *soak) connect(target mcpclient.Target, v mcp.Revision) *mcpclient.Client {
	ctx, cancel := context.WithTimeout(s.t.Context(), replyTimeout)
	defer cancel()
	c, err := mcpclient.Connect(ctx, target, &mcpclient.Options{
		Revisions: []mcp.Revision{v}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		s.t.Errorf("connect in %s: %v", v, err)
		return nil
	}
	return c
}

func (s *soak) use(target mcpclient.Target, v mcp.Revision, chance *rand.Rand) {
	c := s.connect(target, v)
	if c == nil {
		return
	}
	defer c.Close()
	for range chance.IntN(20) {
		if chance.IntN(4) == 0 {
			s.cancel(c)
		}
		s.call(c, chance.IntN(1000))
	}
}

// addends are the arguments of the fixture's tool add, and sum is its result.
type (
	addends struct {
		A int `json:"a"`
		B int `json:"b"`
	}
	sum struct {
		Sum int `json:"sum"`
	}
)

func (s *soak) call(c *mcpclient.Client, a int) {
	got, err := c.Call[sum](s.t.Context(), "add", addends{A: a, B: 1})
	if err != nil || got.Sum != a+1 {
		s.t.Errorf("call in %s: got %v, %v", c.Revision(), got, err)
	}
	s.calls.Add(1)
}

// cancel cancels a call that would wait for ever.
func (s *soak) cancel(c *mcpclient.Client) {
	ctx, cancel := context.WithTimeout(s.t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := c.Call[string](ctx, "wait", nil); !errors.Is(err, context.DeadlineExceeded) {
		s.t.Errorf("cancelled call in %s: got %v", c.Revision(), err)
	}
	s.cancelled.Add(1)
}

// disconnect disconnects during a call without ending the session, as after the loss of the
// network.
func (s *soak) disconnect(v mcp.Revision) {
	w := &httpPipe{t: s.t, addr: s.server.addr, revision: v}
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer conn.Close()
	text, method := opening(v), "initialize"
	if v == mcp.V20260728 {
		text, method = strings.Replace(goodCall(v, "left"), `"echo"`, `"wait"`, 1), "tools/call"
	}
	if _, err := conn.Write(w.newRequest([]byte(text), method, "wait").bytes()); err != nil {
		s.t.Error(err)
	}
	if v != mcp.V20260728 { // the session begins when this is read
		_, _ = io.ReadFull(conn, make([]byte, 10))
	}
	s.broken.Add(1)
}

// readSlowly requests more than it reads, and disconnects.
func (s *soak) readSlowly() {
	w := &httpPipe{t: s.t, addr: s.server.addr, revision: mcp.V20260728}
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		s.t.Error(err)
		return
	}
	defer conn.Close()
	if _, err := conn.Write(w.newRequest(largeCall(), "tools/call", "much").bytes()); err != nil {
		s.t.Error(err)
	}
	for range 20 {
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			s.t.Errorf("slow reader: %v", err)
			return
		}
		time.Sleep(time.Millisecond)
	}
	s.slow.Add(1)
}

// largeCall requests more than the buffers of a connection hold.
func largeCall() []byte {
	return []byte(strings.Replace(goodCall(mcp.V20260728, "much"), `"name":"echo","arguments":{"text":"still here"}`, `"name":"much"`, 1))
}

// childTarget is the target of a server over stdio.
func (s *soak) childTarget() *mcpclient.CommandTarget {
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	return &mcpclient.CommandTarget{Path: self, Env: map[string]string{serveVariable: "stdio"}}
}

func (s *soak) useAChild(v mcp.Revision) {
	c := s.connect(s.childTarget(), v)
	if c == nil {
		return
	}
	defer c.Close()
	s.call(c, 1)
}

// killChild kills a server during a call, which must fail at once.
func (s *soak) killChild(v mcp.Revision) {
	c := s.connect(s.childTarget(), v)
	if c == nil {
		return
	}
	defer c.Close()
	runs, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		_, err := c.Call[string](s.t.Context(), "wait", nil, mcpclient.WithProgress(func(mcp.ProgressParams) { close(runs) }))
		failed <- err
	}()
	<-runs // otherwise the call would run in the server that is started next
	_, _ = c.Call[string](s.t.Context(), "die", nil)
	select {
	case err := <-failed:
		if err == nil {
			s.t.Error("the call at a killed server has a result")
		}
	case <-time.After(replyTimeout):
		s.t.Error("the call at a killed server does not end")
	}
	s.killed.Add(1)
}
