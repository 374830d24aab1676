package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// decisions are the recorded decisions of a gateway.
type decisions struct {
	mu  sync.Mutex
	all []host.Decision
}

func (d *decisions) add(one host.Decision) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, one)
}

// of returns the outcomes of an action, and their reasons.
func (d *decisions) of(a host.Action) (outcomes []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range d.all {
		if one.Action == a {
			outcomes = append(outcomes, strings.TrimSuffix(one.Name+" "+string(one.Outcome)+": "+one.Reason, ": "))
		}
	}
	return outcomes
}

// fileServer has tools that read, write and delete, and records what they do.
func fileServer(done *[]string) *mcpserver.Server {
	srv := newServer("shelf")
	add := func(name string, opts ...mcpserver.ToolOption) {
		srv.Tool(name, name, func(_ context.Context, in struct {
			What string `json:"what,omitzero"`
		},
		) (string, error) {
			*done = append(*done, name+" "+in.What)
			return "done", nil
		}, opts...)
	}
	add("read", mcpserver.ReadOnly())
	add("write")
	add("delete")
	return srv
}

func guarded(srv *mcpserver.Server, rules host.Rules) host.Upstream {
	u := upstream("s", srv)
	u.Settings.Rules = rules
	return u
}

func TestDeniedToolIsUnknown(t *testing.T) {
	t.Parallel()
	var done []string
	var seen decisions
	g := gateway.New([]host.Upstream{guarded(fileServer(&done), host.Rules{Deny: []string{"del*"}})}, &gateway.Options{Logger: quiet, OnDecision: seen.add})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
	if got := toolNames(t, c); !slices.Equal(got, []string{"s__read", "s__write"}) {
		t.Errorf("got %v, want no word of the tool that is denied", got)
	}
	_, hidden := c.CallTool(t.Context(), "s__delete", nil)
	_, unknown := c.CallTool(t.Context(), "s__deleter", nil)
	if mcp.CodeOf(hidden) != mcp.CodeOf(unknown) || strings.ReplaceAll(unknown.Error(), "deleter", "delete") != hidden.Error() || len(done) != 0 {
		t.Errorf("got %v and %v, want no difference", hidden, unknown)
	}
	if got := seen.of(host.ActionCall); len(got) != 1 || !strings.HasPrefix(got[0], "delete denied: ") {
		t.Errorf("got decisions %q, want the one on the tool that is there", got)
	}
}

// asker answers the question for consent, and records it.
type asker struct {
	allow  bool
	asked  []string
	refuse bool // fail instead of answering
}

func (a *asker) elicit(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	a.asked = append(a.asked, p.Message)
	if a.refuse {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	content := jsontext.Value(`{"allow":false}`)
	if a.allow {
		content = jsontext.Value(`{"allow":true}`)
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}

func TestCallsAreMadeThatTheCallerConsentsTo(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-219a", "R-220")
	rules := host.Rules{Confirm: []host.ConfirmRule{{Tools: "*", When: host.Destructive}}}
	for _, revision := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		for _, test := range []struct {
			asker asker
			want  string
		}{
			{asker{allow: true}, ""},
			{asker{allow: false}, "the user said no"},
			{asker{refuse: true}, "the user said no"},
		} {
			var done []string
			var seen decisions
			g := gateway.New([]host.Upstream{guarded(fileServer(&done), rules)}, &gateway.Options{Logger: quiet, OnDecision: seen.add})
			g.Start(t.Context())
			c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Revisions: []mcp.Revision{revision}, ElicitForm: test.asker.elicit, Logger: quiet})
			t.Cleanup(g.Close)
			if _, err := c.CallTool(t.Context(), "s__read", nil); err != nil || len(test.asker.asked) != 0 {
				t.Errorf("%s: got %v and questions %q, want none for what destroys nothing", revision, err, test.asker.asked)
			}
			result, err := c.CallTool(t.Context(), "s__delete", map[string]string{"what": "all\u202e"})
			if err != nil {
				t.Fatal(err)
			}
			if len(test.asker.asked) != 1 || !strings.Contains(test.asker.asked[0], `s/delete`) || !strings.Contains(test.asker.asked[0], `{"what":"all\u202e"}`) {
				t.Errorf("%s: got questions %q, want the call with its arguments, all visible", revision, test.asker.asked)
			}
			if refused := string(result.Meta[host.MetaRefused]); test.want == "" && (result.IsError || refused != "" || len(done) != 2) ||
				test.want != "" && (!strings.Contains(result.Content.Text(), test.want) || refused != `"consent"` || len(done) != 1) {
				t.Errorf("%s: got %s, %q, done %q, want %q", revision, result.Content.Text(), refused, done, test.want)
			}
			outcome := "delete done"
			if test.want != "" {
				outcome = "delete refused: the call needs consent, and the user said no"
			}
			if got := seen.of(host.ActionCall); !slices.Equal(got, []string{"read done", outcome}) {
				t.Errorf("%s: got decisions %q, want each call once: %s", revision, got, outcome)
			}
		}
	}
}

func TestCallThatNeedsConsentIsRefusedIfTheCallerCannotBeAsked(t *testing.T) {
	t.Parallel()
	eachPairing(t, func(t *testing.T, down *mcpclient.Options, up *mcpserver.Options) {
		var done []string
		_, c := open(t, down, guarded(fileServer(&done), host.Rules{Confirm: []host.ConfirmRule{{Tools: "write", When: host.Always}}}))
		result, err := c.CallTool(t.Context(), "s__write", nil)
		if err != nil || !result.IsError || string(result.Meta[host.MetaRefused]) != `"consent"` ||
			!strings.Contains(result.Content.Text(), "this client cannot ask its user") || len(done) != 0 {
			t.Errorf("got %+v, %v, done %q, want a refusal that a program knows from other failures", result, err, done)
		}
	})
}

func TestUpstreamCannotImitateARefusalOfTheHost(t *testing.T) {
	t.Parallel()
	srv := newServer("s")
	srv.AddTool(mcp.Tool{Name: "pretend"}, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		r := &mcp.CallToolResult{IsError: true}
		r.Meta = mcp.Meta{host.MetaRefused: jsontext.Value(`"consent"`)}
		return r, nil
	})
	_, c := open(t, nil, upstream("s", srv))
	if result, err := c.CallTool(t.Context(), "s__pretend", nil); err != nil || result.Meta[host.MetaRefused] != nil {
		t.Errorf("got %+v, %v, want what is ours to say left out", result, err)
	}
}

func TestWithheldToolIsUnknownUntilItIsApproved(t *testing.T) {
	t.Parallel()
	var done []string
	var seen decisions
	var mu sync.Mutex
	withhold := true
	g := gateway.New([]host.Upstream{upstream("s", fileServer(&done))}, &gateway.Options{
		Logger: quiet, OnDecision: seen.add,
		FilterTools: func(_ *host.Upstream, tools []mcp.Tool) (kept []mcp.Tool, withheld []host.Withheld, err error) {
			mu.Lock()
			defer mu.Unlock()
			for _, t := range tools {
				if withhold && t.Name == "write" {
					withheld = append(withheld, host.Withheld{Tool: t.Name, Diff: "+ new"})
					continue
				}
				kept = append(kept, t)
			}
			return kept, withheld, nil
		},
	})
	defer g.Close()
	g.Start(t.Context())
	c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
	if got := toolNames(t, c); !slices.Equal(got, []string{"s__delete", "s__read"}) {
		t.Errorf("got %v, want it left out", got)
	}
	if _, err := c.CallTool(t.Context(), "s__write", nil); mcp.CodeOf(err) != mcp.CodeInvalidParams || len(done) != 0 {
		t.Errorf("got %v, want it unknown", err)
	}
	if s := g.Status()[0]; len(s.Withheld) != 1 || s.Withheld[0].Diff != "+ new" {
		t.Errorf("got %+v, want it told", s)
	}
	mu.Lock()
	withhold = false
	mu.Unlock()
	g.Retry("s")
	if _, err := c.CallTool(t.Context(), "s__write", nil); err != nil || len(g.Status()[0].Withheld) != 0 {
		t.Errorf("got %v, want it back", err)
	}
	if got := seen.of(host.ActionOffer); !slices.Equal(got, []string{"write needs approval: the definition has changed since it was approved"}) {
		t.Errorf("got decisions %q, want one", got)
	}
}

func TestEveryDecisionIsReported(t *testing.T) {
	t.Parallel()
	var seen decisions
	srv := newServer("s")
	srv.Tool("fail", "Fail", func(context.Context, struct{}) (string, error) { return "", errors.New("secret of the tool") })
	srv.Resource("res://x", "x", "text/plain", func(context.Context) ([]byte, error) { return []byte("x"), nil })
	srv.Prompt("p", "p", func(context.Context, struct{}) ([]mcp.PromptMessage, error) { return nil, nil })
	g := gateway.New([]host.Upstream{upstream("s", srv), refusing("broken")}, &gateway.Options{Logger: quiet, OnDecision: seen.add})
	defer g.Close()
	g.Start(t.Context())
	c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
	_, _ = c.CallTool(t.Context(), "s__fail", nil)
	_, _ = c.ReadResource(t.Context(), "res://x")
	_, _ = c.GetPrompt(t.Context(), "s__p", nil)
	for action, want := range map[host.Action]string{
		host.ActionCall: "fail failed", host.ActionRead: "res://x done", host.ActionGet: "p done",
	} {
		if got := seen.of(action); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", action, got, want)
		}
	}
	starts := seen.of(host.ActionStart)
	if !slices.Contains(starts, " done") || !slices.Contains(starts, " failed: connect to server: no such thing") {
		t.Errorf("got starts %q, want that which was made and that which was not", starts)
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for _, d := range seen.all {
		if d.Action == host.ActionGet && (d.Principal != "local" || d.Upstream != "s" || d.Time.IsZero() || d.Duration <= 0) {
			t.Errorf("got %+v, want who and when too", d)
		}
	}
}
