package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A server that announces no changes is listed again when its list is old.
func TestListsAreReadAgainByAge(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			d := &dynamicServer{silent: true}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{revision}})
			d.add("new")
			time.Sleep(4 * time.Minute)
			if got, lists := c.names(t), d.count(); got != "login logout whoami" || lists != 1 {
				t.Errorf("%s: got %q after %d reads, want the list that is known", revision, got, lists)
			}
			time.Sleep(time.Minute)
			for range 10 {
				if got, lists := c.names(t), d.count(); got != "login logout new whoami" || lists != 2 {
					t.Errorf("%s: got %q after %d reads, want the new list", revision, got, lists)
				}
			}
		})
	}
}

// statelessLists is a server of 2026-07-28 in raw messages that announces no changes. Its
// list has one tool, named by the number of the read.
func statelessLists(ttl string, reads *atomic.Int32) serverFunc {
	return func(ctx context.Context, conn mcp.Conn) error {
		return serveRaw(ctx, conn, func(_ rawConn, m rawMessage) string {
			switch m.Method {
			case mcp.MethodDiscover:
				return `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}`
			case mcp.MethodToolsList:
				return fmt.Sprintf(`"result":{"resultType":"complete","tools":[{"name":"t%d","inputSchema":{"type":"object"}}],%s"cacheScope":"public"}`, reads.Add(1), ttl)
			}
			return `"result":{"resultType":"complete"}`
		})
	}
}

func TestListsAreReadAgainAfterTheirTTL(t *testing.T) {
	t.Parallel()
	for ttl, age := range map[string]time.Duration{`"ttlMs":20000,`: 20 * time.Second, `"ttlMs":0,`: time.Second, `"ttlMs":7200000,`: 2 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var reads atomic.Int32
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(statelessLists(ttl, &reads))})
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}})
			begun := time.Now()
			for {
				got := c.names(t)
				took := time.Since(begun)
				if got == "t2" {
					if took < age || took > age+age/5 {
						t.Errorf("%s: read again after %v, want %v", ttl, took, age)
					}
					return
				}
				if took > 2*age+time.Minute {
					t.Fatalf("%s: got %q after %v, want it read again", ttl, got, took)
				}
				time.Sleep(age / 10)
			}
		})
	}
}

// An upstream whose lists are always stale is not connected to for each request of a client
// with capabilities.
func TestListsForCapabilitiesAreReadOnceASecond(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(statelessLists(`"ttlMs":0,`, &reads))})
		c := newListingClient(t, g.Server(), elicits(mcp.V20260728))
		for range 50 {
			c.names(t)
			c.call(t, "guess")
			time.Sleep(10 * time.Millisecond)
		}
		if got := reads.Load(); got > 4 {
			t.Errorf("got %d reads in half a second, want two of each list at most", got)
		}
	})
}

// openServers counts the connections of a server that lists no tools before it is released.
type openServers struct {
	release       chan struct{}
	mu            sync.Mutex
	open, maximum int
}

func (s *openServers) Serve(ctx context.Context, conn mcp.Conn) error {
	s.mu.Lock()
	s.open++
	s.maximum = max(s.maximum, s.open)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	}()
	<-s.release
	return new(dynamicServer).Serve(ctx, conn)
}

// A client that declares many combinations of capabilities does not start the server as often
// at the same time.
func TestListsForManyCapabilitiesAreReadInTurn(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		s := &openServers{release: make(chan struct{})}
		g := gateway.New([]host.Upstream{{Key: "d", Target: mcpclient.InProcess(s)}}, &gateway.Options{Logger: quiet})
		t.Cleanup(g.Close)
		var started, listed sync.WaitGroup
		started.Go(func() { g.Start(t.Context()) })
		for i := range 16 {
			o := mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}}
			elicit := elicits(mcp.V20260728).ElicitForm
			if i&1 != 0 {
				o.ElicitForm = elicit
			}
			if i&2 != 0 {
				o.ElicitURL = elicit
			}
			if i&4 != 0 {
				o.Sample = func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) { return nil, nil }
			}
			if i&8 != 0 {
				o.Roots = func(context.Context) ([]mcp.Root, error) { return nil, nil }
			}
			c := newListingClient(t, g.Server(), o)
			listed.Go(func() {
				for _, err := range c.Tools(t.Context()) {
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		synctest.Wait()
		s.mu.Lock()
		maximum := s.maximum
		s.mu.Unlock()
		if maximum > 3 {
			t.Errorf("got %d connections at once, want the shared one and two that list", maximum)
		}
		close(s.release)
		started.Wait()
		listed.Wait()
	})
}

// A client with many combinations of capabilities waits for itself alone.
func TestListsForManyCapabilitiesOfOneClientDoNotDelayOthers(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, conn mcp.Conn) error {
			var initialize string
			return serveRaw(ctx, conn, func(_ rawConn, m rawMessage) string {
				switch m.Method {
				case mcp.MethodInitialize:
					initialize = m.text
				case mcp.MethodToolsList:
					switch {
					case strings.Contains(initialize, `"elicitation"`):
						return "" // never
					case strings.Contains(initialize, `"roots"`):
						return `"result":{"tools":[` + rawTool("go", 1, "") + `,` + rawTool("files", 1, "") + `]}`
					}
					return oneRawTool
				}
				return ""
			})
		}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(serverFunc(slow))})
		connect := func(subject string, o *mcpclient.Options) *mcpclient.Client {
			o.Logger, o.Revisions = quiet, []mcp.Revision{mcp.V20260728}
			return mcptest.Connect(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}}, o)
		}
		roots := func(context.Context) ([]mcp.Root, error) { return nil, nil }
		elicit := elicits(mcp.V20260728).ElicitForm
		var listed sync.WaitGroup
		for i := range 8 {
			o := &mcpclient.Options{ElicitForm: elicit}
			if i&1 != 0 {
				o.ElicitURL = elicit
			}
			if i&2 != 0 {
				o.Sample = func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) { return nil, nil }
			}
			if i&4 != 0 {
				o.Roots = roots
			}
			c := connect("eve", o)
			listed.Go(func() { toolNames(t, c) })
		}
		synctest.Wait()
		listed.Wait()
		bob := connect("bob", &mcpclient.Options{Roots: roots})
		began := time.Now()
		if toolNames(t, bob); time.Since(began) > 0 {
			t.Errorf("got a list after %v, want it at once", time.Since(began))
		}
		synctest.Wait()
		if got := toolNames(t, bob); len(got) != 2 || time.Since(began) > 0 {
			t.Errorf("got %q after %v, want the two tools for a client with roots while others wait", got, time.Since(began))
		}
	})
}

// A tool that is called before it is listed is looked for once.
func TestUnknownToolIsLookedForInAListThatCannotBeAnnounced(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			d := &dynamicServer{silent: true, adds: []string{"extra"}}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{revision}})
			d.add("new")
			if got := c.call(t, "new"); got != "new " {
				t.Errorf("%s: got %q, want the new tool called", revision, got)
			}
			if got := c.names(t); got != "login logout new whoami" {
				t.Errorf("%s: got %q, want it listed", revision, got)
			}
			c.call(t, "login")
			time.Sleep(time.Minute)
			if got := c.call(t, "extra"); got != "extra user2" {
				t.Errorf("%s: got %q, want the tool of the caller's own connection", revision, got)
			}
			want := map[bool]string{false: "extra login logout new whoami", true: "login logout new whoami"}[revision == mcp.V20260728]
			if got := c.names(t); got != want {
				t.Errorf("%s: got %q, want %q", revision, got, want)
			}
		})
	}
}

// The lists are read at most once a second. A client that knows the new tool may call it before.
func TestCallWaitsForListsThatTheUpstreamHasAnnounced(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			d := &dynamicServer{everybody: true}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{revision}})
			announce := func() {
				c.call(t, "login")
				time.Sleep(300 * time.Millisecond) // the host has the announcement by now
			}
			c.call(t, "nothing")
			c.call(t, "nothing") // for 30 s the client causes no other read
			announce()
			d.add("more")
			announce()
			began := time.Now()
			if got := c.call(t, "more"); !strings.HasPrefix(got, "more ") {
				t.Errorf("%s: got %q, want a result", revision, got)
			}
			if took := time.Since(began); took > time.Second {
				t.Errorf("%s: the call took %v, want at most the pause between two reads", revision, took)
			}
			time.Sleep(3 * time.Second) // all lists that are due have been read
			time.Sleep(3 * time.Second) // the reads for both announcements have ended
			before, _ := d.counts()
			if got := c.call(t, "nothing"); !strings.Contains(got, "unknown") {
				t.Errorf("%s: got %q, want it unknown", revision, got)
			}
			if lists, _ := d.counts(); lists != before {
				t.Errorf("%s: got %d reads, want none for a tool that is unknown", revision, lists-before)
			}
		})
	}
}

func TestUnknownPromptIsLookedForInAListThatCannotBeAnnounced(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			d := &dynamicServer{silent: true, kinds: true, adds: []string{"extra"}}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{revision}})
			d.add("new")
			if _, err := c.GetPrompt(t.Context(), "d__new", nil); err != nil {
				t.Errorf("%s: got %v, want the new prompt", revision, err)
			}
			c.call(t, "login")
			time.Sleep(time.Minute)
			if _, err := c.GetPrompt(t.Context(), "d__extra", nil); err != nil {
				t.Errorf("%s: got %v, want the prompt of the caller's own connection", revision, err)
			}
			before := d.count()
			for range 20 {
				if _, err := c.GetPrompt(t.Context(), "d__guess", nil); err == nil {
					t.Errorf("%s: got a prompt that is unknown", revision)
				}
			}
			if got := d.count() - before; got > 2 {
				t.Errorf("%s: got %d reads for unknown prompts, want one of each connection at most", revision, got)
			}
		})
	}
}

// No client can make the host read lists all the time.
func TestUnknownToolsCauseFewReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &dynamicServer{silent: true}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
		guess := func(owner string, n int, pause time.Duration) (reads int) {
			before := d.count()
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
			for i := range n {
				if got := c.call(t, fmt.Sprint(owner, "guess", i)); !strings.Contains(got, "unknown") {
					t.Errorf("got %q", got)
				}
				time.Sleep(pause)
			}
			return d.count() - before
		}
		for i := range 20 {
			if got := guess(fmt.Sprint(i), 100, 10*time.Millisecond); got > 1 {
				t.Errorf("owner %d: got %d reads in a second, want one at most", i, got)
			}
		}
		if got := guess("patient", 1800, 2*time.Second); got < 13 || got > 16 {
			t.Errorf("got %d reads for one owner in an hour, want a few, with pauses that double from 30 s to 5 min", got)
		}
		d.add("new")
		time.Sleep(5 * time.Minute)
		c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
		if got := c.call(t, "new"); got != "new " {
			t.Errorf("got %q, want a new tool found again", got)
		}
	})
}

// Many clients can name unknown tools, and list, without an end. They get what the host knows at once
// when the next read is not due soon.
func TestRequestsThatWaitForListsCauseFewReadsInTheEnd(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(statelessLists(`"ttlMs":0,`, &reads))})
		c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}})
		list := func(wait time.Duration) (n int32) {
			before := reads.Load()
			for end := time.Now().Add(wait); time.Now().Before(end); time.Sleep(time.Second) {
				c.names(t)
			}
			return reads.Load() - before
		}
		first, then := list(time.Minute), list(10*time.Minute)
		if first < 55 || then > 85 {
			t.Errorf("got %d reads in a minute and %d in ten more, want 60 and then one each ten seconds", first, then)
		}
		for before := reads.Load(); reads.Load() == before; time.Sleep(time.Second) {
			c.names(t)
		}
		began := time.Now()
		if c.names(t); time.Since(began) > 0 {
			t.Errorf("a list took %v, want it answered at once after the last read", time.Since(began))
		}
	})
}

// Over HTTP a server of the session era may refuse the stream on which it would announce
// changes.
func TestUnknownToolIsFoundOverHTTP(t *testing.T) {
	t.Parallel()
	var reads atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
		}
		if r.Method != http.MethodPost || json.UnmarshalRead(r.Body, &m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answer := `"result":{}`
		switch m.Method {
		case mcp.MethodDiscover:
			answer = `"error":{"code":-32601,"message":"no"}`
		case mcp.MethodInitialize:
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}`
		case mcp.MethodToolsList:
			answer = fmt.Sprintf(`"result":{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}]}`, reads.Add(1))
		case mcp.MethodToolsCall:
			answer = `"result":{"content":[{"type":"text","text":"called"}]}`
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,` + answer + `}`))
	}))
	t.Cleanup(web.Close)
	g := start(t, host.Upstream{Key: "d", Target: mcpclient.URL(web.URL)})
	c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
	if got := c.names(t); got != "t1" {
		t.Errorf("got %q", got)
	}
	if got := c.call(t, "t2"); got != "called" {
		t.Errorf("got %q, want the tool of the second read called", got)
	}
}
