package audit_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// countedLog opens a log whose lines are counted in a store.
func countedLog(t *testing.T, path string, store mcp.Store) *audit.Log {
	t.Helper()
	l, err := audit.Open(path, &audit.Options{Key: func(context.Context) ([]byte, error) { return testKey, nil }, Counts: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// writeCounted writes lines by a process of its own.
func writeCounted(t *testing.T, path string, store mcp.Store, lines int) {
	t.Helper()
	l := countedLog(t, path, store)
	writeLines(t, l, lines)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeLines(t *testing.T, l *audit.Log, lines int) {
	t.Helper()
	for range lines {
		if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u", Action: host.ActionCall, Outcome: host.OutcomeDone}); err != nil {
			t.Fatal(err)
		}
	}
}

func verifyCounted(t *testing.T, path string, store mcp.Store) *audit.Report {
	t.Helper()
	r, err := audit.Verify(t.Context(), path, testKey, store)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRemovalOfTheLogWithItsIndexIsFound(t *testing.T) {
	t.Parallel()
	path, store := filepath.Join(t.TempDir(), "audit.jsonl"), new(mcpserver.MemoryStore)
	writeCounted(t, path, store, 3)
	writeCounted(t, path, store, 4)
	if r := verifyCounted(t, path, store); !r.OK() || r.Lines != 7 {
		t.Fatalf("got %+v, want no problem", r)
	}
	if err := errors.Join(os.Remove(path), os.Remove(path+".index")); err != nil {
		t.Fatal(err)
	}
	const want = "the log is missing; 7 lines or more were written by 2 processes"
	if r := verifyCounted(t, path, store); len(r.Problems) != 1 || r.Problems[0].Kind != audit.ProblemMissing || r.Problems[0].Text != want {
		t.Errorf("got %+v, want %q", r.Problems, want)
	}
	writeCounted(t, path, store, 20)
	if r := verifyCounted(t, path, store); !slices.Equal(kinds(r), []audit.ProblemKind{audit.ProblemCut, audit.ProblemCut}) {
		t.Errorf("after another process has written: got %+v, want both that wrote before", r.Problems)
	}
}

func TestEarlierCopiesOfTheLogAndItsIndexAreFound(t *testing.T) {
	t.Parallel()
	path, store := filepath.Join(t.TempDir(), "audit.jsonl"), new(mcpserver.MemoryStore)
	one := countedLog(t, path, store)
	writeLines(t, one, 2)
	log, index := read(t, path), read(t, path+".index")
	writeLines(t, one, 3)
	writeCounted(t, path, store, 1)
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	replace(t, path, []byte(log))
	replace(t, path+".index", []byte(index))
	r := verifyCounted(t, path, store)
	if !slices.Equal(kinds(r), []audit.ProblemKind{audit.ProblemCut, audit.ProblemCut}) {
		t.Fatalf("got %+v, want the ends of both processes", r.Problems)
	}
	i := slices.IndexFunc(r.Problems, func(p audit.Problem) bool { return p.First == 3 && p.Last == 5 })
	if i < 0 || !strings.Contains(r.Problems[i].Text, "lines 3 to 5") {
		t.Errorf("got %+v, want lines 3 to 5 named", r.Problems)
	}
}

func TestRemovalOfTheCountsIsFound(t *testing.T) {
	t.Parallel()
	path, store := filepath.Join(t.TempDir(), "audit.jsonl"), new(mcpserver.MemoryStore)
	writeCounted(t, path, store, 3)
	for _, when := range []string{"at once", "after another process has written"} {
		if err := store.Delete(t.Context(), "audit/lines"); err != nil {
			t.Fatal(err)
		}
		if r := verifyCounted(t, path, store); !slices.Contains(kinds(r), audit.ProblemIndex) {
			t.Errorf("%s: got %+v, want the counts missed", when, r.Problems)
		}
		writeCounted(t, path, store, 3)
		if r := verifyCounted(t, path, store); !slices.Contains(kinds(r), audit.ProblemIndex) {
			t.Errorf("%s, with new counts: got %+v, want it remembered", when, r.Problems)
		}
	}
}

// A log of an earlier version has no counts. From the next line on it has.
func TestLogWithoutCountsGetsThem(t *testing.T) {
	t.Parallel()
	path, store := filepath.Join(t.TempDir(), "audit.jsonl"), new(mcpserver.MemoryStore)
	writeCounted(t, path, nil, 3)
	if r := verifyCounted(t, path, store); !r.OK() {
		t.Errorf("got %+v, want no problem", r.Problems)
	}
	writeCounted(t, path, store, 1)
	if r := verifyCounted(t, path, store); !r.OK() {
		t.Errorf("with counts: got %+v, want no problem", r.Problems)
	}
	if err := errors.Join(os.Remove(path), os.Remove(path+".index")); err != nil {
		t.Fatal(err)
	}
	if r := verifyCounted(t, path, store); len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Text, "; 4 lines") {
		t.Errorf("got %+v, want 4 lines missed", r.Problems)
	}
}

func TestLinesThatTheHostRemovedAreNotCounted(t *testing.T) {
	t.Parallel()
	path, store := filepath.Join(t.TempDir(), "audit.jsonl"), new(mcpserver.MemoryStore)
	o := audit.Options{Key: func(context.Context) ([]byte, error) { return testKey, nil }, Counts: store, MaxFile: 500, Retention: time.Hour}
	writeOld := func(lines int) *audit.Log {
		l, err := audit.Open(path, &o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		for range lines {
			if err := l.Write(host.Decision{Time: time.Now().Add(-2 * time.Hour), Upstream: "u"}); err != nil {
				t.Fatal(err)
			}
		}
		return l
	}
	if err := writeOld(5).Close(); err != nil {
		t.Fatal(err)
	}
	two := writeOld(5)
	writeLines(t, two, 5)
	if err := two.Retain(time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	r := verifyCounted(t, path, store)
	if !r.OK() || r.Removed == 0 || r.Lines >= 15 {
		t.Errorf("got %+v, want no problem after lines were removed", r)
	}
	value, _, err := store.Get(t.Context(), "audit/lines")
	if err != nil || strings.Count(string(value), ":") != 1 {
		t.Errorf("got %s, %v, want one process, because all lines of the other were removed", value, err)
	}
}

// faultyStore is a store that others change, or that cannot be changed.
type faultyStore struct {
	mcpserver.MemoryStore
	failing atomic.Bool
}

func (s *faultyStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if s.failing.Load() {
		return nil, false, errors.New("state: locked")
	}
	return s.MemoryStore.Get(ctx, key)
}

func TestLinesAreCountedLaterWhenTheyCannotBeCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path, store := filepath.Join(t.TempDir(), "audit.jsonl"), new(faultyStore)
		store.failing.Store(true)
		l := countedLog(t, path, store)
		writeLines(t, l, 3)
		store.failing.Store(false)
		if r := verifyCounted(t, path, store); !r.OK() || r.Lines != 3 {
			t.Errorf("got %+v, want no problem", r)
		}
		writeLines(t, l, 2)
		time.Sleep(2 * time.Second) // the lines are counted in the background
		synctest.Wait()
		if value, _, err := store.Get(t.Context(), "audit/lines"); err != nil || !strings.Contains(string(value), ":5") {
			t.Errorf("got %s, %v, want the lines counted while the process runs", value, err)
		}
		if r := verifyCounted(t, path, store); !r.OK() {
			t.Errorf("got %+v, want no problem", r)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestCountsThatCannotBeReadAreReported(t *testing.T) {
	t.Parallel()
	path, store := filepath.Join(t.TempDir(), "audit.jsonl"), new(faultyStore)
	writeCounted(t, path, store, 3)
	store.failing.Store(true)
	if r := verifyCounted(t, path, store); !slices.Equal(kinds(r), []audit.ProblemKind{audit.ProblemIndex}) || !strings.Contains(r.Problems[0].Text, "state: locked") {
		t.Errorf("got %+v, want it said", r.Problems)
	}
}

func TestVerifyWhileProcessesWriteFindsNothing(t *testing.T) {
	t.Parallel()
	path, store := filepath.Join(t.TempDir(), "audit.jsonl"), new(mcpserver.MemoryStore)
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			for range 5 {
				writeCounted(t, path, store, 20)
			}
		})
	}
	for range 20 {
		if r := verifyCounted(t, path, store); !r.OK() {
			t.Errorf("got %+v, want no problem", r.Problems)
		}
	}
	work.Wait()
	if r := verifyCounted(t, path, store); !r.OK() || r.Lines != 300 {
		t.Errorf("got %+v, want all lines", r)
	}
}

// All lines of a process that was silent for long are removed by their age, with its place in the
// index. Its next line begins another chain.
func TestProcessWhoseLinesWereAllRemovedGoesOn(t *testing.T) {
	t.Parallel()
	for _, writesAgain := range []bool{true, false} {
		path, store := filepath.Join(t.TempDir(), "audit.jsonl"), new(mcpserver.MemoryStore)
		o := audit.Options{Key: func(context.Context) ([]byte, error) { return testKey, nil }, Counts: store, MaxFile: 500, Retention: time.Hour}
		silent, err := audit.Open(path, &o)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := silent.Write(host.Decision{Time: time.Now().Add(-2 * time.Hour), Upstream: "u"}); err != nil {
				t.Fatal(err)
			}
		}
		other, err := audit.Open(path, &o)
		if err != nil {
			t.Fatal(err)
		}
		writeLines(t, other, 5)
		if err := other.Retain(time.Now()); err != nil {
			t.Fatal(err)
		}
		if writesAgain {
			writeLines(t, silent, 3)
		}
		if err := errors.Join(silent.Close(), other.Close()); err != nil {
			t.Fatal(err)
		}
		if r := verifyCounted(t, path, store); !r.OK() {
			t.Errorf("writes again: %v: got %+v, want no problem", writesAgain, r.Problems)
		}
	}
}
