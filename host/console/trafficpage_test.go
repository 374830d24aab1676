package console_test

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/traffic"
)

// hostileMessages are messages whose texts are all one.
func hostileMessages(text string) []traffic.Message {
	return []traffic.Message{
		{Seq: 1, Kind: traffic.Request, Method: text, Name: text, ID: text, Client: text, Principal: text, Session: text, Call: 1},
		{Seq: 2, Kind: traffic.Error, Code: -32602, Method: text, Name: text, Upstream: "x", Session: text, Request: 1, Trace: text},
	}
}

// oneCall is a call of a client that the host sends on to a server, where the tool fails.
func oneCall() []traffic.Message {
	at := time.Date(2026, 11, 28, 9, 0, 0, 0, time.Local)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	return []traffic.Message{
		{Seq: 1, Time: at, FromClient: true, Client: "editor", Principal: "anna", Session: "s1", Kind: traffic.Request, Method: "tools/call", Name: "files__read", ID: "1", Bytes: 90, Call: 1, Trace: trace},
		{Seq: 2, Time: at, FromClient: true, Upstream: "files", Session: "c4", Kind: traffic.Request, Method: "tools/call", Name: "read", ID: "9", Bytes: 80, Call: 2, Origin: 1, Trace: trace},
		{Seq: 3, Time: at, Upstream: "files", Kind: traffic.Notification, Method: "notifications/message"},
		{Seq: 4, Time: at, Upstream: "files", Session: "c4", Kind: traffic.Result, ToolError: true, Method: "tools/call", Name: "read", Bytes: 70, Request: 2, Milliseconds: 30, Call: 2, Origin: 1},
		{Seq: 5, Time: at, Client: "editor", Session: "s1", Kind: traffic.Result, ToolError: true, Method: "tools/call", Name: "files__read", Bytes: 75, Request: 1, Milliseconds: 35, Call: 1},
		{Seq: 6, Time: at, FromClient: true, Client: "other", Session: "s2", Kind: traffic.Request, Method: "tools/list", ID: "1", Call: 6},
		{Seq: 7, Time: at, Client: "other", Session: "s2", Kind: traffic.Result, Method: "tools/list", Request: 6, Milliseconds: 1, Call: 6},
	}
}

func TestTrafficIsShownInLanes(t *testing.T) {
	t.Parallel()
	body := enter(t, newConsole(t, &source{messages: oneCall()})).get("traffic")
	for _, want := range []string{
		`class="arrow client right"`, `class="arrow server right"`, `class="arrow server left"`, `class="arrow client left"`, "editor → host", "host → files", "files → host", "host → editor",
		"<b>files/read</b>", "the tool failed", "35 ms", "anna", "7 of 7 messages",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	if strings.Index(body, `id="m7"`) > strings.Index(body, `id="m1"`) {
		t.Error("got the oldest first, want the newest")
	}
	if longest := body[strings.Index(body, "How long requests took"):]; !strings.Contains(longest, "30 ms") || strings.Index(longest, "files/read") > strings.Index(longest, "tools/list") {
		t.Errorf("got %s, want the slowest first", longest)
	}
}

func TestTrafficIsFiltered(t *testing.T) {
	t.Parallel()
	b := enter(t, newConsole(t, &source{messages: oneCall()}))
	for query, want := range map[string]string{
		"":                                       "7 6 5 4 3 2 1",
		"server=files":                           "4 3 2",
		"server=" + url.QueryEscape("(clients)"): "7 6 5 1",
		"method=tools/list":                      "7 6",
		"session=s1":                             "5 1",
		"failed=1":                               "5 4",
		"q=files/READ+editor":                    "5 1",
		"q=anna":                                 "1",
		"until=4":                                "4 3 2 1",
		"principal=anna":                         "5 4 2 1", // with what was done for her
		"call=1":                                 "5 4 2 1",
		"call=2":                                 "5 4 2 1",
		"call=6":                                 "7 6",
		"server=files&failed=1&q=nobody":         "",
		"until=x&call=-1":                        "7 6 5 4 3 2 1",
	} {
		if got := shownMessages(b.get("traffic?" + query)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: got %q, want %s", query, got, want)
		}
	}
}

func TestPausedTrafficStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{messages: oneCall()[:5]}
		b := enter(t, newConsole(t, s))
		body := b.get("traffic?failed=1")
		paused := regexp.MustCompile(`id="pause" href="[^"]*/traffic\?([^"]+)"`).FindStringSubmatch(body)[1]
		if paused = strings.ReplaceAll(paused, "&amp;", "&"); paused != "failed=1&until=5" {
			t.Fatalf("got %s, want the same filter and the newest message", paused)
		}
		live, still := b.listen(t.Context(), "traffic?failed=1"), b.listen(t.Context(), "traffic?"+paused)
		<-live.events
		<-still.events
		s.mu.Lock()
		s.messages = append(oneCall()[:5], traffic.Message{Seq: 6, Kind: traffic.Error, Method: "ping"})
		s.mu.Unlock()
		time.Sleep(2 * time.Second)
		if got := <-live.events; !strings.HasPrefix(got, "event: change") {
			t.Errorf("got %q, want the new message", got)
		}
		if body := b.get("traffic?" + paused); strings.Contains(body, `id="m6"`) || !strings.Contains(body, ">Go on<") {
			t.Errorf("got %s, want what was there", body)
		}
	})
}

func TestTrafficPageIsLimited(t *testing.T) {
	t.Parallel()
	s := new(source)
	for i := range traffic.Capacity {
		s.messages = append(s.messages, traffic.Message{Seq: uint64(i + 1), Kind: traffic.Request, Method: fmt.Sprint("m", i)})
	}
	body := enter(t, newConsole(t, s)).get("traffic")
	if got := strings.Count(body, `<tr id="m`); got != console.MaxMessages || !strings.Contains(body, "200 of 1000 messages") {
		t.Errorf("got %d messages, want %d", got, console.MaxMessages)
	}
}

func TestPingsAndProgressAreShownOnRequest(t *testing.T) {
	t.Parallel()
	b := enter(t, newConsole(t, &source{messages: []traffic.Message{
		{Seq: 1, Kind: traffic.Request, Method: "tools/call", Call: 1},
		{Seq: 2, Kind: traffic.Notification, Method: "notifications/progress"},
		{Seq: 3, Kind: traffic.Request, Method: "ping", Call: 3},
		{Seq: 4, Kind: traffic.Result, Method: "ping", Request: 3, Call: 3},
		{Seq: 5, Kind: traffic.Error, Method: "ping", Request: 3, Call: 3},
	}}))
	for query, want := range map[string]string{"": "5 1", "all=1": "5 4 3 2 1", "method=ping": "5 4 3", "call=3": "5 4 3"} {
		if got := shownMessages(b.get("traffic?" + query)); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: got %q, want %s", query, got, want)
		}
	}
}

func TestDistributionOfDurationsIsShown(t *testing.T) {
	t.Parallel()
	var messages []traffic.Message
	for i := range 100 {
		messages = append(messages,
			traffic.Message{Seq: uint64(2*i + 1), Kind: traffic.Result, Method: "tools/call", Request: 1, Milliseconds: float64(i + 1)},
			traffic.Message{Seq: uint64(2*i + 2), Kind: traffic.Result, Method: "tools/call", Request: 1, Milliseconds: 5000, Upstream: "slow"})
	}
	b := enter(t, newConsole(t, &source{messages: messages}))
	for query, want := range map[string]string{
		"":            "half of 100 at most 50 ms, 90 of 100 90 ms, 99 of 100 99 ms",
		"server=slow": "half of 100 at most 5.0 s",
	} {
		if body := b.get("traffic?" + query); !strings.Contains(body, want) {
			t.Errorf("%s: got %s, want %s", query, body, want)
		}
	}
	body := b.get("traffic")
	for _, want := range []string{`>1ms</th><td class="number">1<`, `>30ms</th><td class="number">20<`, `>100ms</th><td class="number">70</td><td><svg class="gauge" viewBox="0 0 240 12" preserveAspectRatio="none" aria-hidden="true"><rect width="240"`} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
}

// shownMessages returns the numbers of the messages of a page, in their order.
func shownMessages(body string) (seqs []string) {
	for _, m := range regexp.MustCompile(`<tr id="m(\d+)"`).FindAllStringSubmatch(body, -1) {
		seqs = append(seqs, m[1])
	}
	return seqs
}
