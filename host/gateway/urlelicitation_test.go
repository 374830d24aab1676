package gateway_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

const signInURL = "https://example.com/sign-in?visit=1"

// urlElicitingServer requires that its user has opened a page, by a URL elicitation.
type urlElicitingServer struct {
	server *mcpserver.Server
	mu     sync.Mutex
	member bool
}

func newURLElicitingServer(revision mcp.Revision) *urlElicitingServer {
	c := &urlElicitingServer{server: mcpserver.New("club", "1", &mcpserver.Options{Revisions: []mcp.Revision{revision}, Logger: quiet})}
	c.server.Tool("enter", "Enter", func(context.Context, struct{}) (string, error) {
		if !c.isMember() {
			return "", mcpserver.URLElicitationRequired("Please sign in.", signInURL)
		}
		return "welcome", nil
	})
	c.server.Tool("join", "Join", func(ctx context.Context, _ struct{}) (string, error) {
		if err := mcpserver.AskAll(ctx, mcpserver.ElicitURL("sign-in", "Please sign in.", signInURL)); err != nil {
			return "", err
		}
		return "welcome", nil
	})
	return c
}

func (c *urlElicitingServer) isMember() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.member
}

// signIn completes the page.
func (c *urlElicitingServer) signIn() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.member = true
}

// client is a client that opens URLs.
func (c *urlElicitingServer) client(revision mcp.Revision, seen *[]string) *mcpclient.Options {
	return &mcpclient.Options{
		Revisions: []mcp.Revision{revision}, Logger: quiet,
		ElicitURL: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			*seen = append(*seen, p.Message+" "+p.URL)
			c.signIn()
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		},
	}
}

func TestRequiredURLElicitationsReachTheCaller(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-03")
	for _, up := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, down := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
			for _, tool := range []string{"a__enter", "a__join"} {
				t.Run(up.String()+" behind for "+down.String()+tool, func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						club := newURLElicitingServer(up)
						var seen []string
						c := mcptest.Connect(t, start(t, upstream("a", club.server)).Server(), club.client(down, &seen))
						got, err := c.Call[string](t.Context(), tool, nil)
						if err != nil || got != "welcome" || !slices.Equal(seen, []string{`The server "a" asks: Please sign in. ` + signInURL}) {
							t.Errorf("got %q, %v after visits %q, want a welcome after one", got, err, seen)
						}
					})
				})
			}
		}
	}
}

func TestRequiredURLElicitationHasTheFormOfTheCallersRevision(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-03", "E-05")
	target := mcpclient.InProcess(serverFunc(func(ctx context.Context, conn mcp.Conn) error {
		return serveRoots(ctx, conn, make(chan string, 10))
	}))
	for _, test := range []struct {
		revision mcp.Revision
		visits   bool
		want     string
	}{
		{mcp.V20241105, false, `isError The server "a" asks: Please sign in. ` + signInURL},
		{mcp.V20250618, false, `isError The server "a" asks: Please sign in. ` + signInURL},
		{mcp.V20251125, false, `isError The server "a" asks: Please sign in. ` + signInURL},
		{mcp.V20251125, true, `-32042 {"elicitations":[{"mode":"url","message":"The server \"a\" asks: Please sign in.","url":"` + signInURL + `","elicitationId":"id-1"}]}`},
		{mcp.V20260728, false, `-32021 {"requiredCapabilities":{"elicitation":{"url":{}}}}`},
		{mcp.V20260728, true, `asks {"mode":"url","message":"The server \"a\" asks: Please sign in.","url":"` + signInURL + `"}`},
	} {
		o := answering(test.revision, noAnswer)
		if test.visits {
			o.ElicitURL = o.ElicitForm
		}
		c := mcptest.Connect(t, start(t, host.Upstream{Key: "a", Target: target}).Server(), o)
		result, err := c.CallTool(t.Context(), "a__enter", nil, mcpclient.ManualInput())
		got := ""
		asks, rounds := errors.AsType[*mcpclient.InputRequiredError](err)
		switch e, _ := errors.AsType[*mcp.Error](err); {
		case rounds:
			for _, q := range asks.Result.InputRequests {
				got = "asks " + string(q.Params)
			}
		case e != nil:
			got = fmt.Sprintf("%d %s", e.Number, e.Data)
		case result != nil && result.IsError:
			got = "isError " + result.Content.Text()
		}
		if got != test.want {
			t.Errorf("%s: got %s (%v), want %s", test.revision, got, err, test.want)
		}
	}
}

// A capability that the client lacks is reported to it; one that the host does not relay
// is not.
func TestMissingCapabilityIsReportedToTheClientThatLacksIt(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "E-05")
	srv := mcpserver.New("a", "1", &mcpserver.Options{Revisions: []mcp.Revision{mcp.V20260728}, Logger: quiet})
	for _, name := range []string{"sampling", "elicitation"} {
		srv.AddTool(mcp.Tool{Name: name}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
			e := mcp.Errorf(mcp.CodeMissingCapability, "needs it")
			e.Data = []byte(`{"requiredCapabilities":{"` + name + `":{}}}`)
			return nil, e
		})
	}
	g := start(t, upstream("a", srv))
	c := mcptest.Connect(t, g.Server(), answering(mcp.V20260728, noAnswer))
	_, err := c.CallTool(t.Context(), "a__sampling", nil)
	if e, _ := errors.AsType[*mcp.Error](err); e == nil || e.Number != -32021 || string(e.Data) != `{"requiredCapabilities":{"sampling":{}}}` {
		t.Errorf("got %v, want what the client lacks, in its shape", err)
	}
	if result, err := c.CallTool(t.Context(), "a__elicitation", nil); err != nil || !result.IsError {
		t.Errorf("got %+v, %v, want a failure of the upstream: the client has it", result, err)
	}
	old := mcptest.Connect(t, g.Server(), answering(mcp.V20251125, noAnswer))
	if result, err := old.CallTool(t.Context(), "a__sampling", nil); err != nil || !result.IsError || !strings.Contains(result.Content.Text(), "needs it") {
		t.Errorf("got %+v, %v, want a text that names the need", result, err)
	}
}

// The completion of a URL elicitation reaches only the client that waits for it.
func TestCompletionOfAURLElicitationIsRelayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		club := newURLElicitingServer(mcp.V20251125)
		g := start(t, upstream("a", club.server))
		var begun time.Time
		o := club.client(mcp.V20251125, new([]string))
		o.ElicitURL = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			begun = time.Now()
			go func() {
				time.Sleep(time.Second)
				club.signIn()
				if err := club.server.ElicitationComplete(context.Background(), signInURL); err != nil {
					t.Error(err)
				}
			}()
			return &mcp.ElicitResult{Action: mcp.ElicitAccept}, nil
		}
		c := mcptest.Connect(t, g.Server(), o)
		other := mcptest.Connect(t, g.Server(), &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20251125}, Logger: quiet,
			OnNotification: func(_ context.Context, method string, _ jsonValue) { t.Errorf("another client heard %s", method) },
		})
		if err := other.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := c.CallTool(t.Context(), "a__enter", nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took < time.Second || took >= 2*time.Second {
			t.Errorf("took %v, want the call made again when the visit was done", took)
		}
	})
}

// For a client of 2025-11-25 the URL elicitation of a stateless upstream is complete when
// the upstream has continued.
func TestURLElicitationOfAStatelessUpstreamIsCompleteWhenItContinues(t *testing.T) {
	t.Parallel()
	club := newURLElicitingServer(mcp.V20260728)
	heard := make(chan string, 10)
	var seen []string
	o := club.client(mcp.V20251125, &seen)
	o.OnNotification = func(_ context.Context, method string, _ jsonValue) { heard <- method }
	c := mcptest.Connect(t, start(t, upstream("a", club.server)).Server(), o)
	if _, err := c.CallTool(t.Context(), "a__join", nil); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != mcp.NotificationElicitationComplete || len(seen) != 1 {
		t.Errorf("got %s after visits %q, want the end of one", got, seen)
	}
}

func TestRootsAreAskedForAsSoonAsAnUpstreamIsConnected(t *testing.T) {
	t.Parallel()
	for _, down := range mcp.Revisions() {
		t.Run(down.String(), func(t *testing.T) {
			t.Parallel()
			answers := make(chan string, 10)
			target := mcpclient.InProcess(serverFunc(func(ctx context.Context, conn mcp.Conn) error {
				return serveRoots(ctx, conn, answers)
			}))
			g := start(t, host.Upstream{Key: "a", Target: target})
			tr := &answeringClient{name: "ada"}
			c := tr.connect(t, g.Server(), down)
			if got, err := c.Call[string](t.Context(), "a__go", nil); err != nil || got != "gone" {
				t.Errorf("got %q, %v, want the call done", got, err)
			}
			if got := <-answers; !strings.Contains(got, `"uri":"file:///ada"`) {
				t.Errorf("the upstream got %s, want the roots", got)
			}
			if down == mcp.V20260728 {
				return
			}
			if err := c.RootsChanged(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := <-answers; got != "changed" {
				t.Errorf("the upstream got %s, want to hear that they have changed", got)
			}
		})
	}
}

// Each caller has a process of its own. The processes count their elicitations alike, so that
// both use the same id, for the same URL or for different ones.
func TestProcessOfOneCallerDoesNotCompleteTheElicitationOfAnother(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]func(process int64) string{
		"same URL":       func(int64) string { return signInURL },
		"different URLs": func(process int64) string { return fmt.Sprint("https://example.com/sign-in?process=", process) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var processes atomic.Int64
				target := mcpclient.InProcess(serverFunc(func(ctx context.Context, conn mcp.Conn) error {
					process := processes.Add(1)
					return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
						switch {
						case m.Method == mcp.MethodToolsList:
							return `"result":{"tools":[{"name":"visit","inputSchema":{"type":"object"}},{"name":"finish","inputSchema":{"type":"object"}}]}`
						case m.Method == mcp.MethodToolsCall && strings.Contains(string(m.Params), `"visit"`):
							return `"error":{"code":-32042,"message":"sign in","data":{"elicitations":[{"mode":"url","elicitationId":"1","message":"Please sign in.","url":"` + address(process) + `"}]}}`
						case m.Method == mcp.MethodToolsCall:
							c.send(`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"1"}}`)
							return `"result":{"content":[]}`
						}
						return ""
					})
				}))
				g := start(t, host.Upstream{Key: "a", Target: target})
				var heard [2]atomic.Int64
				var clients [2]*mcpclient.Client
				for i := range clients {
					o := answering(mcp.V20251125, noAnswer)
					o.ElicitURL = o.ElicitForm
					o.OnNotification = func(_ context.Context, method string, _ jsonValue) {
						if method == mcp.NotificationElicitationComplete {
							heard[i].Add(1)
						}
					}
					clients[i] = mcptest.Connect(t, g.Server(), o)
					if _, err := clients[i].CallTool(t.Context(), "a__visit", nil, mcpclient.ManualInput()); err == nil {
						t.Fatal("want the call to need a visit")
					}
				}
				for i, want := range [][2]int64{{1, 0}, {1, 1}} {
					if _, err := clients[i].CallTool(t.Context(), "a__finish", nil); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if got := [2]int64{heard[0].Load(), heard[1].Load()}; got != want {
						t.Errorf("process of client %d has finished: the clients got %v notifications, want %v", i, got, want)
					}
				}
			})
		})
	}
}
