package gateway_test

import (
	"context"
	"fmt"
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
)

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

// Prompts, resources and templates belong to the session in which a server adds them, as tools do.
func TestPromptsAndResourcesThatAServerAddsBelongToTheirSession(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20241105, mcp.V20250618, mcp.V20251125} {
		synctest.Test(t, func(t *testing.T) {
			d := &dynamicServer{adds: []string{"extra"}, kinds: true}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			o := mcpclient.Options{Revisions: []mcp.Revision{revision}}
			ada, bob := newListingClient(t, g.Server(), o), newListingClient(t, g.Server(), o)
			stateless := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}})
			ada.call(t, "login")
			for _, list := range []string{"tools", "prompts", "resources"} {
				if got := ada.notifiedOf(list); got != 1 {
					t.Errorf("%s: got %d notifications of %s, want one", revision, got, list)
				}
			}
			if got := ada.namesOfAll(t); got != "extra login logout whoami" {
				t.Errorf("%s: got %q, want the new features, too", revision, got)
			}
			if got := ada.useAll(t, "extra"); got != "extra user2" {
				t.Errorf("%s: got %q, want results of the session's own connection", revision, got)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			begun, changes := time.Now(), 0
			var calls sync.WaitGroup
			calls.Go(func() {
				time.Sleep(2 * time.Second)
				ada.call(t, "whoami")
			})
			for _, err := range ada.Watch(ctx, "r://extra") {
				if err == nil && time.Since(begun) >= 2*time.Second {
					changes++
				}
			}
			cancel()
			calls.Wait()
			if changes != 1 {
				t.Errorf("%s: got %d changes of the watched resource, want one", revision, changes)
			}
			for _, other := range []*listingClient{bob, stateless} {
				if got, used := other.namesOfAll(t), other.useAll(t, "extra"); got != "login logout whoami" || used != "unknown" {
					t.Errorf("%s: got %q and %q, want nothing of another session", revision, got, used)
				}
				if got := other.useAll(t, "whoami"); got != "whoami " {
					t.Errorf("%s: got %q, want a connection without a user", revision, got)
				}
				if used, notified := other.useAll(t, "extra"), other.notifiedOf("prompts")+other.notifiedOf("resources"); used != "unknown" || notified != 0 {
					t.Errorf("%s: with a connection: got %q and %d notifications", revision, used, notified)
				}
			}
			ada.call(t, "logout")
			time.Sleep(2 * time.Second)
			if got, used := ada.namesOfAll(t), ada.useAll(t, "extra"); got != "login logout whoami" || used != "unknown" {
				t.Errorf("%s: got %q and %q, want the features removed", revision, got, used)
			}
		})
	}
}

// In the stateless era they are in no list. The requests of their principal reach the connection
// that has them, while another of its connections has not.
func TestPromptsAndResourcesThatAServerAddsAreInNoListOfTheStatelessEra(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-204c")
	synctest.Test(t, func(t *testing.T) {
		d := &dynamicServer{adds: []string{"extra"}, kinds: true}
		g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
		as := func(subject string, o mcpclient.Options) *listingClient {
			return newListingClient(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}}, o)
		}
		modern := mcpclient.Options{Revisions: []mcp.Revision{mcp.V20260728}}
		ada, again, able, bob := as("ada", modern), as("ada", modern), as("ada", elicits(mcp.V20260728)), as("bob", modern)
		ada.call(t, "login")
		bob.call(t, "whoami")
		able.names(t)
		able.notified()
		for _, c := range []*listingClient{ada, again, able, bob} {
			want := map[bool]string{false: "login logout whoami", true: "form login logout whoami"}[c == able]
			if got, notified := c.namesOfAll(t), c.notifiedOf("prompts")+c.notifiedOf("resources"); got != want || notified != 0 && c != able {
				t.Errorf("got %q and %d notifications, want them in no list", got, notified)
			}
		}
		for _, c := range []*listingClient{ada, again} {
			if got := c.useAll(t, "extra"); got != "extra user2" {
				t.Errorf("got %q, want the requests passed on over the principal's connection", got)
			}
		}
		for _, c := range []*listingClient{able, bob} { // a connection declares the capabilities of its caller
			if got := c.useAll(t, "extra"); got != "unknown" {
				t.Errorf("got %q, want them unknown", got)
			}
		}
	})
}

// A list that fails after a change leaves the caller what it had.
func TestFailingListKeepsWhatACallerHas(t *testing.T) {
	t.Parallel()
	for _, broken := range []string{mcp.MethodToolsList, mcp.MethodPromptsList, mcp.MethodResourcesList} {
		synctest.Test(t, func(t *testing.T) {
			d := &dynamicServer{adds: []string{"extra"}, kinds: true}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
			c.call(t, "login")
			c.notified()
			d.mu.Lock()
			d.broken = broken
			d.mu.Unlock()
			c.call(t, "login")
			c.notified()
			if got := c.namesOfAll(t); got != "extra login logout whoami" {
				t.Errorf("%s fails: got %q, want what was known", broken, got)
			}
		})
	}
}

// Servers of the TypeScript SDK announce a change of a list that all sessions share only to the
// session whose request has caused it.
func TestFeaturesForEverybodyThatAreAnnouncedToOneSessionAreListedToAll(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20241105, mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			d := &dynamicServer{everybody: true, adds: []string{"extra"}, kinds: true}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			o := mcpclient.Options{Revisions: []mcp.Revision{revision}}
			ada, bob := newListingClient(t, g.Server(), o), newListingClient(t, g.Server(), o)
			ada.call(t, "login")
			for _, c := range []*listingClient{ada, bob} {
				for _, list := range []string{"tools", "prompts", "resources"} {
					if got := c.notifiedOf(list); got == 0 {
						t.Errorf("%s: got no notification of the new %s", revision, list)
					}
				}
				if got := c.namesOfAll(t); got != "extra login logout whoami" {
					t.Errorf("%s: got %q, want the new features once", revision, got)
				}
				if got := c.useAll(t, "extra"); !strings.HasPrefix(got, "extra ") {
					t.Errorf("%s: got %q, want a result", revision, got)
				}
			}
		})
	}
}

// A tool that a session had for itself, because its list was read first, is gone when it is gone
// from the list of everybody.
func TestToolThatOneSessionRemovesForEverybodyIsGoneForAll(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(&dynamicServer{everybody: true, adds: []string{"extra"}})})
			as := func(subject string) *listingClient {
				return newListingClient(t, serveAs{g.Server(), mcp.Principal{Issuer: "https://id.example", Subject: subject}},
					mcpclient.Options{Revisions: []mcp.Revision{revision}})
			}
			ada, bob := as("ada"), as("bob")
			ada.call(t, "login")
			time.Sleep(5 * time.Second)
			bob.call(t, "logout")
			time.Sleep(5 * time.Second)
			for _, c := range []*listingClient{ada, bob} {
				if got, called := c.names(t), c.call(t, "extra"); got != "login logout whoami" || called != unknownExtra {
					t.Errorf("%s: got %q and %q, want the tool gone", revision, got, called)
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
			}}}}, &gateway.Options{Logger: quiet, OnDecision: seen.add, FilterDefinitions: func(_ context.Context, _ *host.Upstream, l host.Listing) (a host.Admitted, err error) {
				for _, tool := range l.Tools {
					if tool.Name == "changed" && !approved.Load() {
						a.Waiting = append(a.Waiting, host.WaitingDefinition{Kind: host.KindTool, Name: tool.Name, Change: host.DefinitionAdded})
						continue
					}
					a.Tools = append(a.Tools, tool)
				}
				return a, nil
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
			if got := g.Status()[0].Waiting; len(got) != 1 || got[0].Name != "changed" {
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
			if _, took := able.listFresh(t); took > 0 {
				t.Errorf("%s: got the first list after %v, want it at once", revision, took)
			}
			if able, other := able.notified(), other.notified(); able != 1 || other != 0 {
				t.Errorf("%s: got %d notifications, and %d of the other client, want one", revision, able, other)
			}
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

func TestPromptsAndResourcesForAbleClientsAreListedToThem(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		synctest.Test(t, func(t *testing.T) {
			d := &dynamicServer{kinds: true}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			able, other := newListingClient(t, g.Server(), elicits(revision)), newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{revision}})
			able.names(t)
			able.notified()
			for range 2 {
				if got, used := able.namesOfAll(t), able.useAll(t, "form"); got != "form login logout whoami" || used != "form " {
					t.Errorf("%s: got %q and %q, want what is for able clients", revision, got, used)
				}
				if got, used := other.namesOfAll(t), other.useAll(t, "form"); got != "login logout whoami" || used != "unknown" {
					t.Errorf("%s: got %q and %q, want what everybody has", revision, got, used)
				}
			}
			if _, opened := d.counts(); opened != 3 {
				t.Errorf("%s: got %d connections, want the shared one, one to list and one that was used", revision, opened)
			}
		})
	}
}

// A client may know the tool of its capabilities from an earlier host.
func TestFeatureForAbleClientsIsUsableBeforeItIsListed(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for what, use := range map[string]func(context.Context, *listingClient) error{
			"tool": func(ctx context.Context, c *listingClient) error {
				_, err := c.CallTool(ctx, "d__form", nil)
				return err
			},
			"prompt": func(ctx context.Context, c *listingClient) error {
				_, err := c.GetPrompt(ctx, "d__form", nil)
				return err
			},
			"resource": func(ctx context.Context, c *listingClient) error {
				_, err := c.ReadResource(ctx, "r://form")
				return err
			},
			"template": func(ctx context.Context, c *listingClient) error {
				_, err := c.ReadResource(ctx, "t://form/1")
				return err
			},
		} {
			synctest.Test(t, func(t *testing.T) {
				g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(&dynamicServer{kinds: true})})
				if err := use(t.Context(), newListingClient(t, g.Server(), elicits(revision))); err != nil {
					t.Errorf("%s: %s: got %v, want a result", revision, what, err)
				}
				if err := use(t.Context(), newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{revision}})); err == nil {
					t.Errorf("%s: %s: got no error, want it unknown to other clients", revision, what)
				}
			})
		}
	}
}

// An upstream cannot fill the memory of the host with features for single callers, and other
// features leave room for tools.
func TestFeaturesOfOneCallerAreLimited(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-218c")
	for _, tt := range []struct {
		description int // bytes
		least, most int // tools that are offered
	}{{0, 1000, 1000}, {8 << 10, 100, 128}} {
		synctest.Test(t, func(t *testing.T) {
			d := &dynamicServer{kinds: true, description: strings.Repeat("x", tt.description)}
			for i := range tt.most + 200 {
				d.adds = append(d.adds, fmt.Sprint("t", i))
			}
			g := start(t, host.Upstream{Key: "d", Target: mcpclient.InProcess(d)})
			c := newListingClient(t, g.Server(), mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}})
			c.call(t, "login")
			c.notified()
			if got := len(toolNames(t, c.Client)) - 3; got < tt.least || got > tt.most {
				t.Errorf("%d bytes: got %d tools and the three of everybody, want %d to %d", tt.description, got, tt.least, tt.most)
			}
			others := 0
			for range c.Resources(t.Context()) {
				others++
			}
			for range c.Prompts(t.Context()) {
				others++
			}
			if others > 6+tt.most-tt.least {
				t.Errorf("%d bytes: got %d prompts and resources, want hardly more than those of everybody", tt.description, others)
			}
			if got := c.call(t, "whoami"); got != "whoami user2" {
				t.Errorf("got %q, want the server to go on", got)
			}
		})
	}
}
