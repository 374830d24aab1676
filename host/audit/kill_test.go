package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// instant is what a process that is killed leaves: the files of a log and the counts.
type instant struct {
	files  map[string][]byte
	counts []byte
}

// recorder keeps an instant after each change of a file of a log or of its counts.
type recorder struct {
	mcpserver.MemoryStore
	t    *testing.T
	path string

	mu  sync.Mutex
	all []instant // guarded by mu
}

func newRecorder(t *testing.T) *recorder {
	r := &recorder{t: t, path: filepath.Join(t.TempDir(), "audit.jsonl")}
	audit.AfterChange(filepath.Dir(r.path), r.keep)
	return r
}

func (r *recorder) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	ok, err := r.MemoryStore.Create(ctx, key, value, ttl)
	r.keep()
	return ok, err
}

func (r *recorder) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	ok, err := r.MemoryStore.Swap(ctx, key, old, value, ttl)
	r.keep()
	return ok, err
}

func (r *recorder) keep() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := instant{files: make(map[string][]byte)}
	paths, err := filepath.Glob(r.path + "*")
	if err != nil {
		r.t.Error(err)
	}
	for _, p := range paths {
		content, err := os.ReadFile(p)
		if err != nil {
			r.t.Error(err)
		}
		now.files[filepath.Base(p)] = content
	}
	if now.counts, _, err = r.Get(context.Background(), "audit/lines"); err != nil {
		r.t.Error(err)
	}
	r.all = append(r.all, now)
}

// restore makes a log as it was at an instant.
func (now instant) restore(t *testing.T) (path string, store *mcpserver.MemoryStore) {
	t.Helper()
	dir, store := t.TempDir(), new(mcpserver.MemoryStore)
	for name, content := range now.files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if now.counts != nil {
		if _, err := store.Create(t.Context(), "audit/lines", now.counts, 0); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "audit.jsonl"), store
}

// checkInstants checks that a process that was killed at any of the instants leaves no problem, at
// once and after others have written, and that the removal of lines is found then.
func (r *recorder) checkInstants() {
	t := r.t
	audit.AfterChange(filepath.Dir(r.path), func() {})
	if len(r.all) == 0 {
		t.Error("got no change, want some")
	}
	for i, now := range r.all {
		what := fmt.Sprintf("killed after change %d of %d", i+1, len(r.all))
		path, store := now.restore(t)
		if report := verifyCounted(t, path, store); !report.OK() {
			t.Errorf("%s: got %+v, want no problem", what, report.Problems)
		}
		writeCounted(t, path, store, 2)
		writeCounted(t, path, store, 2)
		if report := verifyCounted(t, path, store); !report.OK() {
			t.Errorf("%s, and others have written: got %+v, want no problem", what, report.Problems)
		}
		checkRemovalIsFound(t, what, path, store)
	}
}

// checkRemovalIsFound removes the last writer with its lines, without and with its slot.
func checkRemovalIsFound(t *testing.T, what, path string, store *mcpserver.MemoryStore) {
	t.Helper()
	lines := strings.SplitAfter(strings.TrimSuffix(read(t, path), "\n"), "\n")
	_, last, _ := strings.Cut(lines[len(lines)-1], `"writer":"`)
	writer := last[:12]
	left := slices.DeleteFunc(lines, func(line string) bool { return strings.Contains(line, `"writer":"`+writer+`"`) })
	replace(t, path, []byte(strings.Join(left, "")))
	if r := verifyCounted(t, path, nil); r.OK() {
		t.Errorf("%s: got no problem without the lines of a writer", what)
	}
	index := []byte(read(t, path+".index"))
	at := bytes.Index(index, []byte(`"writer":"`+writer+`"`)) / audit.SlotSize * audit.SlotSize
	copy(index[at:], strings.Repeat(" ", audit.SlotSize-1)+"\n")
	replace(t, path+".index", index)
	if r := verifyCounted(t, path, nil); !slices.Contains(kinds(r), audit.ProblemIndex) {
		t.Errorf("%s: got %+v without a writer and its slot, want the index not as it was", what, r.Problems)
	}
	if r := verifyCounted(t, path, store); !slices.Contains(kinds(r), audit.ProblemCut) {
		t.Errorf("%s: got %+v without a writer and its slot, want its counted lines missed", what, r.Problems)
	}
}

func TestProcessThatIsKilledAfterAnyChangeLeavesNoProblem(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 1} {
		r := newRecorder(t)
		for range before {
			writeCounted(t, r.path, &r.MemoryStore, 3)
		}
		writeCounted(t, r.path, r, 3)
		r.checkInstants()
	}
}

// oldLog writes a log with three files that have the old lines of several processes.
func oldLog(t *testing.T, r *recorder, o *audit.Options) {
	t.Helper()
	for range 3 {
		l, err := audit.Open(r.path, o)
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if err := l.Write(host.Decision{Time: time.Now().Add(-2 * time.Hour), Upstream: "u"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRetentionThatIsKilledAfterAnyChangeLeavesNoProblem(t *testing.T) {
	t.Parallel()
	for _, keepsSome := range []bool{true, false} {
		r := newRecorder(t)
		o := audit.Options{Key: func(context.Context) ([]byte, error) { return testKey, nil }, Counts: r, MaxFile: 700, Retention: time.Hour}
		oldLog(t, r, &o)
		l, err := audit.Open(r.path, &o)
		if err != nil {
			t.Fatal(err)
		}
		lines := 1
		if keepsSome {
			lines = 8
		}
		writeLines(t, l, lines)
		r.all = nil
		if err := errors.Join(l.Retain(time.Now()), l.Close()); err != nil {
			t.Fatal(err)
		}
		if report := verifyCounted(t, r.path, &r.MemoryStore); !report.OK() || report.Removed < 10 {
			t.Errorf("got %+v, want the old lines removed", report)
		}
		r.checkInstants()
		for i, now := range r.all { // the next retention has to do with what is left
			path, store := now.restore(t)
			o := o
			o.Counts = store
			next, err := audit.Open(path, &o)
			if err != nil {
				t.Fatal(err)
			}
			writeLines(t, next, 4)
			if err := errors.Join(next.Retain(time.Now()), next.Retain(time.Now().Add(2*time.Hour)), next.Close()); err != nil {
				t.Fatal(err)
			}
			if report := verifyCounted(t, path, store); !report.OK() {
				t.Errorf("killed after change %d of %d, and the next retention: got %+v, want no problem", i+1, len(r.all), report.Problems)
			}
		}
	}
}
