package state_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host/state"
	"github.com/fondaco/fondaco/host/userfile"
)

func key(c byte) func(context.Context) ([]byte, error) {
	return func(context.Context) ([]byte, error) { return bytes.Repeat([]byte{c}, 32), nil }
}

func open(t *testing.T) (*state.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	return state.Open(dir, key('k')), dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestStoreKeepsValuesAcrossProcesses(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	if _, found, err := s.Get(t.Context(), "a/1"); found || err != nil {
		t.Errorf("got %v, %v of an empty store", found, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("reading has created the directory")
	}
	must(t, s.Put(t.Context(), "a/1", []byte("one"), 0))
	other := state.Open(dir, key('k'))
	if got, found, err := other.Get(t.Context(), "a/1"); string(got) != "one" || !found || err != nil {
		t.Errorf("got %q, %v, %v", got, found, err)
	}
	if created, err := other.Create(t.Context(), "a/1", nil, 0); created || err != nil {
		t.Errorf("got %v, %v, want the present value", created, err)
	}
	if swapped, err := other.Swap(t.Context(), "a/1", []byte("two"), []byte("x"), 0); swapped || err != nil {
		t.Errorf("got %v, %v, want another value not swapped", swapped, err)
	}
	if swapped, err := other.Swap(t.Context(), "a/1", []byte("one"), []byte("two"), 0); !swapped || err != nil {
		t.Errorf("got %v, %v, want it swapped", swapped, err)
	}
	must(t, other.Delete(t.Context(), "a/1"))
	must(t, other.Delete(t.Context(), "b/1"))
	if _, found, err := s.Get(t.Context(), "a/1"); found || err != nil {
		t.Errorf("got %v, %v of a deleted value", found, err)
	}
	if swapped, err := s.Swap(t.Context(), "a/1", nil, nil, 0); swapped || err != nil {
		t.Errorf("got %v, %v, want nothing to swap", swapped, err)
	}
}

func TestStoreListsKeysInOrder(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	for _, key := range []string{"a/2", "b/1", "a/10", "a/1", "plain", "A B/c"} {
		must(t, s.Put(t.Context(), key, nil, 0))
	}
	must(t, s.Put(t.Context(), "a/15", nil, time.Nanosecond))
	for _, test := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"a/", "", 9, []string{"a/1", "a/10", "a/2"}},
		{"a/", "a/1", 1, []string{"a/10"}},
		{"", "a/2", 9, []string{"b/1", "plain"}},
		{"A", "", 9, []string{"A B/c"}},
		{"A B/", "", 9, []string{"A B/c"}},
		{"", "", 0, nil},
	} {
		got, err := s.List(t.Context(), test.prefix, test.after, test.limit)
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%q after %q: got %q, %v, want %q", test.prefix, test.after, got, err, test.want)
		}
	}
}

// SECURITY.md says so: a counter would have to be where the same program cannot write.
func TestEarlierCopyOfAnEntryIsNotTold(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	must(t, s.Put(t.Context(), "a/1", []byte("yes"), 0))
	must(t, s.Put(t.Context(), "a/2", []byte("other"), 0))
	files, err := filepath.Glob(filepath.Join(dir, "a", "*"))
	must(t, err)
	earlier := make(map[string][]byte)
	for _, file := range files {
		earlier[file], err = os.ReadFile(file)
		must(t, err)
	}
	must(t, s.Put(t.Context(), "a/1", []byte("no"), 0))
	for file, text := range earlier {
		must(t, os.WriteFile(file, text, 0o600))
	}
	if got, found, err := s.Get(t.Context(), "a/1"); string(got) != "yes" || !found || err != nil {
		t.Errorf("got %q, %v, %v, want the earlier value", got, found, err)
	}
}

func TestExpiredValueIsGone(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	must(t, s.Put(t.Context(), "a/1", []byte("x"), time.Nanosecond))
	if _, found, err := s.Get(t.Context(), "a/1"); found || err != nil {
		t.Errorf("got %v, %v", found, err)
	}
	if created, err := s.Create(t.Context(), "a/1", []byte("y"), time.Hour); !created || err != nil {
		t.Errorf("got %v, %v, want its place taken", created, err)
	}
	if got, found, err := s.Get(t.Context(), "a/1"); string(got) != "y" || !found || err != nil {
		t.Errorf("got %q, %v, %v", got, found, err)
	}
}

// fileOf returns the only file of a section.
func fileOf(t *testing.T, dir, section string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, section, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("got %v, %v, want one file", files, err)
	}
	return files[0]
}

// A record that somebody could have written is never a decision of the user.
func TestChangedFilesAreErrors(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	must(t, s.Put(t.Context(), "a/1", []byte("CANARY"), 0))
	must(t, s.Put(t.Context(), "b/1", []byte("other"), 0))
	file, other := fileOf(t, dir, "a"), fileOf(t, dir, "b")
	good, err := os.ReadFile(file)
	must(t, err)
	if bytes.Contains(good, []byte("CANARY")) {
		t.Error("the file is not encrypted")
	}
	foreign, err := os.ReadFile(other)
	must(t, err)
	check := func(name string) {
		t.Helper()
		if _, found, err := s.Get(t.Context(), "a/1"); found || err == nil {
			t.Errorf("%s: got %v, %v, want an error", name, found, err)
		}
		if created, err := s.Create(t.Context(), "a/1", nil, 0); created || err == nil {
			t.Errorf("%s: got %v, %v, want no other value in its place", name, created, err)
		}
		if _, err := s.List(t.Context(), "a/", "", 9); err == nil {
			t.Errorf("%s: listed", name)
		}
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 1
		must(t, os.WriteFile(file, bad, 0o600))
		if _, found, err := s.Get(t.Context(), "a/1"); found || err == nil {
			t.Fatalf("byte %d changed: got %v, %v, want an error", i, found, err)
		}
	}
	for name, content := range map[string][]byte{"cut": good[:len(good)-1], "empty": nil, "of another key": foreign, "too long": make([]byte, 2<<20)} {
		must(t, os.WriteFile(file, content, 0o600))
		check(name)
	}
	must(t, os.WriteFile(file, good, 0o600))
	if _, _, err := state.Open(dir, key('o')).Get(t.Context(), "a/1"); err == nil {
		t.Error("read with another key")
	}
	if got, found, err := s.Get(t.Context(), "a/1"); string(got) != "CANARY" || !found || err != nil {
		t.Errorf("got %q, %v, %v of the good file", got, found, err)
	}
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, s.Delete(t.Context(), "a/1"))
	must(t, s.Put(t.Context(), "a/1", []byte("new"), 0))
}

func TestFilesThatOthersCanWriteAreRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	s, dir := open(t)
	must(t, s.Put(t.Context(), "a/1", []byte("x"), 0))
	for _, path := range []string{fileOf(t, dir, "a"), filepath.Join(dir, "a"), dir} {
		info, err := os.Stat(path)
		must(t, err)
		must(t, os.Chmod(path, info.Mode().Perm()|0o020))
		if _, _, err := s.Get(t.Context(), "a/1"); err == nil || !strings.Contains(err.Error(), "chmod go-w") {
			t.Errorf("%s: got %v, want it refused", path, err)
		}
		if err := s.Put(t.Context(), "a/1", nil, 0); err == nil {
			t.Errorf("%s: written", path)
		}
		must(t, os.Chmod(path, info.Mode().Perm()))
	}
}

func TestOneOfManyConcurrentSwapsSucceeds(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	must(t, s.Put(t.Context(), "a/1", []byte("first"), 0))
	var won atomic.Int32
	var work sync.WaitGroup
	for i := range 8 {
		work.Go(func() {
			swapped, err := state.Open(dir, key('k')).Swap(context.Background(), "a/1", []byte("first"), fmt.Append(nil, i), 0)
			if err != nil {
				t.Error(err)
			}
			if swapped {
				won.Add(1)
			}
		})
	}
	work.Wait()
	if won.Load() != 1 {
		t.Errorf("got %d, want one", won.Load())
	}
}

func TestWriteEndsWithItsContextWhileAnotherProcessHoldsTheLock(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	must(t, s.Put(t.Context(), "a/1", []byte("x"), 0))
	unlock, err := userfile.Lock(t.Context(), filepath.Join(dir, ".lock"))
	must(t, err)
	defer unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := s.Put(ctx, "a/1", nil, 0); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
	if got, _, err := s.Get(t.Context(), "a/1"); string(got) != "x" || err != nil {
		t.Errorf("got %q, %v, want reading to go on", got, err)
	}
}

func TestKeysAndValuesAreLimited(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	for _, key := range []string{"", strings.Repeat("k", 257)} {
		if err := s.Put(t.Context(), key, nil, 0); err == nil || !strings.Contains(err.Error(), "want 1 to 256") {
			t.Errorf("got %v of a key of %d bytes", err, len(key))
		}
	}
	if err := s.Put(t.Context(), "a/1", make([]byte, 1<<20+1), 0); err == nil {
		t.Error("a value over the limit was stored")
	}
	long := strings.Repeat("k", 256)
	must(t, s.Put(t.Context(), long, make([]byte, 1<<20), 0))
	if got, found, err := s.Get(t.Context(), long); len(got) != 1<<20 || !found || err != nil {
		t.Errorf("got %d bytes, %v, %v", len(got), found, err)
	}
}

func TestVersionOfASectionChangesWithIt(t *testing.T) {
	t.Parallel()
	s, _ := open(t)
	if got := s.Version("a"); got != "" {
		t.Errorf("got %v of an empty section", got)
	}
	must(t, s.Put(t.Context(), "a/1", nil, 0))
	if got := s.Version("a"); got == "" || s.Version("b") != "" {
		t.Errorf("got %v", got)
	}
}

func TestExpiredEntriesOfASectionAreRemoved(t *testing.T) {
	t.Parallel()
	s, dir := open(t)
	must(t, s.RemoveExpired(t.Context(), "a"))
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Error("the directory was created")
	}
	must(t, s.Put(t.Context(), "a/stays", []byte("x"), 0))
	must(t, s.Put(t.Context(), "a/holds", []byte("x"), time.Hour))
	for _, key := range []string{"a/1", "a/2", "b/1"} {
		must(t, s.Put(t.Context(), key, []byte("x"), time.Nanosecond))
	}
	damaged := filepath.Join(dir, "a", "damaged")
	must(t, userfile.WriteFile(damaged, []byte("no entry")))
	must(t, s.RemoveExpired(t.Context(), "a"))
	for section, want := range map[string]int{"a": 3, "b": 1} {
		if files, err := os.ReadDir(filepath.Join(dir, section)); err != nil || len(files) != want {
			t.Errorf("section %s: got %d files, %v, want %d", section, len(files), err, want)
		}
	}
	must(t, os.Remove(damaged))
	if keys, err := s.List(t.Context(), "a/", "", 10); err != nil || !slices.Equal(keys, []string{"a/holds", "a/stays"}) {
		t.Errorf("got %q, %v, want what has not expired", keys, err)
	}
}
