package console_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/internal/hostiletext"
)

func TestAuditPageShowsWhatWasDecidedAndWhy(t *testing.T) {
	t.Parallel()
	s := &source{decisions: []console.Decision{{
		Count: 3, Decision: host.Decision{
			Time: time.Now(), Upstream: "files", Name: "delete", Principal: "anna", Client: "editor 1", Action: host.ActionCall, Outcome: host.OutcomeDenied, Reason: "the rules deny it",
		},
	}}}
	b := enter(t, newConsole(t, s))
	body := b.get("audit?server=files&name=delete&person=anna&decision=denied")
	for _, want := range []string{"files</b> delete", "anna", "editor 1", "denied", "3 times", "from clients. <span class=\"dim\">(the rules deny it)</span>", "1 decisions", "7 more match", `value="anna"`, "<option selected>denied"} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	if want := (console.AuditQuery{Server: "files", Name: "delete", Person: "anna", Decision: "denied"}); s.query != want {
		t.Errorf("got the query %+v, want %+v", s.query, want)
	}
}

func TestAuditLogIsVerifiedOnDemand(t *testing.T) {
	t.Parallel()
	s := new(source)
	b := enter(t, newConsole(t, s))
	if response, body := b.post("audit/verify"); response.StatusCode != 200 || !strings.Contains(body, "The audit log is as it was written. 9 lines") {
		t.Errorf("got %d, %s, want it verified", response.StatusCode, body)
	}
	s.problems = []string{"changed: audit.jsonl:7"}
	if response, body := b.post("audit/verify"); response.StatusCode != http.StatusConflict || !strings.Contains(body, "is not as it was written") || !strings.Contains(body, "audit.jsonl:7") {
		t.Errorf("got %d, %s, want the problem", response.StatusCode, body)
	}
	s.failure = errors.New("no key")
	if response, body := b.post("audit/verify"); response.StatusCode != http.StatusConflict || !strings.Contains(body, "no key") {
		t.Errorf("got %d, %s, want why not", response.StatusCode, body)
	}
}

func TestConfigurationIsShownWithWhatTheCheckSays(t *testing.T) {
	t.Parallel()
	s := &source{configuration: console.Config{
		Path: "/home/anna/mcp.json", Errors: []string{"line 3: unknown"}, Notes: []string{"a note"},
		Servers: []console.ConfiguredServer{
			{Name: "files", State: "on", Reached: "over stdio", Target: "/usr/bin/files", Arguments: []string{"--root", "/srv"}, Now: host.Failed, Reason: "exit 1", Command: "fondaco doctor files", Variables: []string{"TOKEN"}, Headers: []string{"X-Key"}, Roots: []string{"/srv/data"}, Rules: []string{"deny delete"}},
			{Name: "old", State: "disabled"},
		},
		Lines: []console.ConfigLine{{Text: "{"}, {Text: `  "mcpServers": 7`, Errors: []string{"found a number"}, Notes: []string{"odd"}}},
	}}
	body := enter(t, newConsole(t, s)).get("config")
	for _, want := range []string{"/home/anna/mcp.json", "line 3: unknown", "a note", "files", "/usr/bin/files", "TOKEN", "X-Key", "/srv/data", "deny delete", "old", "disabled", "<code>--root</code> <code>/srv</code>", `servers/files">Now</a>`, "exit 1", "fondaco doctor files", "  &#34;mcpServers&#34;: 7</span><strong", "error: found a number", "note: odd"} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
}

func TestTextsOfTheAuditLogAndTheFileAreShownAsTexts(t *testing.T) {
	t.Parallel()
	s := new(source)
	b := enter(t, newConsole(t, s))
	var elements [2]int
	for i, text := range append([]string{"plain"}, append(hostiletext.Texts()[:120], `</td><script>alert(1)</script>`)...) {
		s.decisions = []console.Decision{{Decision: host.Decision{Upstream: text, Name: text, Principal: text, Client: text, Reason: text, GrantedBy: text, Outcome: host.OutcomeDone}}}
		s.configuration = console.Config{Path: text, Errors: []string{text}, Notes: []string{text}, Lines: []console.ConfigLine{{Text: text, Errors: []string{text}, Notes: []string{text}}}, Servers: []console.ConfiguredServer{
			{Name: text, State: "on", Target: text, Arguments: []string{text}, Reason: text, Now: host.Failed, Variables: []string{text}, Headers: []string{text}, Roots: []string{text}, Rules: []string{text}},
		}}
		for j, page := range []string{"audit", "config"} {
			body := b.get(page)
			if at := hostiletext.Unshown(body, "\n\t"); at >= 0 {
				t.Errorf("%q: got %.40q in the page, want it visible", text, body[at:])
			}
			if i == 0 {
				elements[j] = strings.Count(body, "<")
			}
			if got := strings.Count(body, "<"); got != elements[j] {
				t.Errorf("%q: got %d tags, want %d as with a plain text", text, got, elements[j])
			}
		}
	}
}
