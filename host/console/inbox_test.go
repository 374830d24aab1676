package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
)

// hostileInbox is an inbox whose texts are all one.
func hostileInbox(text string) console.Inbox {
	return console.Inbox{
		Codes:      []console.CommandCode{{About: text, Code: "123456"}},
		CodesShown: true, Problem: text,
		Questions: []console.Question{{ID: "7", Text: text, Details: []console.Detail{{Name: text, Text: text}}, Client: text, Principal: text, NeedsCode: true, ReadOnly: true}},
		SignIns:   []console.Server{{Status: host.Status{Key: "cloud", State: host.NeedsSignIn, Reason: text, MissingScopes: []string{text}}}},
		Approvals: []console.Approval{
			{ID: "a1", Title: text, Covers: text},
			{ID: "a2", Title: text, Version: text, Before: "1", Changes: []console.Change{{Kind: "tool", Change: "changed", Name: text, OldName: text, Findings: []string{text}, Diff: "+ " + strings.ReplaceAll(text, "\n", " ")}}},
		},
	}
}

func TestWhatIsDecidedAboutIsInNoBoxThatScrolls(t *testing.T) {
	t.Parallel()
	_, style := serve(newConsole(t, &source{}), request(http.MethodGet, "/console/assets/console.css", nil))
	for _, rule := range regexp.MustCompile(`(?m)^([^{}\n]*(?:\.details|#live-inbox)[^{}\n]*)\{([^}]*)\}`).FindAllStringSubmatch(style, -1) {
		if strings.Contains(rule[2], "overflow: auto") || strings.Contains(rule[2], "max-height") && !strings.Contains(rule[2], "max-height: none") {
			t.Errorf("got %q, want it whole", rule[0])
		}
	}
	if !strings.Contains(style, "#live-inbox pre { max-height: none; }") {
		t.Error("want what an approval covers whole")
	}
}

func TestInboxShowsWhatWaitsAndForWhom(t *testing.T) {
	t.Parallel()
	asked := time.Date(2026, 11, 28, 9, 30, 0, 0, time.Local)
	s := &source{inbox: console.Inbox{
		Questions: []console.Question{{
			ID: "7", Text: "Allow a call of files/write?", Details: []console.Detail{{Name: "arguments", Text: `{"path":"a"}`}},
			Client: "editor 1.2", Principal: "anna", Created: asked, Expires: asked.Add(10 * time.Minute),
		}},
		Approvals: []console.Approval{
			{ID: "a1", Title: "weather", Covers: "program    /usr/bin/weather", Command: "fondaco approve weather"},
			{ID: "a2", Title: "files", Changes: []console.Change{{Kind: "tool", Change: "changed", Name: "read", Diff: "- Reads.\n+ Reads and sends.", Findings: []string{"asks for a secret"}}}},
		},
	}}
	b := enter(t, newConsole(t, s))
	body := b.get("inbox")
	for _, want := range []string{
		"Allow a call of files/write?", "&#34;path&#34;", "asked by editor 1.2 for anna at 09:30:00; it waits until 09:40:00", "Start weather?", "/usr/bin/weather", "fondaco approve weather",
		"Approve what files lists?", `<span class="removed">- Reads.`, `<span class="added">&#43; Reads and sends.`, "asks for a secret",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	if strings.Contains(body, `name="code"`) || strings.Contains(body, `value="approve"`) || strings.Contains(body, "read-only tools") {
		t.Errorf("got %s, want no code where none is shown, and no approval without one", body)
	}
	if other := b.get(""); !strings.Contains(other, `<span class="count">3`) || !strings.Contains(other, "<title>(3) Servers") {
		t.Errorf("got %s, want the number on each page", other)
	}
}

func TestInboxOffersTheSignInThatAServerWaitsFor(t *testing.T) {
	t.Parallel()
	s := &source{inbox: console.Inbox{SignIns: []console.Server{
		{Status: host.Status{Key: "cloud", State: host.NeedsSignIn, Reason: "sign-in required at https://id.example"}, Command: "fondaco auth login cloud"},
		{Status: host.Status{Key: "drive", State: host.Ready, MissingScopes: []string{"files.write"}}, Command: "fondaco auth login drive"},
		{Status: host.Status{Key: "search", State: host.NeedsSignIn, WantsKey: true, Reason: "HTTP 401"}, Command: "fondaco set search"},
	}}}
	b := enter(t, newConsole(t, s))
	body := b.get("inbox")
	for _, want := range []string{
		"Sign in to cloud?", "sign-in required at https://id.example", "<code data-copy>fondaco auth login cloud</code>", "servers/cloud/signin",
		"Sign in to drive?", "<code>files.write</code>. A sign-in requests them. Other calls go on.", "servers/drive/signin",
		"Give search another key?", "<code data-copy>fondaco set search</code>",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	if strings.Contains(body, "servers/search/signin") || strings.Contains(body, "Nothing waits") {
		t.Errorf("got %s, want no sign-in where a key is wanted", body)
	}
	if other := b.get(""); !strings.Contains(other, `<span class="count">3`) {
		t.Errorf("got %s, want the number on each page", other)
	}
	if response, _ := b.post("servers/drive/signin"); response.StatusCode != 303 || response.Header.Get("Location") != b.path+"servers/drive" || !slices.Equal(s.did, []string{"sign in drive"}) {
		t.Errorf("got %v, %v, want the sign-in of the page of the server", response, s.did)
	}
}

func TestInboxPassesOnWhatTheUserDecides(t *testing.T) {
	t.Parallel()
	s := &source{inbox: hostileInbox("x")}
	b := enter(t, newConsole(t, s))
	for _, post := range []struct{ page, fields, want, did string }{
		{"inbox/questions/7", "answer=allow for=1h code=123456", `answer 7 true "1h" "123456"`, "answered"},
		{"inbox/questions/7", "answer=deny for=always code=123456", `answer 7 false "" "123456"`, "answered"},
		{"inbox/questions/7", "for=always", `answer 7 false "" ""`, "answered"},
		{"inbox/approvals/a1", "do=code code=", "show a code for a1", "code"},
		{"inbox/approvals/a1", "do=approve code=123456", `approve a1 "123456"`, "approved"},
	} {
		s.did = nil
		response, _ := b.post(post.page, fieldsOf(post.fields)...)
		if location := response.Header.Get("Location"); response.StatusCode != 303 || !slices.Equal(s.did, []string{post.want}) || location != b.path+"inbox?did="+post.did {
			t.Errorf("%s %s: got %d to %s, %q, want %s", post.page, post.fields, response.StatusCode, location, s.did, post.want)
		}
		if body := b.get("inbox?did=" + post.did); !strings.Contains(body, `role="status">`) {
			t.Errorf("%s: got %s, want what was done", post.did, body)
		}
	}
	s.failure = errors.New("want the code")
	if response, body := b.post("inbox/approvals/a1", "do", "approve"); response.StatusCode != http.StatusConflict || !strings.Contains(body, "Nothing was changed: want the code") {
		t.Errorf("got %d, %s, want the reason", response.StatusCode, body)
	}
}

// fieldsOf returns names and values in turn.
func fieldsOf(text string) (fields []string) {
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		fields = append(fields, name, value)
	}
	return fields
}

func TestOpenPagesAreToldWhatWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &source{servers: twoServers()}
		c := newConsole(t, s)
		b := enter(t, c)
		if c.IsOpen() {
			t.Error("got an open console, want none without a page")
		}
		live := b.listen(t.Context(), "")
		<-live.events
		if !c.IsOpen() {
			t.Error("got no open console, want one")
		}
		s.mu.Lock()
		s.inbox = hostileInbox("x")
		s.mu.Unlock()
		time.Sleep(2 * time.Second)
		if got := <-live.events; !strings.HasPrefix(got, "event: change\n") {
			t.Errorf("got %q, want the number in the navigation to change", got)
		}
		c.Close()
		synctest.Wait()
		if c.IsOpen() {
			t.Error("got an open console, want none after its end")
		}
	})
}

// What is asked while the browser goes from one page to the next is not refused because nobody looks.
func TestConsoleIsOpenBetweenTwoPages(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsole(t, &source{servers: twoServers()})
		b := enter(t, c)
		ctx, leave := context.WithCancel(t.Context())
		<-b.listen(ctx, "").events
		leave()
		synctest.Wait()
		time.Sleep(console.NextPageTime - time.Second)
		if !c.IsOpen() {
			t.Errorf("got no open console %v after its page, want one", console.NextPageTime-time.Second)
		}
		time.Sleep(time.Second)
		if c.IsOpen() {
			t.Errorf("got an open console %v after its last page, want none", console.NextPageTime)
		}
	})
}

func TestManyQuestionsAreShown(t *testing.T) {
	t.Parallel()
	s := &source{}
	for i := range 1024 {
		s.inbox.Questions = append(s.inbox.Questions, console.Question{ID: fmt.Sprint(i), Text: strings.Repeat("<i>", 100)})
	}
	if got := strings.Count(enter(t, newConsole(t, s)).get("inbox"), "<article"); got != 1024 {
		t.Errorf("got %d questions, want all", got)
	}
}

func TestInboxShowsTheCodesThatTheAnswerCommandNeeds(t *testing.T) {
	t.Parallel()
	b := enter(t, newConsole(t, &source{inbox: console.Inbox{Questions: []console.Question{
		{ID: "7", Text: "Allow a call of files/write?", Code: "111111"},
		{ID: "8", Text: `The server "hotel" asks you to fill in a form`, Code: "222222", Server: &console.ServerQuestion{Form: []byte(`{"type":"object","properties":{}}`)}},
		{ID: "9", Text: "Allow a call of files/read?"},
	}}}))
	body := b.get("inbox")
	for _, want := range []string{"<code>fondaco answer 7</code> needs the code 111111", "<code>fondaco answer 8</code> needs the code 222222"} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
	if strings.Contains(body, "fondaco answer 9") {
		t.Errorf("got %s, want no code where none is needed", body)
	}
}
