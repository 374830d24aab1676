package console_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/internal/hostiletext"
	"github.com/fondaco/fondaco/mcp"
)

func TestServersPageShowsStatesAndWhatMendsThem(t *testing.T) {
	t.Parallel()
	body := enter(t, newConsole(t, &source{servers: twoServers()})).get("")
	for _, want := range []string{"files", "ready", "over stdio · 2025-11-25", "11 tools", "3 processes", "weather", "sign in", "401", "fondaco auth login weather"} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
}

func TestServerPageShowsAllThatIsKnown(t *testing.T) {
	t.Parallel()
	all := twoServers()
	all[0].Calls = console.CallStats{Calls: 7, Failed: 2, Denied: 1, Median: 40 * time.Millisecond, P95: 3 * time.Second}
	all[0].Denied = []string{"delete"}
	all[0].WaitingCount, all[0].Waiting = 1, []host.WaitingDefinition{{Kind: host.KindTool, Name: "send", Change: host.DefinitionAdded, Findings: []string{"names a secret"}}}
	b := enter(t, newConsole(t, &source{servers: all, log: []console.LogLine{{Text: "connected"}}}))
	body := b.get("servers/files")
	for _, want := range []string{"<dd>7</dd>", "<dd>2</dd>", "<dd>1</dd>", "40 ms", "3.0 s", "connected", "delete", "send", "names a secret"} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	if response, body := b.do(request(http.MethodGet, b.path+"servers/gone", nil)); response.StatusCode != 409 || !strings.Contains(body, "no server &#34;gone&#34;") {
		t.Errorf("a server that is gone: got %d, %s", response.StatusCode, body)
	}
}

func TestActionThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	b := enter(t, newConsole(t, &source{servers: twoServers(), failure: errors.New("not \u202enow")}))
	if response, body := b.post("servers/files/restart"); response.StatusCode != 409 || !strings.Contains(body, `not \u202enow`) {
		t.Errorf("got %d, %s, want the reason", response.StatusCode, body)
	}
	if response, _ := b.post("servers/files/remove"); response.StatusCode != 404 {
		t.Errorf("an unknown action: got %d, want 404", response.StatusCode)
	}
}

// hostileServers are servers whose texts are all one.
func hostileServers(text string) []console.Server {
	return []console.Server{{Command: "fondaco approve x", SignIn: &console.SignIn{Problem: text}, Status: host.Status{
		Key: "x", Transport: "over stdio", State: host.Failed, Reason: text, Omitted: []string{text}, Denied: []string{text}, Withheld: []string{text},
		WaitingCount: 1, Waiting: []host.WaitingDefinition{{Kind: host.KindTool, Name: text, OldName: text, Change: host.DefinitionRenamed, Findings: []string{text}}},
	}}}
}

func TestTextsOfPeersAreShownAsTexts(t *testing.T) {
	t.Parallel()
	s := &source{}
	b := enter(t, newConsole(t, s))
	var elements [7]int
	for i, text := range append([]string{"plain"}, append(hostiletext.Texts(), `</pre><script>alert(1)</script>`, `" onload="alert(1)`, `{{.Token}}`, "javascript:alert(1)")...) {
		s.set(hostileServers(text)...)
		s.inbox, s.messages = hostileInbox(text), hostileMessages(text)
		s.roots = &console.Roots{File: text, Dirs: []string{text}, Problem: text}
		s.log = []console.LogLine{{Text: text, Level: mcp.LoggingLevel(text)}, {Text: text}}
		s.used = []traffic.Usage{{Method: "tools/call", Name: text, Principal: text, Client: text, Calls: 1}}
		s.recordings, s.recording = hostileRecording(text)
		for j, page := range []string{"", "servers/x", "inbox", "traffic", "recordings", "recordings/a1", "usage"} {
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

func TestPagesRunOnlyTheScriptOfTheConsole(t *testing.T) {
	t.Parallel()
	inline := regexp.MustCompile(`<script>|<style|\sstyle=|\son[a-z]+=|javascript:|(src|href|action)="(https?:)?//`)
	c := newConsole(t, &source{servers: twoServers(), inbox: hostileInbox("x")})
	b := enter(t, c)
	for _, path := range []string{"/", b.path, b.path + "servers/files", b.path + "inbox", b.path + "traffic", b.path + "nothing"} {
		r := request(http.MethodGet, path, nil)
		response, body := b.do(r)
		if found := inline.FindString(body); found != "" {
			t.Errorf("%s: got %q, want nothing inline and nothing from elsewhere", path, found)
		}
		for header, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := response.Header.Get(header); got != want {
				t.Errorf("%s: %s: got %q, want %q", path, header, got, want)
			}
		}
		policy := response.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
			if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
				t.Errorf("%s: got policy %q, want %s", path, policy, want)
			}
		}
	}
	for _, asset := range regexp.MustCompile(`/console/assets/[^"]+`).FindAllString(b.get(""), -1) {
		response, body := serve(c, request(http.MethodGet, asset, nil))
		if response.StatusCode != 200 || body == "" || !strings.Contains(response.Header.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: got %d, %v", asset, response.StatusCode, response.Header)
		}
	}
}

func TestManyServersAndLongTextsAreShown(t *testing.T) {
	t.Parallel()
	s := new(source)
	b := enter(t, newConsole(t, s))
	all := hostileServers(strings.Repeat("<b>long</b> ", 100_000))
	for i := range 10_000 {
		all = append(all, console.Server{Status: host.Status{Key: fmt.Sprint("s", i), State: host.Ready}})
	}
	s.set(all...)
	if got := strings.Count(b.get(""), "data-row"); got != 10_001 {
		t.Errorf("got %d rows, want 10,001", got)
	}
}

func TestLiveStreamSaysWhenThePageHasChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{servers: twoServers()}
		c := newConsole(t, s)
		b := enter(t, c)
		overview, files := b.listen(t.Context(), ""), b.listen(t.Context(), "servers/files")
		<-overview.events
		<-files.events
		all := twoServers()
		all[1].State = host.Ready
		s.set(all...)
		time.Sleep(2 * time.Second)
		if got := <-overview.events; !strings.HasPrefix(got, "event: change\n") || len(overview.events) > 0 {
			t.Errorf("got %q and %d further events, want one change", got, len(overview.events))
		}
		time.Sleep(20 * time.Second)
		if got := <-files.events; got != ":\n\n" {
			t.Errorf("got %q, want no change of another server", got)
		}
		c.Close()
		for range overview.events { // until it ends with the console
		}
	})
}

func TestLiveStreamsAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsole(t, &source{})
		b := enter(t, c)
		for range console.MaxStreams {
			<-b.listen(t.Context(), "").events
		}
		if response, _ := b.do(request(http.MethodGet, b.path+"live?page=", nil)); response.StatusCode != 503 {
			t.Errorf("got %d, want 503", response.StatusCode)
		}
		c.Close()
		synctest.Wait()
		if got, open := <-b.listen(t.Context(), "").events; got != "retry: 2000\n\n" || !open {
			t.Errorf("got %q, want a place after the others have ended", got)
		}
	})
}

func TestCallsAreCountedByTheirOutcome(t *testing.T) {
	t.Parallel()
	var c console.Calls
	for i := range 100 {
		c.Record(&host.Decision{Upstream: "a", Action: host.ActionCall, Outcome: host.OutcomeDone, Duration: time.Duration(i+1) * time.Millisecond})
	}
	c.Record(&host.Decision{Upstream: "a", Action: host.ActionCall, Outcome: host.OutcomeBegun})
	c.Record(&host.Decision{Upstream: "a", Action: host.ActionStart, Outcome: host.OutcomeFailed})
	c.Record(&host.Decision{Upstream: "a", Action: host.ActionRead, Outcome: host.OutcomeDenied, Duration: time.Hour})
	c.Record(&host.Decision{Upstream: "b", Action: host.ActionGet, Outcome: host.OutcomeFailed, Duration: time.Second})
	want := console.CallStats{Calls: 101, Denied: 1, Median: 50 * time.Millisecond, P95: 95 * time.Millisecond}
	if got := c.Of("a"); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := c.Of("b"); got.Failed != 1 || got.P95 != time.Second {
		t.Errorf("got %+v, want one that failed", got)
	}
	c.Keep([]string{"b"})
	if got := c.Of("a"); got.Calls != 0 {
		t.Errorf("got %+v, want the calls of a server that is gone forgotten", got)
	}
}

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "a link to the console: for how long it works; links that were not used; sessions of the console; for how long one lasts", console.LinkTime, console.MaxLinks, console.MaxSessions, console.SessionTime)
	claim.Limit(t, "fields of a form of the console; objects in objects; bytes read to follow references of its schema; images, sounds and files of the last result of a session; their bytes; a text of a result on a page",
		console.MaxFields, console.MaxDepth, claim.Bytes(console.MaxFollowed), console.MaxResultFiles, claim.Bytes(console.MaxResultBytes), claim.Bytes(console.MaxShownText))
	claim.Limit(t, "pages of the console that are kept current at a time; a form; calls of a server whose durations are known; messages on the page of the traffic; decisions on the page of the audit log",
		console.MaxStreams, claim.Bytes(console.MaxForm), console.KeptDurations, console.MaxMessages, console.MaxDecisions)
	claim.Limit(t, "time in which the console still counts as open after its last page was closed", console.NextPageTime)
	claim.Limit(t, "lines of the log of a server that the console keeps; one of them", console.KeptLines, claim.Bytes(console.MaxLine))
	claim.Limit(t, "rows of the usage on a page of the console", console.MaxUsageRows)
	claim.Limit(t, "recordings on a page of the console; what a page shows of one body; a file with what a filter shows of a recording", console.MaxRecordings, claim.Bytes(console.MaxBody), claim.Bytes(console.MaxShared))
}
