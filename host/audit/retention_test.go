package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
)

func records(t *testing.T, path string, q audit.Query) (all []audit.Record) {
	t.Helper()
	for r, err := range audit.Search(t.Context(), path, testKey, &q) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func TestLargeLogSumsUpPlainLinesOfTheOwnerThatHasMost(t *testing.T) {
	t.Parallel()
	l, path := open(t, &audit.Options{MaxFile: 20_000, MaxTotal: 1 << 40})
	small, err := audit.Open(path, &audit.Options{MaxFile: 20_000, MaxTotal: 150_000, Key: func(context.Context) ([]byte, error) { return testKey, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer small.Close()
	now := time.Now()
	write := func(to *audit.Log, i int, d host.Decision) {
		d.Time = now.Add(time.Duration(i) * time.Second)
		if err := to.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	const n = 900
	for i := range n {
		write(l, i, host.Decision{Principal: "flood", Client: "c", Upstream: "a", Action: host.ActionCall, Name: fmt.Sprint("tool", i%3), Outcome: host.OutcomeDone, Duration: time.Millisecond})
		if i%10 == 0 {
			write(l, i, host.Decision{Principal: "quiet", Upstream: "a", Action: host.ActionCall, Name: "x", Outcome: host.OutcomeDone})
		}
		if i%50 == 0 {
			write(small, i, host.Decision{Principal: "flood", Client: "c", Upstream: "a", Action: host.ActionCall, Name: "x", Outcome: host.OutcomeDenied})
			write(l, i, host.Decision{Principal: "flood", Client: "c", Upstream: "a", Action: host.ActionConsent, Name: "x", Outcome: host.OutcomeDone, Grant: "g"})
			write(l, i, host.Decision{Principal: "flood", Client: "c", Upstream: "a", Action: host.ActionCall, Name: "x", Outcome: host.OutcomeDone, GrantedHow: host.GrantedByTerminal})
		}
	}
	before := size(t, path)
	if err := small.Retain(now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if after := size(t, path); after > 150_000 || after > before/2 {
		t.Errorf("got %d bytes of %d, want what fits", after, before)
	}
	r := verify(t, path)
	if !r.OK() || r.Removed < n/2 {
		t.Errorf("got %+v, want what was removed known", r)
	}
	count := func(q audit.Query, lines bool) (sum int64) {
		for _, r := range records(t, path, q) {
			if sum++; r.Count > 0 && !lines {
				sum += r.Count - 1
			}
		}
		return sum
	}
	for what, test := range map[string]struct {
		q     audit.Query
		lines bool
		want  int64
	}{
		"calls of the owner":                          {audit.Query{Person: "flood", Decision: "call", Name: "tool1"}, false, n / 3},
		"lines of another owner":                      {audit.Query{Person: "quiet"}, true, n / 10},
		"denials of the owner":                        {audit.Query{Person: "flood", Decision: "denied"}, true, n / 50},
		"consents of the owner":                       {audit.Query{Person: "flood", Decision: "consent"}, true, n / 50},
		"denials, and calls that one consent allowed": {audit.Query{Person: "flood", Decision: "call", Name: "x"}, true, 2 * n / 50},
	} {
		if got := count(test.q, test.lines); got != test.want {
			t.Errorf("%s: got %d, want %d", what, got, test.want)
		}
	}
	// Again, so that lines that count are summed up too, and files that replace others.
	for i := range n {
		write(l, n+i, host.Decision{Principal: "flood", Client: "c", Upstream: "a", Action: host.ActionCall, Name: fmt.Sprint("tool", i%3), Outcome: host.OutcomeDone})
	}
	if err := small.Retain(now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := count(audit.Query{Person: "flood", Decision: "call", Name: "tool1"}, false); got != 2*n/3 {
		t.Errorf("got %d calls, want %d", got, 2*n/3)
	}
	if r := verify(t, path); !r.OK() {
		t.Errorf("got %+v, want no problem", r)
	}
}

func TestCallerWithManyNamesOfClientsIsSummedUpBeforeOthers(t *testing.T) {
	t.Parallel()
	const total = 100_000
	l, path := open(t, &audit.Options{MaxFile: 20_000, MaxTotal: total})
	now := time.Now()
	write := func(i int, principal, client string) {
		d := host.Decision{Time: now.Add(time.Duration(i) * time.Millisecond), Principal: principal, Client: client, Upstream: "a", Action: host.ActionCall, Name: "x", Outcome: host.OutcomeDone}
		if err := l.Write(d); err != nil {
			t.Fatal(err)
		}
	}
	const n = 400
	for i := range n {
		write(i, `issuer="tokens" subject="eve" client=""`, fmt.Sprint("client", i))
		if i%4 == 0 {
			write(i, `issuer="tokens" subject="ada" client=""`, "editor")
		}
	}
	if err := l.Retain(now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := len(records(t, path, audit.Query{Person: "ada"})); got != n/4 {
		t.Errorf("got %d lines of the other caller, want all %d", got, n/4)
	}
	var calls int64
	for _, r := range records(t, path, audit.Query{Person: "eve"}) {
		calls += max(1, r.Count)
	}
	if calls != n {
		t.Errorf("got %d calls of the caller, want %d", calls, n)
	}
}

func TestLinesAreRemovedByAge(t *testing.T) {
	t.Parallel()
	o := &audit.Options{MaxFile: 5_000, Retention: 24 * time.Hour}
	gone, path := open(t, o)
	now := time.Now()
	write := func(to *audit.Log, at time.Time, n int) {
		for i := range n {
			if err := to.Write(host.Decision{Time: at, Principal: "p", Upstream: "a", Action: host.ActionConsent, Name: fmt.Sprint(i), Outcome: host.OutcomeDone}); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(gone, now.Add(-50*time.Hour), 30)
	if err := gone.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := audit.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	write(l, now.Add(-40*time.Hour), 30)
	write(l, now.Add(-2*time.Hour), 30)
	for i := range 3 { // more than once, so that old lines about removed lines are removed too
		at := now.Add(time.Duration(i) * 20 * time.Hour)
		if err := l.Retain(at); err != nil {
			t.Fatal(err)
		}
		if err := l.Retain(at); err != nil { // the file that the first one has rotated
			t.Fatal(err)
		}
		r := verify(t, path)
		if !r.OK() {
			t.Fatalf("round %d: got %+v, want no problem", i, r.Problems)
		}
		left := len(records(t, path, audit.Query{Decision: "consent"}))
		if want := []int{30, 30, 0}[i]; left != want {
			t.Errorf("round %d: got %d lines, want %d", i, left, want)
		}
		if r.Writers > 1 {
			t.Errorf("round %d: got %d writers, want only the one that runs", i, r.Writers)
		}
	}
	index, err := os.ReadFile(path + ".index")
	if err != nil || len(index) != 3*audit.SlotSize {
		t.Errorf("got %d bytes, %v, want two slots", len(index), err)
	}
	next, err := audit.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	write(next, now, 1)
	if index, err := os.ReadFile(path + ".index"); err != nil || len(index) != 3*audit.SlotSize {
		t.Errorf("got %d bytes, %v, want the free slot used", len(index), err)
	}
	if r := verify(t, path); !r.OK() || r.Writers != 2 {
		t.Errorf("got %+v", r)
	}
}

// A crash between the new file and the end of the old ones leaves both.
func TestFilesThatWereReplacedAreNotReadTwice(t *testing.T) {
	t.Parallel()
	l, path := open(t, &audit.Options{MaxFile: 3_000, Retention: 24 * time.Hour})
	now := time.Now()
	for i := range 60 {
		at := now
		if i < 10 {
			at = now.Add(-30 * time.Hour)
		}
		if err := l.Write(host.Decision{Time: at, Upstream: "a", Action: host.ActionConsent, Name: fmt.Sprint(i), Outcome: host.OutcomeDone}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(path + ".0*")
	if err != nil || len(files) < 2 {
		t.Fatalf("got %q, %v", files, err)
	}
	contents := make(map[string]string)
	for _, f := range files[:len(files)-1] {
		contents[f] = read(t, f)
	}
	if err := l.Retain(now); err != nil {
		t.Fatal(err)
	}
	for f, content := range contents {
		if _, err := os.Stat(f); err == nil {
			t.Errorf("%s: want it replaced", f)
		}
		replace(t, f, []byte(content))
	}
	if r := verify(t, path); !r.OK() {
		t.Errorf("got %+v, want the files left out that another one replaces", r.Problems)
	}
	if got := len(records(t, path, audit.Query{Decision: "consent"})); got != 50 {
		t.Errorf("got %d lines, want 50", got)
	}
}

func size(t *testing.T, path string) (total int64) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	return total
}

// Lines are removed only when nothing expects them any more.
func TestRetentionThatCannotChangeTheIndexRemovesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes of files")
	}
	l, path := open(t, &audit.Options{MaxFile: 500, Retention: time.Hour})
	old, err := audit.Open(path, &audit.Options{MaxFile: 500, Key: func(context.Context) ([]byte, error) { return testKey, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if err := old.Write(host.Decision{Time: time.Now().Add(-2 * time.Hour), Upstream: "u"}); err != nil {
			t.Fatal(err)
		}
	}
	writeLines(t, l, 5)
	if err := errors.Join(old.Close(), os.Chmod(path+".index", 0o640)); err != nil {
		t.Fatal(err)
	}
	if err := l.Retain(time.Now()); err == nil {
		t.Error("got no error for an index that others can read")
	}
	if err := os.Chmod(path+".index", 0o600); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, path); !r.OK() {
		t.Errorf("got %+v, want no problem", r.Problems)
	}
	if err := l.Retain(time.Now()); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, path); !r.OK() || r.Removed != 5 || r.Lines != 6 {
		t.Errorf("got %+v, want the five old lines removed, and one line about that", r)
	}
}
