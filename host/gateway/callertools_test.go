package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
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

// dynamicServer is a server of 2025-11-25 in raw messages. Its tool "login" adds tools to the
// list of its connection, "logout" removes them. Clients with elicitation get the tool "form".
type dynamicServer struct {
	silent    bool // it announces no changes
	everybody bool // "login" adds the tools for all connections, and announces them on its own
	adds      []string

	mu     sync.Mutex
	later  []string // tools of all connections, added later
	lists  int      // requests for the tools
	opened int
}

func (d *dynamicServer) Serve(ctx context.Context, conn mcp.Conn) error {
	tools := []string{"login", "logout", "whoami"}
	d.mu.Lock()
	d.opened++
	number := d.opened
	d.mu.Unlock()
	user := ""
	for {
		raw, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
			Params struct {
				Name         string `json:"name"`
				Capabilities struct {
					Elicitation jsontext.Value `json:"elicitation"`
				} `json:"capabilities"`
			} `json:"params"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		result := `{}`
		switch m.Method {
		case "server/discover":
			if err := conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32601,"message":"no"}}`)); err != nil {
				return err
			}
			continue
		case mcp.MethodInitialize:
			if m.Params.Capabilities.Elicitation != nil {
				tools = append(tools, "form")
			}
			result = fmt.Sprintf(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":%t}},"serverInfo":{"name":"raw","version":"1"}}`, !d.silent)
		case mcp.MethodToolsList:
			d.mu.Lock()
			d.lists++
			d.mu.Unlock()
			var list []string
			for _, name := range slices.Concat(tools, d.laterTools()) {
				list = append(list, `{"name":"`+name+`","inputSchema":{"type":"object"}}`)
			}
			result = `{"tools":[` + strings.Join(list, ",") + `]}`
		case mcp.MethodToolsCall:
			switch {
			case !slices.Contains(slices.Concat(tools, d.laterTools()), m.Params.Name):
				if err := conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32602,"message":"Unknown tool"}}`)); err != nil {
					return err
				}
				continue
			case m.Params.Name == "login":
				user = fmt.Sprint("user", number)
				if d.everybody {
					d.add(d.adds...)
				} else {
					tools = append(tools, d.adds...)
				}
			case m.Params.Name == "logout":
				user = ""
				tools = slices.DeleteFunc(tools, func(name string) bool { return slices.Contains(d.adds, name) })
			}
			if strings.HasPrefix(m.Params.Name, "log") && !d.silent {
				if err := conn.Write(ctx, []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)); err != nil {
					return err
				}
			}
			result = `{"content":[{"type":"text","text":"` + m.Params.Name + ` ` + user + `"}]}`
		}
		if m.ID != nil {
			if err := conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`)); err != nil {
				return err
			}
		}
	}
}

func (d *dynamicServer) laterTools() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.later
}

func (d *dynamicServer) add(names ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.later = slices.Concat(d.later, names)
}

func (d *dynamicServer) counts() (lists, opened int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lists, d.opened
}

// listingClient is a client that counts notifications of changed tools. It declares no
// capabilities but those of its options.
type listingClient struct {
	*mcpclient.Client

	mu      sync.Mutex
	changes int
}

func newListingClient(t *testing.T, s mcpclient.Server, o mcpclient.Options) *listingClient {
	t.Helper()
	l := new(listingClient)
	o.Logger = quiet
	o.OnToolsChanged = func(context.Context, *mcpclient.Client) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changes++
	}
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(mcptest.Dial(t, s)), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	l.Client = c
	return l
}

// notified returns the number of notifications, after all that are due were sent.
func (l *listingClient) notified() int {
	time.Sleep(2 * time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}

// names returns the listed tools, without the key of the upstream.
func (l *listingClient) names(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(strings.Join(toolNames(t, l.Client), " "), "d__", "")
}

// call returns the text of a result, or the error.
func (l *listingClient) call(t *testing.T, name string) string {
	t.Helper()
	result, err := l.CallTool(t.Context(), "d__"+name, nil)
	if err != nil {
		return strings.TrimPrefix(err.Error(), `call "d__`+name+`": `)
	}
	return result.Content.Text()
}

func elicits(r mcp.Revision) mcpclient.Options {
	return mcpclient.Options{Revisions: []mcp.Revision{r}, ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}}
}

const unknownExtra = `peer answered -32602: tool "d__extra": unknown`

// A tool that a server adds in a session is listed to that session, and to no other.
func TestToolThatAServerAddsBelongsToItsSession(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-412")
	for _, revision := range []mcp.Revision{mcp.V20241105, mcp.V20250618, mcp.V20251125} {
		synctest.Test(t, func(t *testing.T) {
			d := &dynamicServer{adds: []string{"extra"}}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			o := mcpclient.Options{Revisions: []mcp.Revision{revision}}
			ada, bob := newListingClient(t, g.Server(), o), newListingClient(t, g.Server(), o)
			stateless := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}})
			ada.call(t, "login")
			if got := ada.notified(); got != 1 {
				t.Errorf("%s: got %d notifications, want one", revision, got)
			}
			if got := ada.names(t); got != "extra login logout whoami" {
				t.Errorf("%s: got %q, want the new tool, too", revision, got)
			}
			if got := ada.call(t, "extra"); got != "extra user2" {
				t.Errorf("%s: got %q, want a result of the session's own connection", revision, got)
			}
			for _, other := range []*listingClient{bob, stateless} {
				if got, notified := other.names(t), other.notified(); got != "login logout whoami" || notified != 0 {
					t.Errorf("%s: got %q and %d notifications, want nothing of another session", revision, got, notified)
				}
				if got := other.call(t, "extra"); got != unknownExtra {
					t.Errorf("%s: got %q, want %q", revision, got, unknownExtra)
				}
				if got := other.call(t, "whoami"); got != "whoami " {
					t.Errorf("%s: got %q, want a connection without a user", revision, got)
				}
				if got := other.call(t, "extra"); got != unknownExtra {
					t.Errorf("%s: with a connection: got %q, want %q", revision, got, unknownExtra)
				}
			}
			ada.call(t, "logout")
			if got, notified := ada.names(t), ada.notified(); notified != 2 {
				t.Errorf("%s: got %q and %d notifications, want the tool removed", revision, got, notified)
			}
			if got := ada.names(t); got != "login logout whoami" {
				t.Errorf("%s: got %q, want the tool removed", revision, got)
			}
			if got := ada.call(t, "extra"); got != unknownExtra {
				t.Errorf("%s: got %q, want %q", revision, got, unknownExtra)
			}
		})
	}
}

// In the stateless era a list depends on no other request. A call of the added tool reaches
// the caller's own connection.
func TestToolThatAServerAddsIsInNoListOfTheStatelessEra(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-204c")
	synctest.Test(t, func(t *testing.T) {
		d := &dynamicServer{adds: []string{"extra"}}
		seen := new(decisions)
		g := gateway.New([]host.Upstream{{Key: "d", Target: mcpclient.InProcess(d)}}, &gateway.Options{Logger: quiet, OnDecision: seen.add})
		t.Cleanup(g.Close)
		g.Start(t.Context())
		as := func(subject string, o mcpclient.Options) *listingClient {
			o.Revisions = []mcp.Revision{mcp.V20260728}
			return newListingClient(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}}, o)
		}
		ada, again, bob := as("ada", mcpclient.Options{}), as("ada", mcpclient.Options{}), as("bob", mcpclient.Options{})
		session := newListingClient(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: "ada"}}, mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
		ada.call(t, "login")
		bob.call(t, "whoami")
		session.call(t, "whoami")
		for _, c := range []*listingClient{ada, again, bob, session} {
			if got, notified := c.names(t), c.notified(); got != "login logout whoami" || notified != 0 {
				t.Errorf("got %q and %d notifications, want the tool in no list", got, notified)
			}
		}
		for _, c := range []*listingClient{ada, again} {
			if got := c.call(t, "extra"); got != "extra user2" {
				t.Errorf("got %q, want the call passed on over the principal's connection", got)
			}
		}
		for _, c := range []*listingClient{bob, session} {
			if got := c.call(t, "extra"); got != unknownExtra {
				t.Errorf("got %q, want %q", got, unknownExtra)
			}
		}
		if got := seen.of(host.ActionCall); len(got) != 5 || got[3] != "extra done" {
			t.Errorf("got decisions %q, want the calls of the tool recorded", got)
		}
	})
}

// Servers of the TypeScript SDK announce a change of a list that all sessions share only to the
// session whose request has caused it.
func TestToolForEverybodyThatIsAnnouncedToOneSessionIsListedToAll(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20241105, mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(&dynamicServer{everybody: true, adds: []string{"extra"}})})
			o := mcpclient.Options{Revisions: []mcp.Revision{revision}}
			ada, bob := newListingClient(t, g.Server(), o), newListingClient(t, g.Server(), o)
			ada.call(t, "login")
			for _, c := range []*listingClient{ada, bob} {
				if got := c.notified(); got == 0 {
					t.Errorf("%s: got no notification of the new tool", revision)
				}
				if got := c.names(t); got != "extra login logout whoami" {
					t.Errorf("%s: got %q, want the new tool once", revision, got)
				}
				if got := c.call(t, "extra"); !strings.HasPrefix(got, "extra ") {
					t.Errorf("%s: got %q, want a result", revision, got)
				}
			}
		})
	}
}

// Rules and approvals hold for tools that are not in the list of everybody.
func TestAddedToolsAreUnderTheRulesAndApprovals(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218b")
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			d := &dynamicServer{adds: []string{"extra", "denied", "changed", "asks"}}
			var approved atomic.Bool
			seen := new(decisions)
			g := gateway.New([]host.Upstream{{Key: "d", Target: mcpclient.InProcess(d), Settings: host.Settings{Rules: host.Rules{
				Deny: []string{"denied"}, Confirm: []host.ConfirmRule{{Tools: "asks", When: host.Always}},
			}}}}, &gateway.Options{Logger: quiet, OnDecision: seen.add, FilterTools: func(_ *host.Upstream, all []mcp.Tool) (kept []mcp.Tool, withheld []host.Withheld, err error) {
				for _, tool := range all {
					if tool.Name == "changed" && !approved.Load() {
						withheld = append(withheld, host.Withheld{Tool: tool.Name})
						continue
					}
					kept = append(kept, tool)
				}
				return kept, withheld, nil
			}})
			t.Cleanup(g.Close)
			g.Start(t.Context())
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{revision}})
			c.call(t, "login")
			c.notified()
			if got := c.names(t); revision == mcp.V20251125 && got != "asks extra login logout whoami" {
				t.Errorf("%s: got %q, want neither denied nor withheld tools", revision, got)
			}
			for name, want := range map[string]string{
				"extra": "extra user2", "denied": `tool "d__denied": unknown`, "changed": `tool "d__changed": unknown`, "asks": "the call needs consent",
			} {
				if got := c.call(t, name); !strings.Contains(got, want) {
					t.Errorf("%s: %s: got %q, want %q", revision, name, got, want)
				}
			}
			calls := strings.Join(seen.of(host.ActionCall), "; ")
			for _, want := range []string{"denied denied", "changed needs approval", "asks refused", "extra done"} {
				if !strings.Contains(calls, want) {
					t.Errorf("%s: got decisions %q, want %q", revision, calls, want)
				}
			}
			if got := g.Status()[0].Withheld; len(got) != 1 || got[0].Tool != "changed" {
				t.Errorf("%s: got %+v, want the withheld tool in the status", revision, got)
			}
			before := c.notified()
			approved.Store(true)
			g.Retry("d")
			if got := c.call(t, "changed"); got != "changed user2" {
				t.Errorf("%s: got %q, want the tool called after its approval", revision, got)
			}
			if got := c.notified() - before; revision == mcp.V20251125 && got != 1 {
				t.Errorf("%s: got %d notifications, want one of the approval", revision, got)
			}
		})
	}
}

// A server may show a tool only to clients that can be asked.
func TestToolForAbleClientsIsListedToThem(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			d := new(dynamicServer)
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			able, other := newListingClient(t, g.Server(), elicits(revision)), newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{revision}})
			for range 2 {
				if got := able.names(t); got != "form login logout whoami" {
					t.Errorf("%s: got %q, want the tool that asks", revision, got)
				}
				if got := other.names(t); got != "login logout whoami" {
					t.Errorf("%s: got %q, want no tool that cannot be used", revision, got)
				}
			}
			if got := able.call(t, "form"); got != "form " {
				t.Errorf("%s: got %q, want a result", revision, got)
			}
			if got := other.call(t, "form"); !strings.Contains(got, `tool "d__form": unknown`) {
				t.Errorf("%s: got %q, want it unknown", revision, got)
			}
			if _, opened := d.counts(); opened != 3 {
				t.Errorf("%s: got %d connections, want the shared one, one to list and one that was called", revision, opened)
			}
			var list struct {
				Scope mcp.CacheScope `json:"cacheScope"`
			}
			if err := able.Request(t.Context(), mcp.MethodToolsList, nil, &list); err != nil || revision == mcp.V20260728 && list.Scope != mcp.CachePrivate {
				t.Errorf("%s: got %q, %v, want a private list", revision, list.Scope, err)
			}
		})
	}
}

// A client may know the tool of its capabilities from an earlier host.
func TestToolForAbleClientsIsCallableBeforeItIsListed(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(new(dynamicServer))})
			if got := newListingClient(t, g.Server(), elicits(revision)).call(t, "form"); got != "form " {
				t.Errorf("%s: got %q, want a result", revision, got)
			}
		})
	}
}

// An upstream cannot fill the memory of the host with tools for single callers.
func TestToolsOfOneCallerAreLimited(t *testing.T) {
	t.Parallel()
	for prefix, limit := range map[string]int{"t": 1000, strings.Repeat("long", 25): 1000} {
		synctest.Test(t, func(t *testing.T) {
			d := new(dynamicServer)
			for i := range 5000 {
				d.adds = append(d.adds, fmt.Sprint(prefix, i))
			}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
			c.call(t, "login")
			c.notified()
			if got := len(toolNames(t, c.Client)); got != limit+3 {
				t.Errorf("got %d tools, want the limit and the three of everybody", got)
			}
			if got := c.call(t, "whoami"); got != "whoami user2" {
				t.Errorf("got %q, want the server to go on", got)
			}
		})
	}
}
