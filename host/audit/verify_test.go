package audit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/internal/claim"
)

// threeWriters writes a log with four lines of each of three writers in turn, of which one
// has closed it, and returns the path.
func threeWriters(t testing.TB, o audit.Options) string { return writersInTurn(t, o, 12) }

func writersInTurn(t testing.TB, o audit.Options, lines int) string {
	t.Helper()
	o.Key = func(context.Context) ([]byte, error) { return testKey, nil }
	path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	var logs []*audit.Log
	for range 3 {
		l, err := audit.Open(path, &o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		logs = append(logs, l)
	}
	for i := range lines {
		d := host.Decision{Time: time.Now(), Principal: "local", Upstream: "u", Action: host.ActionCall, Name: fmt.Sprint(i), Outcome: host.OutcomeDone}
		if err := logs[i%3].Write(d); err != nil {
			t.Fatal(err)
		}
	}
	_ = logs[2].Close()
	return path
}

func replace(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeAt changes one byte of a file.
func writeAt(t testing.TB, f *os.File, offset int, b byte) {
	t.Helper()
	if _, err := f.WriteAt([]byte{b}, int64(offset)); err != nil {
		t.Fatal(err)
	}
}

func kinds(r *audit.Report) (all []audit.ProblemKind) {
	for _, p := range r.Problems {
		all = append(all, p.Kind)
	}
	return all
}

func TestEveryChangedByteIsFound(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-219e")
	path := writersInTurn(t, audit.Options{}, 3)
	if r := verify(t, path); !r.OK() || r.Lines != 3 || r.Writers != 3 || r.Open != 2 {
		t.Fatalf("got %+v, want a log without problems", r)
	}
	for _, file := range []string{path, path + ".index"} {
		content := []byte(read(t, file))
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for i := range content {
			if content[i] == ' ' && i%16 > 0 { // the rest of a slot
				continue
			}
			changed := content[i] ^ []byte{0x01, 0x80}[i%2]
			writeAt(t, f, i, changed)
			if r := verify(t, path); r.OK() {
				t.Fatalf("%s: byte %d of %d, %q instead of %q: not found", filepath.Base(file), i, len(content), changed, content[i])
			}
			writeAt(t, f, i, content[i])
		}
	}
}

func TestEveryLineThatIsCutOffIsFound(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-219e")
	path := threeWriters(t, audit.Options{})
	content := read(t, path)
	for n := len(content) - 2; n >= 0; n -= 5 { // without the line feed nothing is missing
		if err := os.Truncate(path, int64(n)); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, path); r.OK() {
			t.Fatalf("%d of %d bytes: not found", n, len(content))
		}
	}
	lines := strings.SplitAfter(content, "\n")
	replace(t, path, []byte(strings.Join(lines[:11], "")))
	r := verify(t, path)
	if len(r.Problems) != 1 || r.Problems[0].Kind != audit.ProblemCut || r.Problems[0].First != 4 || r.Problems[0].Last != 4 {
		t.Errorf("got %+v, want the last line of its writer missing", r.Problems)
	}
}

// A process that is killed while it writes a line may leave any part of it.
func TestPartOfALineAtTheEndIsNoChange(t *testing.T) {
	t.Parallel()
	path := threeWriters(t, audit.Options{})
	content := read(t, path)
	line, _, _ := strings.Cut(content, "\n")
	for n := 1; n < len(line); n++ {
		replace(t, path, []byte(content+line[:n]))
		if r := verify(t, path); !r.OK() || r.Incomplete != 1 || r.Lines != 12 {
			t.Fatalf("with %q at the end: got %+v, want an incomplete line", line[:n], r)
		}
	}
}

func TestVerifyNamesTheFirstProblemOfEachWriter(t *testing.T) {
	t.Parallel()
	path := threeWriters(t, audit.Options{})
	content := read(t, path)
	lines := strings.SplitAfter(strings.TrimSuffix(content, "\n"), "\n")
	lines[11] += "\n"
	for what, test := range map[string]struct {
		change func(lines []string) []string
		want   []audit.ProblemKind
		line   int
	}{
		"a line is removed":       {func(l []string) []string { return slices.Delete(l, 4, 5) }, []audit.ProblemKind{audit.ProblemMissing}, 7},
		"two lines change places": {func(l []string) []string { l[1], l[4] = l[4], l[1]; return l }, []audit.ProblemKind{audit.ProblemMissing}, 2},
		"a line is repeated":      {func(l []string) []string { return append(l, l[3]) }, []audit.ProblemKind{audit.ProblemReordered}, 13},
		"foreign text is added":   {func(l []string) []string { return slices.Insert(l, 6, "hello\n") }, []audit.ProblemKind{audit.ProblemForeign}, 7},
		"a line is invented": {func(l []string) []string {
			return slices.Insert(l, 6, strings.ReplaceAll(l[6], `"name":"6"`, `"name":"x"`))
		}, []audit.ProblemKind{audit.ProblemChanged}, 7},
		"an outcome is changed":    {func(l []string) []string { l[5] = strings.ReplaceAll(l[5], `"done"`, `"denied"`); return l }, []audit.ProblemKind{audit.ProblemChanged}, 6},
		"all lines of one writer":  {func(l []string) []string { return []string{l[0], l[1], l[3], l[4], l[6], l[7], l[9], l[10]} }, []audit.ProblemKind{audit.ProblemCut}, 0},
		"lines of two writers":     {func(l []string) []string { return slices.Delete(l, 0, 2) }, []audit.ProblemKind{audit.ProblemMissing, audit.ProblemMissing}, 2},
		"an empty line":            {func(l []string) []string { return slices.Insert(l, 6, "\n") }, nil, 0},
		"the start of a line":      {func(l []string) []string { return slices.Insert(l, 6, l[6][:40]+"\n") }, nil, 0},
		"the start before another": {func(l []string) []string { return slices.Insert(l, 6, l[6][:40]) }, nil, 0},
		"everything":               {func([]string) []string { return nil }, []audit.ProblemKind{audit.ProblemCut, audit.ProblemCut, audit.ProblemCut}, 0},
	} {
		replace(t, path, []byte(strings.Join(test.change(slices.Clone(lines)), "")))
		r := verify(t, path)
		if got := kinds(r); !slices.Equal(got, test.want) || len(got) > 0 && r.Problems[0].Line != test.line {
			t.Errorf("%s: got %+v, want %v at line %d", what, r.Problems, test.want, test.line)
		}
	}
	replace(t, path, []byte(content))
	if r, err := audit.Verify(t.Context(), path, []byte("another key"), nil); err != nil || r.OK() {
		t.Errorf("got %+v, %v, want nothing accepted under another key", r, err)
	}
}

func TestMissingFileIsFound(t *testing.T) {
	t.Parallel()
	path := threeWriters(t, audit.Options{MaxFile: 700})
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) < 6 {
		t.Fatalf("got %q, %v, want several files", files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".lock") {
			continue
		}
		content := read(t, file)
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, path); r.OK() {
			t.Errorf("without %s: got no problem", filepath.Base(file))
		}
		replace(t, file, []byte(content))
	}
	rotated := files[slices.IndexFunc(files, func(f string) bool { return strings.HasSuffix(f, ".000001") })]
	content := read(t, rotated)
	replace(t, rotated, []byte(read(t, path+".000002")))
	replace(t, path+".000002", []byte(content))
	if r := verify(t, path); r.OK() {
		t.Error("with two files exchanged: got no problem")
	}
}

func TestMissingWriterIsFound(t *testing.T) {
	t.Parallel()
	path := threeWriters(t, audit.Options{})
	content := read(t, path)
	indexed := read(t, path+".index")
	lines := strings.SplitAfter(content, "\n")
	// All lines of the third writer and its slot.
	replace(t, path, []byte(lines[0]+lines[1]+lines[3]+lines[4]+lines[6]+lines[7]+lines[9]+lines[10]))
	for what, index := range map[string]string{
		"the slot removed": indexed[:3*audit.SlotSize],
		"the slot blank":   indexed[:3*audit.SlotSize] + strings.Repeat(" ", audit.SlotSize-1) + "\n",
	} {
		replace(t, path+".index", []byte(index))
		if r := verify(t, path); !slices.Contains(kinds(r), audit.ProblemIndex) {
			t.Errorf("%s: got %+v, want the number of writers to show it", what, r.Problems)
		}
		// A writer that is added later does not hide it.
		l, err := audit.Open(path, &audit.Options{Key: func(context.Context) ([]byte, error) { return testKey, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u"}); err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		if r := verify(t, path); !slices.Contains(kinds(r), audit.ProblemIndex) {
			t.Errorf("%s, and another writer: got %+v, want the number of writers to show it", what, r.Problems)
		}
	}
	replace(t, path, []byte(content))
	if err := os.Remove(path + ".index"); err != nil {
		t.Fatal(err)
	}
	l, err := audit.Open(path, &audit.Options{Key: func(context.Context) ([]byte, error) { return testKey, nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Write(host.Decision{Time: time.Now(), Upstream: "u"}); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, path); !slices.Contains(kinds(r), audit.ProblemIndex) {
		t.Errorf("with a new index: got %+v, want the writers that it lacks", r.Problems)
	}
}

func TestVerifyOfNothing(t *testing.T) {
	t.Parallel()
	_, path := open(t, nil)
	if r := verify(t, path); !r.OK() || r.Lines != 0 {
		t.Errorf("got %+v, want no problem in a log without lines", r)
	}
	if r := verify(t, filepath.Join(t.TempDir(), "audit.jsonl")); !r.OK() || r.Lines != 0 {
		t.Errorf("got %+v, want no problem without a log", r)
	}
}
