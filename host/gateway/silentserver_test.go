package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// silentServer reads all messages and answers none.
func silentServer(ctx context.Context, conn mcp.Conn) error {
	for {
		if _, err := conn.Read(ctx); err != nil {
			return nil
		}
	}
}

// capableOptions are options of clients with different sets of capabilities, first none.
func capableOptions(revision mcp.Revision) (all []mcpclient.Options) {
	elicit := elicits(revision).ElicitForm
	for i := range 4 {
		o := mcpclient.Options{Revisions: []mcp.Revision{revision}}
		if i&1 != 0 {
			o.ElicitForm = elicit
		}
		if i&2 != 0 {
			o.Sample = func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) { return nil, nil }
		}
		all = append(all, o)
	}
	return all
}

// listFresh returns the names of the tools, and how long the host took to list them.
func (l *listingClient) listFresh(t *testing.T) (names string, took time.Duration) {
	t.Helper()
	began := time.Now()
	var all []string
	for tool, err := range l.Tools(t.Context(), mcpclient.NoCache()) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimPrefix(tool.Name, "d__"))
	}
	return strings.Join(all, " "), time.Since(began)
}

func TestServerThatNeverAnswersDelaysNoListAfterTheStart(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(new(dynamicServer))}, host.Upstream{Key: "s", Target: mcpclient.InProcess(serverFunc(silentServer))})
			for i, o := range capableOptions(revision) {
				c := newListingClient(t, g.Server(), o)
				for range 5 {
					if names, took := c.listFresh(t); took > 0 || !strings.Contains(names, "login ") {
						t.Errorf("%s: capabilities %d: got %q after %v, want the tools of the other server at once", revision, i, names, took)
					}
					time.Sleep(70 * time.Second)
				}
			}
		})
	}
}

// announcing answers as a server of 2025-11-25 that announces changes of its tools.
func announcing(m rawMessage) string {
	switch m.Method {
	case mcp.MethodInitialize:
		return `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}`
	case mcp.MethodPing:
		return emptyResult
	}
	return ""
}

// The server is silent on connections that declare elicitation. Their clients get the tools of everybody
// at once. The host tries again by itself, with pauses that double, and notifies them.
func TestServerThatIsSilentForSomeCapabilitiesDelaysNoList(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			var mute atomic.Bool
			mute.Store(true)
			var reads atomic.Int32
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(serverFunc(func(ctx context.Context, conn mcp.Conn) error {
				names := `"go"`
				return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
					switch {
					case m.Method == mcp.MethodInitialize && strings.Contains(m.text, `"elicitation"`):
						reads.Add(1)
						if mute.Load() {
							_ = silentServer(ctx, c.Conn)
						}
						names = `"form"`
					case m.Method == mcp.MethodToolsList:
						return `"result":{"tools":[{"name":` + names + `,"inputSchema":{"type":"object"}}]}`
					}
					return announcing(m)
				})
			}))})
			list := func(c *listingClient, want string) {
				t.Helper()
				if names, took := c.listFresh(t); names != want || took > 0 {
					t.Errorf("%s: got %q after %v, want %q at once", revision, names, took, want)
				}
			}
			c := newListingClient(t, g.Server(), capableOptions(revision)[1])
			list(c, "go")
			time.Sleep(30 * time.Minute)
			list(c, "go")
			// Each read takes 30 s. The pauses are 10, 20, 40, 80, 160, 320 and 600 s.
			if got := reads.Load(); got != 8 {
				t.Errorf("%s: got %d reads in half an hour, want them with pauses that double", revision, got)
			}
			before := c.notified()
			mute.Store(false)
			time.Sleep(11 * time.Minute)
			if got := c.notified() - before; got != 1 {
				t.Errorf("%s: got %d notifications after the server has answered, want one", revision, got)
			}
			list(c, "form go")
		})
	}
}

// What no client has asked for is not tried again for ever: it may start a process each time.
func TestFailedReadForCapabilitiesEndsWithTheInterestInIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(serverFunc(func(ctx context.Context, conn mcp.Conn) error {
			return serveRaw(ctx, conn, func(_ rawConn, m rawMessage) string {
				switch {
				case m.Method == mcp.MethodInitialize && strings.Contains(m.text, `"elicitation"`):
					reads.Add(1)
					return `"error":{"code":-32603,"message":"out of order"}`
				case m.Method == mcp.MethodToolsList:
					return oneRawTool
				}
				return announcing(m)
			})
		}))})
		c := newListingClient(t, g.Server(), capableOptions(mcp.V20251125)[1])
		c.listFresh(t)
		time.Sleep(2 * time.Hour)
		seen := reads.Load()
		time.Sleep(24 * time.Hour)
		if got := reads.Load(); got != seen || got < 5 {
			t.Errorf("got %d reads and %d later, want none after an hour without a request", seen, got)
		}
		c.listFresh(t)
		time.Sleep(time.Second)
		if got := reads.Load(); got != seen+1 {
			t.Errorf("got %d reads after a request, want one more than %d", got, seen)
		}
	})
}

// mutableServer is a server of 2025-11-25 that announces no changes, so that the host reads its list again
// after five minutes. While it is mute it answers pings only.
type mutableServer struct {
	mute  atomic.Bool
	reads atomic.Int32
}

func (s *mutableServer) Serve(ctx context.Context, conn mcp.Conn) error {
	return serveRaw(ctx, conn, func(_ rawConn, m rawMessage) string {
		switch {
		case m.Method == mcp.MethodPing:
			return emptyResult
		case m.Method != mcp.MethodToolsList, s.mute.Load():
			return ""
		}
		return `"result":{"tools":[` + rawTool(fmt.Sprint("t", s.reads.Add(1)), 1, "") + `]}`
	})
}

func TestServerThatStopsAnsweringDelaysOneList(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			s := new(mutableServer)
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(s)})
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{revision}})
			delays := 0
			list := func() (names string) {
				names, took := c.listFresh(t)
				if took > 0 {
					delays++
				}
				time.Sleep(10 * time.Second)
				return names
			}
			if got := list(); got != "t1" {
				t.Errorf("%s: got %q", revision, got)
			}
			s.mute.Store(true)
			for range 200 {
				if got := list(); got != "t1" {
					t.Fatalf("%s: got %q while the server is silent, want what it listed before", revision, got)
				}
			}
			if delays != 1 {
				t.Errorf("%s: got %d lists that waited, want the first one", revision, delays)
			}
			s.mute.Store(false)
			before := c.notified()
			for range 40 {
				list()
			}
			if got := list(); got == "t1" || delays != 1 || c.notified() == before {
				t.Errorf("%s: got %q after %d lists that waited and %d notifications, want the new list, with a notification", revision, got, delays, c.notified()-before)
			}
		})
	}
}

// A resource that another server lists is read at once. One that nobody lists is waited for a little while the
// silent server starts first, and then not at all; the error names the server.
func TestServerThatNeverAnswersDelaysNoReadOfOthers(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			notes := newServer("n")
			notes.Resource("notes://a", "A", "text/plain", func(context.Context) ([]byte, error) { return []byte("a"), nil })
			g := gateway.New([]host.Upstream{
				{Key: "s", Target: mcpclient.InProcess(serverFunc(silentServer))}, refusing("r"), upstream("n", notes),
			}, &gateway.Options{Logger: quiet})
			t.Cleanup(g.Close)
			go g.Start(t.Context())
			synctest.Wait()
			o := capableOptions(revision)[1]
			o.Logger = quiet
			c := mcptest.Connect(t, g.Server(), &o) // which takes 2 s, for the instructions
			waited := time.Duration(0)
			for i := range 100 {
				began := time.Now()
				if got, err := c.ReadResource(t.Context(), "notes://a"); err != nil || time.Since(began) > 0 {
					t.Fatalf("%s, read %d: got %v, %v after %s, want the listed resource at once", revision, i, got, err, time.Since(began))
				}
				began = time.Now()
				_, err := c.ReadResource(t.Context(), "notes://unlisted")
				if mcp.CodeOf(err) != mcp.CodeResourceNotFound && mcp.CodeOf(err) != mcp.CodeInvalidParams || !strings.Contains(err.Error(), `not found; upstream "s", "r": still starting, call again`) {
					t.Fatalf("%s, read %d: got %v, want an error that names the server which could not be asked", revision, i, err)
				}
				took := time.Since(began)
				if waited += took; took > 5*time.Second {
					t.Errorf("%s, read %d: the error came after %s, want 5 s at most", revision, i, took)
				}
				time.Sleep(7 * time.Second)
			}
			if waited == 0 || waited > 8*time.Second {
				t.Errorf("%s: the reads waited for %s in all, want some of the 10 s from the start", revision, waited)
			}
		})
	}
}

// Whatever the server that has never listed is doing at the moment, a call of one of its features says the same.
func TestFeatureOfAServerThatHasNeverListedIsNotUnknown(t *testing.T) {
	t.Parallel()
	for name, u := range map[string]host.Upstream{
		"silent": {Key: "s", Target: mcpclient.InProcess(serverFunc(silentServer))}, "refusing": refusing("s"),
	} {
		synctest.Test(t, func(t *testing.T) {
			g := start(t, u)
			c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet, Revisions: []mcp.Revision{mcp.V20260728}, Timeouts: mcpclient.TimeoutOptions{Call: time.Hour}})
			for i := range 100 {
				began := time.Now()
				result, err := c.CallTool(t.Context(), "s__go", nil)
				if err != nil || !result.IsError || result.Content.Text() != stillStarting {
					t.Fatalf("%s, call %d: got %+v, %v, want %q", name, i, result, err, stillStarting)
				}
				if took := time.Since(began); i > 0 && took > 5*time.Second {
					t.Errorf("%s, call %d: the result came after %s, want 5 s at most once a start has failed", name, i, took)
				}
				if _, err := c.GetPrompt(t.Context(), "s__plan", nil); err == nil || !strings.Contains(err.Error(), stillStarting) {
					t.Fatalf("%s, prompt %d: got %v, want %q", name, i, err, stillStarting)
				}
				_, err = c.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.PromptRef("s__plan"), Argument: mcp.CompleteArgument{Name: "name", Value: "A"}})
				if err == nil || !strings.Contains(err.Error(), stillStarting) {
					t.Fatalf("%s, completion %d: got %v, want %q", name, i, err, stillStarting)
				}
				time.Sleep(3 * time.Second)
			}
		})
	}
}

// The server is ready on its shared connection, and each caller's own takes longer than its calls wait. A start is
// no call that has failed, whichever connection starts.
func TestSlowStartIsNotAFailedCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSlowStarter(2)
		c := s.client(t, mcp.V20251125)
		for range 4 {
			if result, err := c.CallTool(t.Context(), "s__count", nil); err != nil || result.Content.Text() != stillStarting {
				t.Fatalf("got %+v, %v, want %q", result, err, stillStarting)
			}
		}
		if got := s.gateway.Status()[0]; got.State != host.Ready {
			t.Errorf("got %s (%s), want the server ready", got.State, got.Reason)
		}
	})
}

// Each start of a silent server takes minutes, in which a person wants to know why it is not there.
func TestStateOfAServerThatStartsAgainSaysWhyItFailedBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New([]host.Upstream{{Key: "s", Target: mcpclient.InProcess(serverFunc(silentServer))}}, &gateway.Options{Logger: quiet})
		t.Cleanup(g.Close)
		g.Start(t.Context())
		failed := false
		for range 600 {
			time.Sleep(time.Second)
			s := g.Status()[0]
			if s.State != host.Starting {
				failed = true
			} else if failed {
				if !strings.HasPrefix(s.Reason, "the last attempt: ") {
					t.Errorf("got the reason %q while it starts again, want that of the last attempt", s.Reason)
				}
				return
			}
		}
		t.Error("the server does not start again")
	})
}
