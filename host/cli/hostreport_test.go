package cli

import (
	"encoding/json/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/internal/hostiletext"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A client writes ids, methods, names and what it calls itself.
func TestReportedMessagesHaveNoTextsOfPeers(t *testing.T) {
	planted := append(hostiletext.Texts(), `"planted"`, `["planted"]`, "planted=hunter2", "https://a.example?key=planted")
	for _, text := range planted {
		got := reportedMessages([]traffic.Message{{ID: text, Method: text, Name: text, Client: text}})[0]
		for _, field := range []string{got.ID, got.Method, got.Name, got.Client} {
			if field == text && text != "" && !plainName.MatchString(text) {
				t.Errorf("got %q, want its length", field)
			}
		}
	}
	kept := traffic.Message{ID: "7", Method: "notifications/tools/list_changed", Name: "git__log", Client: "Visual Studio Code"}
	if got := reportedMessages([]traffic.Message{kept})[0]; got != kept {
		t.Errorf("got %+v, want it unchanged", got)
	}
}

func TestReportedPrincipalsAreNumbered(t *testing.T) {
	got := reportedMessages([]traffic.Message{{Principal: "anna"}, {Principal: "ben"}, {Principal: "anna"}, {Principal: "local"}})
	var all []string
	for _, m := range got {
		all = append(all, m.Principal)
	}
	if text := strings.Join(all, ", "); text != "principal 1, principal 2, principal 1, local" {
		t.Errorf("got %s", text)
	}
}

func TestPrivateTextHasNoNamesOfPeople(t *testing.T) {
	m := &Main{IO: terminal.IO{Env: []string{"HOME=/srv/people/anna", "USER=anna"}}}
	m.secrets.configure([]host.Upstream{{Target: mcpclient.URL("https://a.example"), Header: http.Header{"X-Key": {"anna:correct horse"}}}})
	p := newPrivateText(m)
	for text, want := range map[string]string{
		"open /srv/people/anna/x: denied":    "open ~/x: denied",
		"by anna anna, not by annabel":       "by [name] [name], not by annabel",
		"/home/ben/work and /Users/Ben/x":    "/home/[user]/work and /Users/[user]/x",
		`C:\Users\Ben\x`:                     `C:\Users\[user]\x`,
		"refused anna:correct horse":         "refused [hidden]",
		"Authorization: Bearer abcdefabcdef": "Authorization: [hidden]",
	} {
		if got := p.of(text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	text, err := p.json([]byte(`{"anna":["anna",1,true,{"x":"/srv/people/anna"}]}`))
	if want := `{"anna":["[name]",1,true,{"x":"~"}]}`; err != nil || compact(t, text) != want {
		t.Errorf("got %s, %v, want %s: names of members stay", text, err, want)
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReachedLimitsAreCounted(t *testing.T) {
	var r reachedLimits
	r.note("git", mcp.LimitReached{Limit: mcp.LimitNotifications})
	r.note("git", mcp.LimitReached{Limit: mcp.LimitNotifications})
	r.note("", mcp.LimitReached{Limit: mcp.LimitNotifications})
	times := make(map[string]int)
	for _, l := range r.all() {
		times[l.Upstream] = l.Times
	}
	if len(times) != 2 || times["git"] != 2 || times[""] != 1 {
		t.Errorf("got %v", times)
	}
}
