package console_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/mcp"
)

func TestLastLinesOfEachServerAreKept(t *testing.T) {
	t.Parallel()
	var logs console.Logs
	if got := logs.Of("x"); got != nil {
		t.Errorf("got %v, want nothing", got)
	}
	for i := range 2*console.KeptLines + 7 {
		logs.Add("x", console.LogLine{Text: fmt.Sprint(i)})
		if i == 2 {
			if got := logs.Of("x"); len(got) != 3 || got[0].Text != "0" {
				t.Errorf("got %v, want three lines", got)
			}
		}
	}
	logs.Add("y", console.LogLine{Text: strings.Repeat("x", 2*console.MaxLine)})
	got := logs.Of("x")
	if len(got) != console.KeptLines || got[0].Text != fmt.Sprint(console.KeptLines+7) || got[len(got)-1].Text != fmt.Sprint(2*console.KeptLines+6) || got[0].Time.IsZero() {
		t.Errorf("got %d lines from %+v on, want the last ones in their order", len(got), got[0])
	}
	if got := logs.Of("y")[0].Text; len(got) > console.MaxLine+len("…") {
		t.Errorf("got %d bytes, want it cut", len(got))
	}
	logs.Keep([]string{"y"})
	if logs.Of("x") != nil || logs.Of("y") == nil {
		t.Error("want the server kept that is named")
	}
}

func TestLogIsFilteredByLevelAndWords(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 9, 0, 0, 0, time.Local)
	s := &source{servers: twoServers(), log: []console.LogLine{
		{Time: at, Text: "listening"},
		{Time: at, Level: mcp.LevelDebug, Text: "cache is warm"},
		{Time: at, Level: mcp.LevelWarning, Text: "Disk is slow"},
		{Time: at, Level: mcp.LevelError, Text: "disk is full"},
		{Time: at, FromHost: true, Text: "failed: exit 1"},
		{Time: at, Level: "unheard of", Text: "odd"},
	}}
	b := enter(t, newConsole(t, s))
	for query, want := range map[string]string{
		"":                           "listening|cache is warm|Disk is slow|disk is full|failed: exit 1|odd",
		"level=warning":              "Disk is slow|disk is full",
		"level=debug":                "cache is warm|Disk is slow|disk is full",
		"level=stderr":               "listening",
		"q=DISK":                     "Disk is slow|disk is full",
		"q=disk+full&level=error":    "disk is full",
		"q=host+exit":                "failed: exit 1",
		"level=critical&q=something": "",
	} {
		body := b.get("servers/files?" + query)
		var got []string
		for _, m := range regexp.MustCompile(`<li data-row><span class="dim">2026-11-28 09:00:00</span> <span class="\w*">[^<]*</span> ([^<]*)</li>`).FindAllStringSubmatch(body, -1) {
			got = append(got, m[1])
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: got %q, want %s", query, got, want)
		}
	}
	if body := b.get("servers/files?level=critical"); !strings.Contains(body, "No line is as the filter says.") {
		t.Errorf("got %s, want that no line matches", body)
	}
}

func TestServerIsSwitchedOffAndSignedIn(t *testing.T) {
	t.Parallel()
	s := &source{servers: []console.Server{
		{Status: host.Status{Key: "files", State: console.Disabled}},
		{Status: host.Status{Key: "cloud", State: host.NeedsSignIn}, SignIn: &console.SignIn{Address: "https://login.example/authorize?x=1"}},
		{Status: host.Status{Key: "fruit", State: host.NeedsSignIn}, SignIn: &console.SignIn{Address: "https://xn--80ak6aa92e.com/authorize"}},
		{Status: host.Status{Key: "hub", State: host.NeedsSignIn}, SignIn: &console.SignIn{Problem: "the user said no"}},
		{Status: host.Status{Key: "git", State: host.Ready, Processes: 2}, Programs: []console.Program{{ID: 41, Memory: 3 << 20}, {ID: 42}}},
	}}
	b := enter(t, newConsole(t, s))
	for page, want := range map[string][]string{
		"servers/files": {`id="enable"`, "You have switched it off"},
		"servers/cloud": {`id="signin"`, "<b>login.example</b>", `href="https://login.example/authorize?x=1" target="_blank" rel="noopener noreferrer"`},
		"servers/fruit": {"<b>xn--80ak6aa92e.com</b>", "looks like apple.com and is not."},
		"servers/hub":   {"the user said no", `id="signin"`},
		"servers/git":   {`id="disable"`, `<dt>process ids</dt><dd>41 (3.0 MiB), 42</dd>`, `<dt>memory</dt><dd>3.0 MiB</dd>`},
		"":              {"2 processes · 3.0 MiB"},
	} {
		for _, text := range want {
			if body := b.get(page); !strings.Contains(body, text) {
				t.Errorf("%s: got %s, want %s", page, body, text)
			}
		}
	}
	if body := b.get("servers/files"); strings.Contains(body, `id="restart"`) || strings.Contains(body, `id="retry"`) {
		t.Errorf("got %s, want nothing that restarts it", body)
	}
	for _, action := range [][]string{{"files/disable"}, {"files/enable"}, {"cloud/signin"}, {"cloud/signedin", "address", " http://127.0.0.1/cb?code=1 "}} {
		if response, body := b.post("servers/"+action[0], action[1:]...); response.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: got %d, %s", action[0], response.StatusCode, body)
		}
	}
	if want := []string{"off files true", "off files false", "sign in cloud", "finish cloud http://127.0.0.1/cb?code=1"}; !slices.Equal(s.did, want) {
		t.Errorf("got %q, want %q", s.did, want)
	}
}
