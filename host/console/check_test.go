package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestChecksOfOneServerAreMadeAndShown(t *testing.T) {
	t.Parallel()
	runs, goOn, known := 0, make(chan struct{}), make(chan struct{})
	c := console.New(console.Options{Base: base, Source: tryHost(trip), HostURL: base + "/mcp", Check: func(ctx context.Context, onResult func(console.CheckResult)) error {
		runs++
		onResult(console.CheckResult{Check: "messages", Status: "ok", Revision: mcp.V20260728, Text: "7 messages are valid"})
		onResult(console.CheckResult{Check: "batch", Status: "skipped"})
		onResult(console.CheckResult{Check: "string-id", Status: "fault", Text: "<b>\u202e", Spec: "https://spec.example"})
		close(known)
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return errors.New("the server has ended")
	}})
	t.Cleanup(c.Close)
	b := enter(t, c)
	if page := b.get("check"); strings.Contains(page, "<table") || strings.Contains(page, "Configuration") || strings.Contains(page, "Audit") {
		t.Errorf("got %s, want a page without results, and none of the audit log and the configuration", page)
	}
	for range 2 { // the second one while the first is under way
		if response, _ := b.post("check"); response.StatusCode != http.StatusSeeOther {
			t.Fatalf("got %d, want the page", response.StatusCode)
		}
	}
	<-known
	page := b.get("check")
	for _, want := range []string{"7 messages are valid", "Checks are under way", "2 results, 1 faults", `&lt;b&gt;\u202e`, "https://spec.example"} {
		if !strings.Contains(page, want) {
			t.Errorf("got %s, want %s", page, want)
		}
	}
	close(goOn)
	c.Close()
	if page := b.get("check"); runs != 1 || strings.Contains(page, "under way") || !strings.Contains(page, "the server has ended") {
		t.Errorf("got %d runs, %s, want one, and why it has ended", runs, page)
	}
	if _, page := b.post(toolPage, "/from", "TRN"); !strings.Contains(page, "fondaco call --url http://127.0.0.1:7332/mcp air/book") {
		t.Errorf("got %s, want a command that finds this host", page)
	}
}

func TestOnlyTheConsoleOfOneServerHasChecks(t *testing.T) {
	t.Parallel()
	b := enter(t, newConsole(t, tryHost(trip)))
	if response, _ := b.post("check"); response.StatusCode != http.StatusNotFound || strings.Contains(b.get(""), ">Check<") {
		t.Errorf("got %d, want no page of checks", response.StatusCode)
	}
}

func TestResultsOfChecksAreLimited(t *testing.T) {
	t.Parallel()
	claim.Limit(t, "results of the checks of one server that the console shows", console.MaxCheckResults)
	const all = console.MaxCheckResults + 5
	c := console.New(console.Options{Base: base, Source: tryHost(trip), Check: func(_ context.Context, onResult func(console.CheckResult)) error {
		for range all {
			onResult(console.CheckResult{Check: "lint", Status: "warning"})
		}
		return nil
	}})
	t.Cleanup(c.Close)
	b := enter(t, c)
	_, _ = b.post("check")
	c.Close()
	if page := b.get("check"); strings.Count(page, "<td>lint</td>") != console.MaxCheckResults || !strings.Contains(page, fmt.Sprint(all, " warnings")) {
		t.Errorf("got %d results, want %d, and all counted", strings.Count(page, "<td>lint</td>"), console.MaxCheckResults)
	}
}
