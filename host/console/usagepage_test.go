package console_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/traffic"
)

func TestUsageIsShownByToolAndCaller(t *testing.T) {
	t.Parallel()
	s := &source{used: []traffic.Usage{
		{Method: "tools/call", Name: "git__log", Principal: "anna", Client: "ide", Calls: 3, Failed: 1, Sent: 1000, Received: 3000, Time: 3 * time.Second},
		{Method: "tools/call", Name: "git__log", Principal: "ben", Client: "ide", Calls: 1, Sent: 10, Received: 30, Time: time.Second},
		{Method: "resources/read", Principal: "anna", Client: "ide", Calls: 2, Sent: 20, Received: 60},
		{Calls: 7, Sent: 1, Received: 2},
	}}
	b := enter(t, newConsole(t, s))
	rows := func(query string) string {
		var all []string
		for _, m := range regexp.MustCompile(`(?s)<tr>\n?(<td.*?)</tr>`).FindAllStringSubmatch(b.get("usage?"+query), -1) {
			all = append(all, strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(strings.ReplaceAll(m[1], "</td>", " "), "")), " "))
		}
		return regexp.MustCompile(` 0001-\S+ [\d:]+`).ReplaceAllString(strings.Join(all, "|"), "")
	}
	for query, want := range map[string]string{
		"":          "git/log anna ide 3 1 1.0 s 1000 B 2 KiB 1000|resources anna ide 2 0 0.0 ms 20 B 60 B 20|git/log ben ide 1 0 1.0 s 10 B 30 B 10|all else 7 0 0.0 ms 1 B 2 B 1",
		"by=tool":   "git/log 4 1 1.0 s 1010 B 2 KiB 1010|resources 2 0 0.0 ms 20 B 60 B 20|all else 7 0 0.0 ms 1 B 2 B 1",
		"by=caller": "anna ide 5 1 600 ms 1020 B 2 KiB 1020|ben ide 1 0 1.0 s 10 B 30 B 10|7 0 0.0 ms 1 B 2 B 1",
		"q=BEN+git": "git/log ben ide 1 0 1.0 s 10 B 30 B 10",
	} {
		if got := rows(query); got != want {
			t.Errorf("%s: got %s, want %s", query, got, want)
		}
	}
}

func TestUsagePageIsLimited(t *testing.T) {
	t.Parallel()
	s := new(source)
	for i := range 1000 {
		s.used = append(s.used, traffic.Usage{Method: "tools/call", Name: fmt.Sprint(i), Calls: 1})
	}
	if body := enter(t, newConsole(t, s)).get("usage"); !strings.Contains(body, fmt.Sprint(console.MaxUsageRows, " of 1000 rows")) {
		t.Errorf("got %s, want %d rows", body, console.MaxUsageRows)
	}
}

func TestAuditPageSaysWhyACallWasNotMade(t *testing.T) {
	t.Parallel()
	s := &source{decisions: []console.Decision{
		{Decision: host.Decision{Upstream: "files", Name: "delete", Action: host.ActionCall, Outcome: host.OutcomeDenied, Reason: `unknown tool "files__delete"`}},
		{Decision: host.Decision{Upstream: "files", Name: "send", Action: host.ActionCall, Outcome: host.OutcomeWithheld}},
	}}
	body := enter(t, newConsole(t, s)).get("audit")
	for _, want := range []string{"hide this tool from clients. <span class=\"dim\">(unknown tool", `config#server-files">Rules</a>`, "once you have approved its definition", `inbox">Inbox</a>`} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
}
