package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

var errDiskFull = errors.New("write: no space left on device")

// recorder records decisions until it is full.
type recorder struct {
	decisions
	full atomic.Bool
}

func (r *recorder) record(d host.Decision) error {
	if r.full.Load() {
		return errDiskFull
	}
	return r.add(d)
}

// lines returns the outcomes of the requests with their call ids as numbers.
func (r *recorder) lines() (lines []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := []string{""}
	for _, d := range r.all {
		if d.Principal == "" {
			continue
		}
		if !slices.Contains(ids, d.Call) {
			ids = append(ids, d.Call)
		}
		lines = append(lines, string(d.Action)+" "+d.Name+" "+string(d.Outcome)+" "+string(rune('0'+slices.Index(ids, d.Call))))
	}
	return lines
}

func TestConfirmedCallIsRecordedBeforeTheUpstreamGetsIt(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-219e")
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		var done []string
		var seen recorder
		user := &person{allow: true}
		rules := host.Rules{Confirm: []host.ConfirmRule{{Tools: "delete", When: host.Always}}}
		g := gateway.New([]host.Upstream{guarded(fileServer(&done), rules)}, &gateway.Options{Logger: quiet, OnDecision: seen.record, Consent: user.consent})
		t.Cleanup(g.Close)
		g.Start(t.Context())
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Revisions: []mcp.Revision{revision}, Logger: quiet})
		seen.full.Store(true)
		result, err := c.CallTool(t.Context(), "s__delete", map[string]string{"what": "all"})
		if err != nil || !result.IsError || string(result.Meta[host.MetaRefused]) != `"record"` || len(done) != 0 ||
			!strings.Contains(result.Content.Text(), "cannot write its audit log") || strings.Contains(result.Content.Text(), errDiskFull.Error()) {
			t.Fatalf("%s: got %+v, %v, done %q, want a refusal before the upstream gets the call, without its details", revision, result, err, done)
		}
		if _, err := c.CallTool(t.Context(), "s__read", nil); err != nil || len(done) != 1 {
			t.Errorf("%s: got %v, done %q, want other calls made", revision, err, done)
		}
		seen.full.Store(false)
		if result, err := c.CallTool(t.Context(), "s__delete", nil); err != nil || result.IsError || len(done) != 2 {
			t.Errorf("%s: got %+v, %v, done %q, want the call made once it can be recorded", revision, result, err, done)
		}
		if got, want := seen.lines(), []string{"call delete begun 1", "call delete done 1"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", revision, got, want)
		}
	}
}

func TestEveryRequestIsRecordedFirstIfTheOptionIsSet(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		var done []string
		var seen recorder
		srv := fileServer(&done)
		srv.Resource("res://x", "x", "text/plain", func(context.Context) ([]byte, error) {
			done = append(done, "x")
			return []byte("x"), nil
		})
		srv.Prompt("p", "p", func(context.Context, struct{}) ([]mcp.PromptMessage, error) {
			done = append(done, "p")
			return nil, nil
		})
		g := gateway.New([]host.Upstream{upstream("s", srv)}, &gateway.Options{Logger: quiet, OnDecision: seen.record, RecordFirst: true})
		t.Cleanup(g.Close)
		g.Start(t.Context())
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Revisions: []mcp.Revision{revision}, Logger: quiet})
		all := func() (errs []error) {
			result, called := c.CallTool(t.Context(), "s__read", nil)
			if called == nil && result.IsError {
				called = errors.New(result.Content.Text())
			}
			_, read := c.ReadResource(t.Context(), "res://x")
			_, got := c.GetPrompt(t.Context(), "s__p", nil)
			return []error{called, read, got}
		}
		seen.full.Store(true)
		for _, err := range all() {
			if err == nil || !strings.Contains(err.Error(), "cannot write its audit log") {
				t.Errorf("%s: got %v, want the reason", revision, err)
			}
		}
		if len(done) != 0 {
			t.Errorf("%s: got done %q, want nothing", revision, done)
		}
		seen.full.Store(false)
		for _, err := range all() {
			if err != nil {
				t.Errorf("%s: %v", revision, err)
			}
		}
		want := []string{"call read begun 1", "call read done 1", "read res://x begun 2", "read res://x done 2", "get p begun 3", "get p done 3"}
		if got := seen.lines(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", revision, got, want)
		}
	}
}

func TestDecisionNamesClientSessionAndArguments(t *testing.T) {
	t.Parallel()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		var done []string
		var seen decisions
		u := upstream("s", fileServer(&done))
		u.Settings.AuditArguments = []string{"write"}
		g := gateway.New([]host.Upstream{u}, &gateway.Options{Logger: quiet, OnDecision: seen.add})
		t.Cleanup(g.Close)
		g.Start(t.Context())
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{
			Info: mcp.Implementation{Name: "edit\u202eor" + strings.Repeat("x", 100), Version: "1.2"}, Revisions: []mcp.Revision{revision}, Logger: quiet,
		})
		arguments := jsontext.Value(`{"what":"a", "n":1}`)
		for _, tool := range []string{"s__read", "s__write"} {
			if _, err := c.CallTool(t.Context(), tool, arguments); err != nil {
				t.Fatal(err)
			}
		}
		calls := 0
		for _, d := range seen.all {
			if d.Action != host.ActionCall {
				continue
			}
			calls++
			if want := `edit\u202eor` + strings.Repeat("x", 55) + "… 1.2"; d.Client != want {
				t.Errorf("%s: got client %q, want %q", revision, d.Client, want)
			}
			if hasSession := revision != mcp.V20260728; (d.Session != "") != hasSession {
				t.Errorf("%s: got session %q, want one in the session era only", revision, d.Session)
			}
			if want := host.ArgumentsDigest(jsontext.Value(`{"n":1,"what":"a"}`)); d.Arguments != want {
				t.Errorf("%s: got arguments %s, want %s", revision, d.Arguments, want)
			}
			if (d.ArgumentsText != nil) != (d.Name == "write") {
				t.Errorf("%s: %s: got arguments %s, want the text for one tool only", revision, d.Name, d.ArgumentsText)
			}
		}
		if calls == 0 {
			t.Errorf("%s: got no decision about a call", revision)
		}
	}
}
