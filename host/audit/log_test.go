package audit_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/internal/claim"
)

func open(t *testing.T, o *audit.Options) (*audit.Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	if o == nil {
		o = new(audit.Options)
	}
	if o.Key == nil {
		o.Key = func(context.Context) ([]byte, error) { return testKey, nil }
	}
	l, err := audit.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

var testKey = []byte("0123456789abcdef0123456789abcdef")

func verify(t *testing.T, path string) *audit.Report {
	t.Helper()
	r, err := audit.Verify(t.Context(), path, testKey, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEachDecisionIsOneLine(t *testing.T) {
	t.Parallel()
	l, path := open(t, nil)
	d := host.Decision{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Principal: "local", Upstream: "files",
		Action: host.ActionCall, Name: "read\nfile", Outcome: host.OutcomeFailed, Reason: "no\nsuch file", Duration: 12 * time.Millisecond,
	}
	if err := l.Write(d); err != nil {
		t.Fatal(err)
	}
	want := `{"time":"2026-01-02T03:04:05Z","principal":"local","upstream":"files","action":"call","name":"read\nfile","outcome":"failed","reason":"no\nsuch file","ms":12,"writer":"`
	if got := read(t, path); !strings.HasPrefix(got, want) || !regexp.MustCompile(`"writer":"\w{12}","seq":1,"code":"[0-9a-f]{32}"}\n$`).MatchString(got) {
		t.Errorf("got %s, want %s", got, want)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file for the user alone", info.Mode(), err)
	}
}

func TestSecretsAreLeftOut(t *testing.T) {
	t.Parallel()
	l, path := open(t, nil)
	const canary = "cAnArY"
	l.Hide([]string{"known-" + canary, "known-" + canary + "-longer", "no"})
	for _, text := range []string{
		"with known-" + canary, "with known-" + canary + "-longer",
		"Authorization: Bearer " + canary + "." + canary, "basic " + canary + "==",
		"sk-" + canary + "12345678", "ghp_" + canary + "12345678", "github_pat_" + canary + "12345678", "xoxb-" + canary + "12345678",
		"eyJhbGciOi" + canary + ".eyJzdWIi" + canary + ".x" + canary,
		"https://user:" + canary + "@example.com/x", "https://example.com/?api_key=" + canary + "&x=1", "password=" + canary,
	} {
		if err := l.Write(host.Decision{Upstream: "u", Name: text, Reason: text}); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(read(t, path)) {
		if strings.Contains(line, canary) || strings.Count(line, "[hidden]") < 2 {
			t.Errorf("got %s, want the secret left out", line)
		}
	}
	if err := l.Write(host.Decision{Upstream: "u", Reason: "tool not found"}); err != nil || !strings.Contains(read(t, path), `"reason":"tool not found"`) {
		t.Errorf("got %s, %v, want plain words kept", read(t, path), err)
	}
}

func TestLinesAreCutBeforeTheyAreWritten(t *testing.T) {
	t.Parallel()
	l, path := open(t, nil)
	long := strings.Repeat("\x01ä", 1<<20)
	if err := l.Write(host.Decision{
		Principal: long, Client: long, Session: long, Upstream: long, Action: host.Action(long), Name: long, Arguments: long, ArgumentsText: jsontext.Value(`{"a":"` + strings.Repeat("ä", 1<<20) + `"}`),
		Call: long, Outcome: host.Outcome(long), Grant: long, GrantedBy: long, GrantedHow: host.GrantedHow(long), Reason: long,
	}); err != nil {
		t.Fatal(err)
	}
	line := read(t, path)
	if len(line) > 32<<10 || strings.Count(line, "…[cut]") != 13 || !utf8.ValidString(line) {
		t.Errorf("got %d bytes with %d marks, want a short line that says what was cut", len(line), strings.Count(line, "…[cut]"))
	}
	if r := verify(t, path); !r.OK() {
		t.Errorf("got %+v, want a line that can be verified", r)
	}
}

func TestFilesAreRotatedAndKept(t *testing.T) {
	t.Parallel()
	l, path := open(t, &audit.Options{MaxFile: 2000})
	for i := range 100 {
		if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(path + ".0*")
	if err != nil || len(files) < 5 {
		t.Errorf("got %v, %v, want several rotated files", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() > 2400 {
			t.Errorf("%s: got %d bytes, %v, want little more than 2000", file, info.Size(), err)
		}
	}
	if r := verify(t, path); !r.OK() || r.Lines != 100 || r.Files != len(files)+1 {
		t.Errorf("got %+v, want one chain over all files", r)
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	t.Parallel()
	one, path := open(t, &audit.Options{MaxFile: 4000})
	two, err := audit.Open(path, &audit.Options{MaxFile: 4000, Key: func(context.Context) ([]byte, error) { return testKey, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	var work sync.WaitGroup
	for _, l := range []*audit.Log{one, two, one, two} {
		work.Go(func() {
			for i := range 100 {
				if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", Name: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	if r := verify(t, path); !r.OK() || r.Lines != 400 || r.Writers != 2 || r.Files < 5 || r.Open != 2 {
		t.Errorf("got %+v, want all 400 lines in the chains of two writers", r)
	}
}

// Lines at the end of a writer that is not in the index could be removed unseen.
func TestFirstLineIsIndexedAlthoughTheFileCannotBeRotated(t *testing.T) {
	t.Parallel()
	options := &audit.Options{MaxFile: 1000, Key: func(context.Context) ([]byte, error) { return testKey, nil }}
	one, path := open(t, options)
	for range 10 {
		if err := one.Write(host.Decision{Time: time.Now(), Upstream: "u"}); err != nil {
			t.Fatal(err)
		}
	}
	unlock, err := userfile.Lock(t.Context(), path+".lock")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, unlock) // longer than the rotation waits
	two, err := audit.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	for _, l := range []*audit.Log{one, two} { // one leaves a full file
		if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u"}); err != nil {
			t.Fatal(err)
		}
	}
	if r := verify(t, path); !r.OK() || r.Writers != 2 || r.Lines != 12 {
		t.Errorf("got %+v, want all lines of two writers that are in the index", r)
	}
}

func TestFilesThatOthersCanChangeAreRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes of files")
	}
	for _, name := range []string{"state", "state/audit.jsonl"} {
		path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
		l, err := audit.Open(path, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		if err := os.Chmod(filepath.Join(filepath.Dir(filepath.Dir(path)), name), 0o777); err != nil {
			t.Fatal(err)
		}
		if l, err := audit.Open(path, nil); err == nil || !strings.Contains(err.Error(), "mode 777") {
			t.Errorf("%s: got %v, want an error that says what is wrong", name, err)
			_ = l.Close()
		}
	}
}

func TestCallsAreRefusedThatARequiredSyslogDoesNotGet(t *testing.T) {
	t.Parallel()
	l, path := open(t, &audit.Options{Key: func(context.Context) ([]byte, error) { return testKey, nil }, RequireSyslog: true})
	if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", Name: "begun", Outcome: host.OutcomeBegun}); err == nil {
		t.Error("got no error, want calls refused that a required syslog does not get")
	}
	if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", Name: "done", Outcome: host.OutcomeDone}); err != nil {
		t.Error(err)
	}
	if text := read(t, path); strings.Contains(text, "begun") || !strings.Contains(text, "done") {
		t.Errorf("got %s, want the outcome alone", text)
	}
}

func TestKeyIsAskedForAgainAfterAFailure(t *testing.T) {
	t.Parallel()
	locked := true
	l, path := open(t, &audit.Options{Key: func(context.Context) ([]byte, error) {
		if locked {
			return nil, errors.New("the keyring is locked")
		}
		return testKey, nil
	}})
	if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", Name: "early"}); err == nil || read(t, path) != "" {
		t.Errorf("got %v and %q, want nothing written without the key", err, read(t, path))
	}
	locked = false
	if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", Name: "late"}); err != nil {
		t.Error(err)
	}
	if r := verify(t, path); !r.OK() || r.Lines != 1 {
		t.Errorf("got %+v", r)
	}
}

func TestWhatHadNoEffectIsNotWrittenLater(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be renamed")
	}
	l, path := open(t, nil)
	// The file cannot be opened for a while.
	if err := errors.Join(os.Rename(path, path+".away"), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, a := range []host.Action{host.ActionApprove, host.ActionConsent, host.ActionGrant, host.ActionSwitchOn, host.ActionAddRoot, host.ActionSwitchOff, host.ActionRemoveRoot, host.ActionRestart, host.ActionRevoke, host.ActionCall} {
		if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", Action: a, Outcome: host.OutcomeDone}); err == nil {
			t.Errorf("%s: got no error", a)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", Action: host.ActionRead, Outcome: host.OutcomeDone}); err != nil {
		t.Fatal(err)
	}
	var got []host.Action
	for _, r := range records(t, path, audit.Query{}) {
		got = append(got, r.Action)
	}
	if want := []host.Action{host.ActionSwitchOff, host.ActionRemoveRoot, host.ActionRestart, host.ActionRevoke, host.ActionCall, host.ActionRead}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q: what has happened, and nothing else", got, want)
	}
}

func TestFailuresThatRepeatAreCounted(t *testing.T) {
	t.Parallel()
	l, path := open(t, nil)
	now := time.Now()
	write := func(n int, d host.Decision) {
		for range n {
			d.Time = now
			if err := l.Write(d); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(1000, host.Decision{Principal: "flood", Upstream: "a", Action: host.ActionCall, Name: "x", Outcome: host.OutcomeDenied, Reason: "unknown tool"})
	write(500, host.Decision{Principal: "flood", Upstream: "a", Action: host.ActionRead, Name: "y", Outcome: host.OutcomeFailed})
	write(200, host.Decision{Upstream: "b", Action: host.ActionOffer, Name: "z", Outcome: host.OutcomeWithheld})
	write(1, host.Decision{Principal: "other", Upstream: "a", Action: host.ActionCall, Name: "x", Outcome: host.OutcomeDenied})
	write(100, host.Decision{Principal: "flood", Upstream: "a", Action: host.ActionConsent, Name: "x", Outcome: host.OutcomeRefused})
	l.FlushRepeats()
	counts := make(map[string]int64)
	lines := 0
	for r, err := range audit.Search(t.Context(), path, testKey, &audit.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		lines++
		counts[r.Principal+" "+string(r.Action)+" "+string(r.Outcome)] += max(1, r.Count)
	}
	want := map[string]int64{"flood call denied": 1000, "flood read failed": 500, " offer needs approval": 200, "other call denied": 1, "flood consent refused": 100}
	if !maps.Equal(counts, want) || lines > 60+60+100+1+5 {
		t.Errorf("got %v in %d lines, want %v in few, and each consent by itself", counts, lines, want)
	}
}

func TestCallerWithManyNamesOfClientsHasOneShare(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-219e")
	for principal, limit := range map[string]int{`issuer="tokens" subject="ada" client=""`: 70, "anonymous": 1000} {
		l, path := open(t, nil)
		now := time.Now()
		for i := range 500 {
			d := host.Decision{Time: now, Principal: principal, Client: fmt.Sprint("client", i), Upstream: "a", Action: host.ActionCall, Name: "x", Outcome: host.OutcomeFailed}
			if err := l.Write(d); err != nil {
				t.Fatal(err)
			}
		}
		l.FlushRepeats()
		all := records(t, path, audit.Query{})
		var calls int64
		for _, r := range all {
			calls += max(1, r.Count)
		}
		if len(all) > limit || calls != 500 {
			t.Errorf("%s: got %d lines about %d calls, want at most %d about 500", principal, len(all), calls, limit)
		}
		if last := all[len(all)-1]; limit < 500 && last.Client != "" {
			t.Errorf("%s: got client %q in a line about several, want none", principal, last.Client)
		}
	}
}

// What one server does again and again is counted. What the others do meanwhile has a line each.
func TestFloodOfOneServerLosesNoOtherLine(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	l, path := open(t, nil)
	now := time.Now()
	write := func(d host.Decision) {
		d.Time = now
		if err := l.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	const others = 50
	for i := range others {
		for n := range 40 {
			for _, d := range []host.Decision{
				{Action: host.ActionOffer, Outcome: host.OutcomeWithheld},
				{Action: host.ActionOffer, Outcome: host.OutcomeDone},
				{Action: host.ActionStart, Outcome: host.OutcomeFailed},
			} {
				d.Upstream, d.Reason = "flood", fmt.Sprint("new tool ", i, " ", n)
				write(d)
			}
		}
		principal := fmt.Sprint("user", i)
		write(host.Decision{Principal: principal, Upstream: "a", Action: host.ActionCall, Name: "x", Outcome: host.OutcomeDone})
		write(host.Decision{Principal: principal, Upstream: "flood", Action: host.ActionCall, Name: "x", Outcome: host.OutcomeDenied})
		write(host.Decision{Principal: principal, Upstream: "a", Action: host.ActionConsent, Name: "x", Outcome: host.OutcomeRefused})
		write(host.Decision{Upstream: fmt.Sprint("b", i), Action: host.ActionOffer, Outcome: host.OutcomeWithheld})
	}
	l.FlushRepeats()
	flood, other, counted := 0, 0, int64(0)
	for _, r := range records(t, path, audit.Query{}) {
		if r.Upstream == "flood" && r.Principal == "" {
			flood++
			counted += max(1, r.Count)
			continue
		}
		other++
	}
	if other != 4*others || flood > 70 || counted != 40*others*3 {
		t.Errorf("got %d lines of others and %d about %d decisions of one server, want %d, and at most 70 about %d", other, flood, counted, 4*others, 40*others*3)
	}
	if r := verify(t, path); !r.OK() {
		t.Errorf("got %+v", r)
	}
}

// Callers without credentials choose their names. Many names take no place of those who have
// credentials: their failures keep the names of who failed.
func TestManyNamesOfClientsHideNobodyElse(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	l, path := open(t, nil)
	now := time.Now()
	write := func(d host.Decision) {
		d.Time, d.Upstream, d.Action, d.Name, d.Outcome = now, "a", host.ActionCall, "x", host.OutcomeDenied
		if err := l.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3000 {
		write(host.Decision{Principal: "anonymous", Client: fmt.Sprint("client", i)})
	}
	const ada = `issuer="tokens" subject="ada" client=""`
	for range 500 {
		write(host.Decision{Principal: ada})
	}
	l.FlushRepeats()
	counts := make(map[string]int64)
	for _, r := range records(t, path, audit.Query{}) {
		counts[r.Principal] += max(1, r.Count)
	}
	if want := map[string]int64{"anonymous": 3000, ada: 500}; !maps.Equal(counts, want) {
		t.Errorf("got %v, want %v", counts, want)
	}
}

func TestClosedLogTakesNothing(t *testing.T) {
	t.Parallel()
	l, _ := open(t, nil)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("got %v, want a second Close to do nothing", err)
	}
	if err := l.Write(host.Decision{}); err == nil {
		t.Error("got no error, want one")
	}
}
