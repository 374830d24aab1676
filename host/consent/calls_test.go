package consent_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// desk is a host with a person who watches, or who does not.
type desk struct {
	*consent.Calls
	store   mcp.Store
	mu      sync.Mutex
	records []host.Decision
	fail    error // of the audit log
}

func (d *desk) record(one host.Decision) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fail != nil {
		return d.fail
	}
	d.records = append(d.records, one)
	return nil
}

// lines returns what was recorded.
func (d *desk) lines() (lines []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.records {
		lines = append(lines, fmt.Sprintf("%s %s/%s %s grant %s by %s", r.Action, r.Upstream, r.Name, r.Outcome, r.Grant, r.GrantedBy))
	}
	return lines
}

func newDesk(store mcp.Store, watched bool) *desk {
	d := &desk{store: store}
	d.Calls = consent.NewCalls(store, consent.CallOptions{OnDecision: d.record, Watched: func(context.Context) bool { return watched }})
	return d
}

// answer answers a question as a person does.
func (d *desk) answer(t *testing.T, id string, allow bool, scope string) {
	t.Helper()
	if err := d.Answer(t.Context(), id, answerOf(allow, scope)); err != nil {
		t.Error(err)
	}
}

func answerOf(allow bool, scope string) consent.Answer {
	return consent.Answer{Content: consent.CallAnswer(allow, scope), By: "ada", How: host.GrantedByTerminal}
}

// request is a call of files/write by the local user.
func request(change ...func(*host.ConsentRequest)) *host.ConsentRequest {
	r := &host.ConsentRequest{
		Principal: mcp.PrincipalLocal, Client: "editor 1", Upstream: &host.Upstream{Key: "files", Target: mcpclient.Command("files")},
		Tool: mcp.Tool{Name: "write"}, Fingerprint: "f1", Arguments: jsontext.Value(`{"path":"a","mode":1}`),
	}
	for _, c := range change {
		c(r)
	}
	return r
}

// ask makes a call that must be refused with a question, and returns its number.
func (d *desk) ask(t *testing.T, r *host.ConsentRequest) string {
	t.Helper()
	_, err := d.Consent(t.Context(), r)
	refused, ok := errors.AsType[*host.NoConsentError](err)
	if !ok || refused.Declined || refused.Question == "" {
		t.Fatalf("got %v, want a question that waits", err)
	}
	return refused.Question
}

// allowed reports whether a call is allowed without a person who answers.
func (d *desk) allowed(t *testing.T, r *host.ConsentRequest) bool {
	t.Helper()
	given, err := d.Consent(t.Context(), r)
	if refused, ok := errors.AsType[*host.NoConsentError](err); ok && !refused.Declined {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	if given.Grant == "" || given.By != "ada" || given.How != host.GrantedByTerminal {
		t.Errorf("got %+v, want who has allowed it", given)
	}
	return true
}

func TestCallWaitsForTheAnswerOfAPerson(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		after time.Duration
		allow bool
		want  string // of the error
	}{
		{10 * time.Second, true, ""},
		{10 * time.Second, false, "the user said no"},
		{49 * time.Second, true, ""},
		{51 * time.Second, true, "a person has to allow call 1 in Fondaco (its terminal, inbox or notification); do not answer it yourself; call again afterwards"},
		{51 * time.Second, false, "a person has to allow call 1 in Fondaco (its terminal, inbox or notification); do not answer it yourself; call again afterwards"},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(new(mcpserver.MemoryStore), true)
			asked := ""
			r := request(func(r *host.ConsentRequest) { r.OnQuestion = func(id string) { asked = id } })
			time.AfterFunc(test.after, func() { d.answer(t, "1", test.allow, "") })
			begin := time.Now()
			given, err := d.Consent(t.Context(), r)
			if took := time.Since(begin); took != min(test.after, 50*time.Second) {
				t.Errorf("%+v: took %v", test, took)
			}
			if asked != "1" || test.want == "" && (err != nil || given.By != "ada") || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%+v: got %+v, %v, question %s", test, given, err, asked)
			}
			time.Sleep(time.Minute)
		})
	}
}

func TestCallDoesNotWaitIfNobodyIsShownTheQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(new(mcpserver.MemoryStore), false)
		begin := time.Now()
		id := d.ask(t, request())
		if time.Since(begin) != 0 {
			t.Errorf("waited for %v, want the refusal at once", time.Since(begin))
		}
		if again := d.ask(t, request()); again != id {
			t.Errorf("got question %s for the identical call, want %s again", again, id)
		}
		d.answer(t, id, true, "")
		if !d.allowed(t, request()) {
			t.Error("the call is refused after the yes")
		}
	})
}

func TestYesHoldsOnceForTheIdenticalCallWithinTenMinutes(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-220")
	others := map[string]func(*host.ConsentRequest){
		"argument":   func(r *host.ConsentRequest) { r.Arguments = jsontext.Value(`{"path":"b","mode":1}`) },
		"tool":       func(r *host.ConsentRequest) { r.Tool.Name = "delete" },
		"definition": func(r *host.ConsentRequest) { r.Fingerprint = "f2" },
		"no digest":  func(r *host.ConsentRequest) { r.Fingerprint = "" },
		"server":     func(r *host.ConsentRequest) { r.Upstream = &host.Upstream{Key: "other", Target: r.Upstream.Target} },
		"program": func(r *host.ConsentRequest) {
			r.Upstream = &host.Upstream{Key: "files", Target: mcpclient.Command("files", "--root=/")}
		},
		"address": func(r *host.ConsentRequest) {
			r.Upstream = &host.Upstream{Key: "files", Target: mcpclient.URL("https://files.example")}
		},
		"principal": func(r *host.ConsentRequest) { r.Principal = mcp.PrincipalAnonymous },
		"client of the same user": func(r *host.ConsentRequest) {
			r.Principal = mcp.Principal{Issuer: "i", Subject: "local"}
		},
	}
	for name, change := range others {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(new(mcpserver.MemoryStore), false)
			d.answer(t, d.ask(t, request()), true, "")
			if d.allowed(t, request(change)) {
				t.Errorf("another %s is allowed, too", name)
			}
			if name == "definition" || name == "no digest" {
				return // the grant has ended with its definition
			}
			same := request(func(r *host.ConsentRequest) { r.Arguments = jsontext.Value(` {"mode": 1, "path":"a"}`) })
			if !d.allowed(t, same) {
				t.Errorf("%s: the identical call is refused", name)
			}
			if d.allowed(t, request()) {
				t.Error("a second call is allowed by the same yes")
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(new(mcpserver.MemoryStore), false)
		d.answer(t, d.ask(t, request()), true, "")
		time.Sleep(10*time.Minute - time.Second)
		if !d.allowed(t, request()) {
			t.Error("refused before ten minutes are over")
		}
		d.answer(t, d.ask(t, request()), true, "once")
		time.Sleep(10 * time.Minute)
		if d.allowed(t, request()) {
			t.Error("allowed after ten minutes")
		}
		late := d.ask(t, request())
		time.Sleep(10 * time.Minute)
		if err := d.Answer(t.Context(), late, answerOf(true, "")); !errors.Is(err, consent.ErrUnknown) {
			t.Errorf("got %v, want a late answer refused", err)
		}
	})
}

// Two hosts with one store get many identical calls at once.
func TestOneConsentRunsOneOfManyIdenticalCalls(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-220")
	synctest.Test(t, func(t *testing.T) {
		store := new(mcpserver.MemoryStore)
		hosts := []*desk{newDesk(store, true), newDesk(store, true)}
		var mu sync.Mutex
		allowed, refused, calls := 0, 0, sync.WaitGroup{}
		for i := range 40 {
			calls.Go(func() {
				_, err := hosts[i%2].Consent(t.Context(), request())
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					allowed++
				} else if _, ok := errors.AsType[*host.NoConsentError](err); ok { // some may find too many questions of their caller
					refused++
				}
			})
		}
		synctest.Wait()
		open, err := hosts[0].Queue.List(t.Context())
		if err != nil || len(open) == 0 {
			t.Fatalf("got %v, %v, want a question", open, err)
		}
		for range 3 { // a person says yes three times
			open, _ := hosts[0].Queue.List(t.Context())
			hosts[0].answer(t, open[0].ID, true, "")
			time.Sleep(time.Second)
		}
		calls.Wait()
		if allowed != 3 || refused != 37 {
			t.Errorf("%d calls were allowed and %d refused, want one allowed for each yes", allowed, refused)
		}
	})
}

// racingStore calls meanwhile once, after a grant was read and before it is used.
type racingStore struct {
	mcp.Store
	meanwhile func()
}

func (s *racingStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	value, found, err := s.Store.Get(ctx, key)
	if run := s.meanwhile; run != nil && found && strings.HasPrefix(key, "grants/") {
		s.meanwhile = nil
		run()
	}
	return value, found, err
}

func TestGrantForOneCallIsUsedOnceByTwoHosts(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-220")
	store := new(mcpserver.MemoryStore)
	racing := &racingStore{Store: store}
	first, second := newDesk(racing, false), newDesk(store, false)
	first.answer(t, first.ask(t, request()), true, "")
	others := false
	racing.meanwhile = func() { others = second.allowed(t, request()) }
	if own := first.allowed(t, request()); own || !others {
		t.Errorf("allowed %v by the first host and %v by the other, want one call allowed", own, others)
	}
}

func TestFirstAnswerCounts(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-220")
	d := newDesk(new(mcpserver.MemoryStore), false)
	id := d.ask(t, request())
	d.answer(t, id, false, "")
	if err := d.Answer(t.Context(), id, answerOf(true, "always")); !errors.Is(err, consent.ErrAnswered) {
		t.Errorf("got %v, want a second answer refused", err)
	}
	if d.allowed(t, request()) {
		t.Error("the call is allowed after a no")
	}
}

func TestGrantsHoldAsLongAsTheAnswerSays(t *testing.T) {
	t.Parallel()
	inSession := func(id string) func(*host.ConsentRequest) {
		return func(r *host.ConsentRequest) { r.Session = id }
	}
	anything := func(*host.ConsentRequest) {}
	for _, test := range []struct {
		scope  string
		asked  func(*host.ConsentRequest)
		after  time.Duration
		called func(*host.ConsentRequest)
		want   bool
	}{
		{scope: "session", asked: inSession("s1"), after: 3 * time.Hour, called: inSession("s1"), want: true},
		{scope: "session", asked: inSession("s1"), called: inSession("s2")},
		{scope: "session", asked: inSession("s1"), called: anything},
		{scope: "session", asked: inSession("s1"), after: 25 * time.Hour, called: inSession("s1")},
		{scope: "session", asked: anything, after: 59 * time.Minute, called: anything, want: true},
		{scope: "session", asked: anything, after: time.Hour, called: anything},
		{scope: "1h", asked: inSession("s1"), after: 59 * time.Minute, called: inSession("s2"), want: true},
		{scope: "1h", asked: inSession("s1"), after: time.Hour, called: inSession("s1")},
		{scope: "always", asked: inSession("s1"), after: 1000 * time.Hour, called: anything, want: true},
		{scope: "always", asked: anything, called: func(r *host.ConsentRequest) { r.Arguments = nil }},
	} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(new(mcpserver.MemoryStore), false)
			d.answer(t, d.ask(t, request(test.asked)), true, test.scope)
			time.Sleep(test.after)
			for range 2 {
				if got := d.allowed(t, request(test.called)); got != test.want {
					t.Errorf("%s after %v: got allowed %v, want %v", test.scope, test.after, got, test.want)
				}
			}
		})
	}
}

func TestSessionGrantEndsWithTheTokenOfTheCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(new(mcpserver.MemoryStore), false)
		r := request(func(r *host.ConsentRequest) { r.Expires = time.Now().Add(20 * time.Minute) })
		d.answer(t, d.ask(t, r), true, "session")
		time.Sleep(19 * time.Minute)
		if !d.allowed(t, r) {
			t.Error("refused while the token holds")
		}
		time.Sleep(time.Minute)
		if d.allowed(t, r) {
			t.Error("allowed after the token has expired")
		}
	})
}

func TestGrantEndsWhenTheDefinitionChanges(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-220")
	d := newDesk(new(mcpserver.MemoryStore), false)
	d.answer(t, d.ask(t, request()), true, "always")
	changed := request(func(r *host.ConsentRequest) { r.Fingerprint = "f2" })
	if d.allowed(t, changed) {
		t.Error("the changed tool is allowed")
	}
	if d.allowed(t, request()) {
		t.Error("the grant is back with the old definition, want it ended")
	}
	if got := d.lines(); got[len(got)-1] != "revoke files/write done grant 1 by ada" {
		t.Errorf("got %q, want the end recorded", got)
	}
}

func TestGrantHoldsForTheServerAsItIsConfigured(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-220")
	text := func(written string) host.Text { return host.Text{Written: written} }
	reference := host.Text{Written: "Bearer ${env:TOKEN}", References: []host.Reference{{Kind: host.VariableReference, Name: "TOKEN"}}}
	at := func(url string, s host.Source) func(*host.ConsentRequest) {
		s.URL = text(url)
		return func(r *host.ConsentRequest) {
			r.Upstream = &host.Upstream{Key: "files", Target: mcpclient.URL(url), Source: &s}
		}
	}
	run := func(s host.Source) func(*host.ConsentRequest) {
		return func(r *host.ConsentRequest) {
			r.Upstream = &host.Upstream{Key: "files", Target: mcpclient.Command("files"), Source: &s}
		}
	}
	const url = "https://db.example.com/mcp"
	before := at(url+"?project=test", host.Source{Headers: map[string]host.Text{"Authorization": reference, "Region": text("eu")}})
	for name, test := range map[string]struct {
		before, after func(*host.ConsentRequest)
		want          bool
	}{
		"the same":          {before, before, true},
		"another query":     {before, at(url+"?project=live", host.Source{Headers: map[string]host.Text{"Authorization": reference, "Region": text("eu")}}), false},
		"another header":    {before, at(url+"?project=test", host.Source{Headers: map[string]host.Text{"Authorization": reference, "Region": text("us")}}), false},
		"the same variable": {run(host.Source{Env: map[string]host.Text{"DB": text("test")}}), run(host.Source{Env: map[string]host.Text{"DB": text("test")}}), true},
		"another variable":  {run(host.Source{Env: map[string]host.Text{"DB": text("test")}}), run(host.Source{Env: map[string]host.Text{"DB": text("live")}}), false},
	} {
		d := newDesk(new(mcpserver.MemoryStore), false)
		d.answer(t, d.ask(t, request(test.before)), true, "always")
		if got := d.allowed(t, request(test.after)); got != test.want {
			t.Errorf("%s: got allowed %v, want %v", name, got, test.want)
		}
	}
}

func TestQuestionSaysWhatTheServerSaysOfTheTool(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		annotations *mcp.ToolAnnotations
		want        string
	}{
		{nil, "its server does not say whether it destroys or overwrites something"},
		{&mcp.ToolAnnotations{DestructiveHint: new(true)}, "its server says that it may destroy or overwrite something"},
		{&mcp.ToolAnnotations{DestructiveHint: new(false)}, "its server claims that it adds and destroys nothing"},
	} {
		d := newDesk(new(mcpserver.MemoryStore), false)
		id := d.ask(t, request(func(r *host.ConsentRequest) { r.Tool.Annotations = test.annotations }))
		if q, err := d.Queue.Get(t.Context(), id); err != nil || !strings.Contains(fmt.Sprint(q.Details), test.want) {
			t.Errorf("got %+v, %v, want %q", q, err, test.want)
		}
	}
}

func TestReadOnlyGrantCoversTheToolsThatWereShown(t *testing.T) {
	t.Parallel()
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: new(true)}
	tools := map[string]mcp.Fingerprint{"read": "r1", "list": "l1"}
	call := func(tool string, f mcp.Fingerprint, a *mcp.ToolAnnotations, args string) *host.ConsentRequest {
		return request(func(r *host.ConsentRequest) {
			r.Tool, r.Fingerprint, r.Arguments = mcp.Tool{Name: tool, Annotations: a}, f, jsontext.Value(args)
			r.ReadOnlyTools = func() map[string]mcp.Fingerprint { return tools }
		})
	}
	d := newDesk(new(mcpserver.MemoryStore), false)
	id := d.ask(t, call("read", "r1", readOnly, `{}`))
	q, err := d.Queue.Get(t.Context(), id)
	if text := fmt.Sprint(q.Details); err != nil || !strings.Contains(text, "its server claims that it changes nothing") || !strings.Contains(text, "list, read") {
		t.Errorf("got %+v, %v, want the annotation as the server's claim, and the tools", q, err)
	}
	d.answer(t, id, true, "read-only")
	for _, test := range []struct {
		tool string
		f    mcp.Fingerprint
		want bool
	}{{"read", "r1", true}, {"list", "l1", true}, {"read", "r2", false}, {"stat", "s1", false}, {"list", "", false}, {"read", "r1", true}} {
		if got := d.allowed(t, call(test.tool, test.f, readOnly, `{"a":2}`)); got != test.want {
			t.Errorf("%+v: got allowed %v", test, got)
		}
	}
	// A tool that does not claim it cannot get such a grant.
	id = d.ask(t, call("write", "w1", nil, `{}`))
	if err := d.Answer(t.Context(), id, answerOf(true, "read-only")); err == nil || !strings.Contains(err.Error(), "does not claim to be read-only") {
		t.Errorf("got %v, want it refused", err)
	}
	if d.allowed(t, call("write", "w1", nil, `{}`)) {
		t.Error("the refused answer allows the call")
	}
}

func TestAnswerThatDoesNotFitAllowsNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(new(mcpserver.MemoryStore), false)
	id := d.ask(t, request())
	for _, content := range []string{`{}`, `true`, `"yes"`, `null`, `{"allow":"yes"}`, `{"allow":1}`, `{"for":"always"}`, ``} {
		if err := d.Answer(t.Context(), id, consent.Answer{Content: jsontext.Value(content), By: "ada"}); err == nil {
			t.Errorf("%s is accepted as an answer", content)
		}
	}
	q, err := d.Queue.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, scope := range []string{"ever", "-1h", "1s", "10000h", "Always"} {
		if err := d.Check(q, answerOf(true, scope)); err == nil {
			t.Errorf("the scope %q is accepted", scope)
		}
	}
	if d.allowed(t, request()) {
		t.Error("the call is allowed")
	}
}

func TestAnswerThatCannotBeRecordedAllowsNothing(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-220")
	for _, scope := range []string{"once", "always"} {
		d := newDesk(new(mcpserver.MemoryStore), false)
		id := d.ask(t, request())
		d.fail = errors.New("no space left")
		if err := d.Answer(t.Context(), id, answerOf(true, scope)); !errors.Is(err, d.fail) {
			t.Errorf("got %v, want %v", err, d.fail)
		}
		d.fail = nil
		if d.allowed(t, request()) {
			t.Error("the call is allowed")
		}
	}
}

func TestAnswersGrantsAndTheirEndAreRecorded(t *testing.T) {
	t.Parallel()
	d := newDesk(new(mcpserver.MemoryStore), false)
	d.answer(t, d.ask(t, request()), true, "")
	_ = d.allowed(t, request())
	d.answer(t, d.ask(t, request()), false, "")
	d.answer(t, d.ask(t, request()), true, "always")
	grants, err := d.Grants.List(t.Context())
	if err != nil || len(grants) != 1 || grants[0].ID != "3" || grants[0].Scope != consent.Always || grants[0].Server != "files" || grants[0].Tool != "write" {
		t.Errorf("got %+v, %v, want the one grant", grants, err)
	}
	if _, err := d.Revoke(t.Context(), func(g *consent.Grant) bool { return g.ID == "3" }, "by the user"); err != nil {
		t.Fatal(err)
	}
	if d.allowed(t, request()) {
		t.Error("the call is allowed after the grant was revoked")
	}
	want := []string{
		"consent files/write done grant 1 by ada", "consent files/write refused grant 2 by ada",
		"grant files/write done grant 3 by ada", "revoke files/write done grant 3 by ada",
	}
	if got := d.lines(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCallerThatGivesUpIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(new(mcpserver.MemoryStore), true)
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Second, func() { cancel(gone) })
		if _, err := d.Consent(ctx, request()); err != gone {
			t.Errorf("got %v, want %v", err, gone)
		}
		d.answer(t, "1", true, "")
		if !d.allowed(t, request()) {
			t.Error("the same call is refused after the yes")
		}
	})
}

func TestGrantsAndQuestionsOfARevokedCallerEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(new(mcpserver.MemoryStore), false)
	as := func(subject string) func(*host.ConsentRequest) {
		return func(r *host.ConsentRequest) { r.Principal = mcp.Principal{Issuer: "tokens", Subject: subject} }
	}
	for _, who := range []string{"ada", "bob"} {
		d.answer(t, d.ask(t, request(as(who))), true, "always")
		d.ask(t, request(as(who), func(r *host.ConsentRequest) { r.Arguments = nil }))
	}
	grants, questions, err := d.RevokeCaller(t.Context(), func(p mcp.Principal, client string) bool { return p.Subject == "ada" && client == "editor 1" }, "by ada")
	if grants != 1 || questions != 1 || err != nil {
		t.Errorf("got %d grants and %d questions ended, %v, want one each", grants, questions, err)
	}
	if d.allowed(t, request(as("ada"))) || !d.allowed(t, request(as("bob"))) {
		t.Error("want the grants of the other kept, and those of the revoked ended")
	}
}

func TestGrantShowsItsArgumentsOnlyIfTheSettingsAllowText(t *testing.T) {
	t.Parallel()
	long := jsontext.Value(`{"path":"\u202ea","password":"CANARY","note":"token=CANARY","text":"` + strings.Repeat("x", 1000) + `"}`)
	for name, test := range map[string]struct {
		patterns  []string
		scope     string
		arguments jsontext.Value
		want      string
	}{
		"allowed":       {[]string{"write"}, "always", nil, `{"path":"a","mode":1}`},
		"for a session": {[]string{"w*"}, "1h", nil, `{"path":"a","mode":1}`},
		"read-only":     {[]string{"write"}, "read-only", nil, ""},
		"not allowed":   {[]string{"read"}, "always", nil, ""},
		"long":          {[]string{"*"}, "always", long, `{"path":"\u202ea","password":"[hidden]","note":"token=[hidden]","text":"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(new(mcpserver.MemoryStore), false)
			d.answer(t, d.ask(t, request(func(r *host.ConsentRequest) {
				r.Upstream.Settings.AuditArguments = test.patterns
				r.Tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: new(true)}
				r.ReadOnlyTools = func() map[string]mcp.Fingerprint { return map[string]mcp.Fingerprint{"write": "f1"} }
				if test.arguments != nil {
					r.Arguments = test.arguments
				}
			})), true, test.scope)
			all, err := d.Grants.List(t.Context())
			if err != nil || len(all) != 1 {
				t.Fatalf("got %v, %v, want one grant", all, err)
			}
			got := all[0].ArgumentsText
			if len(got) > 210 || strings.Contains(got, "CANARY") || (test.want == "") != (got == "") || !strings.HasPrefix(got, test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// A person who looks at the list of questions can answer, and needs no code that nobody shows.
func TestCallWaitsWhileTheListOfQuestionsIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listed := true
		calls := consent.NewCalls(new(mcpserver.MemoryStore), consent.CallOptions{Listed: func() bool { return listed }})
		ended := make(chan error, 1)
		go func() {
			_, err := calls.Consent(t.Context(), request())
			ended <- err
		}()
		synctest.Wait()
		open, err := calls.Queue.List(t.Context())
		if err != nil || len(open) != 1 || open[0].NeedsCode {
			t.Fatalf("got %+v, %v, want a question that needs no code", open, err)
		}
		if err := calls.Answer(t.Context(), open[0].ID, answerOf(true, "")); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Errorf("got %v, want the call allowed", err)
		}
		listed = false
		if _, err := calls.Consent(t.Context(), request()); err == nil {
			t.Error("got no error, want no call to wait for nobody")
		}
	})
}
