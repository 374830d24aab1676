package mcpauth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
)

var storeKey = bytes.Repeat([]byte{7}, 32)

func fileStoreIn(t *testing.T, dir string) Store {
	t.Helper()
	s, err := FileStore(dir, storeKey)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// eachStore runs a test with the stores that there are.
func eachStore(t *testing.T, test func(t *testing.T, s Store)) {
	t.Run("memory", func(t *testing.T) { test(t, MemoryStore()) })
	t.Run("shared", func(t *testing.T) { test(t, SharedStore(sealedMemory(t))) })
	t.Run("files", func(t *testing.T) { test(t, fileStoreIn(t, filepath.Join(t.TempDir(), "tokens"))) })
}

func set(t *testing.T, s Store, key string, value []byte) {
	t.Helper()
	if err := s.Update(t.Context(), key, func([]byte) ([]byte, error) { return value, nil }); err != nil {
		t.Fatal(err)
	}
}

func wantStored(t *testing.T, s Store, key, want string) {
	t.Helper()
	if got, err := s.Load(t.Context(), key); err != nil || string(got) != want || got == nil != (want == "") {
		t.Errorf("under %q: got %q, %v, want %q", key, got, err, want)
	}
}

func TestStoresKeepValuesByKey(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s Store) {
		wantStored(t, s, "a", "")
		set(t, s, "a", []byte("1"))
		set(t, s, "b", []byte("2"))
		wantStored(t, s, "a", "1")
		failed := errors.New("no")
		if err := s.Update(t.Context(), "a", func(old []byte) ([]byte, error) { return []byte("3"), failed }); !errors.Is(err, failed) {
			t.Errorf("got %v, want %v", err, failed)
		}
		wantStored(t, s, "a", "1")
		set(t, s, "a", nil)
		set(t, s, "a", nil)
		wantStored(t, s, "a", "")
		wantStored(t, s, "b", "2")
	})
}

func TestUpdatesOfOneKeyFollowEachOther(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s Store) {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				err := s.Update(t.Context(), "count", func(old []byte) ([]byte, error) { return append(old, 'x'), nil })
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantStored(t, s, "count", strings.Repeat("x", 20))
	})
}

func TestWaitForAnUpdateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, s Store) {
		gone := errors.New("gone")
		err := s.Update(t.Context(), "a", func([]byte) ([]byte, error) {
			if err := s.Update(t.Context(), "b", func([]byte) ([]byte, error) { return nil, nil }); err != nil {
				t.Errorf("another key: %v", err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(gone)
			return nil, s.Update(ctx, "a", func([]byte) ([]byte, error) { panic("two at once") })
		})
		if !errors.Is(err, gone) {
			t.Errorf("got %v, want %v", err, gone)
		}
	})
}

func TestFilesAreSealedAndPrivate(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-182", "R-181a")
	dir := filepath.Join(t.TempDir(), "tokens")
	s := fileStoreIn(t, dir)
	set(t, s, "grant of canary.example", []byte("canary-secret"))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Fatalf("got %v, %v, want the value and its lock", entries, err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || strings.Contains(e.Name()+string(text), "canary") {
			t.Errorf("%s: %q, %v", e.Name(), text, err)
		}
		if info, _ := e.Info(); systemHasModes && info.Mode() != 0o600 {
			t.Errorf("%s: mode %v", e.Name(), info.Mode())
		}
	}
	wantStored(t, fileStoreIn(t, dir), "grant of canary.example", "canary-secret")
}

// valueFile returns the only file in a directory that is no lock.
func valueFile(t *testing.T, dir string) string {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(dir, strings.Repeat("?", 32)))
	if len(files) != 1 {
		t.Fatalf("got files %v", files)
	}
	return files[0]
}

func TestDamagedFilesAreErrorsAndStay(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(text []byte) []byte{
		"empty":   func([]byte) []byte { return nil },
		"cut":     func(text []byte) []byte { return text[:len(text)-3] },
		"flipped": func(text []byte) []byte { text[len(text)/2] ^= 1; return text },
		"room":    func([]byte) []byte { return make([]byte, roomStored) },
	} {
		dir := t.TempDir()
		makePrivate(t, dir)
		s := fileStoreIn(t, dir)
		set(t, s, "a", []byte("canary-secret"))
		path := valueFile(t, dir)
		text, _ := os.ReadFile(path)
		text = damage(text)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		_, loadErr := s.Load(t.Context(), "a")
		updateErr := s.Update(t.Context(), "a", func([]byte) ([]byte, error) { panic("was not read") })
		for _, err := range []error{loadErr, updateErr} {
			if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: got %v, want an error that names the file", name, err)
			}
		}
		if left, _ := os.ReadFile(path); !bytes.Equal(left, text) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func makePrivate(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
}

func TestFileCannotBeOpenedUnderAnotherKeyOrName(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-175a")
	dir := filepath.Join(t.TempDir(), "tokens")
	s := fileStoreIn(t, dir)
	a, b := grantKey{Issuer: "https://a.example"}.String(), grantKey{Issuer: "https://b.example"}.String()
	set(t, s, a, []byte("of a"))
	from := valueFile(t, dir)
	if err := os.Rename(from, s.(*fileStore).path(b)); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Load(t.Context(), b); err == nil {
		t.Errorf("the file of another issuer: got %q", got)
	}
	other, err := FileStore(dir, bytes.Repeat([]byte{8}, 32))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.(*fileStore).path(b), other.(*fileStore).path(a)); err != nil {
		t.Fatal(err)
	}
	if got, err := other.Load(t.Context(), a); err == nil {
		t.Errorf("another key: got %q", got)
	}
	if _, err := FileStore(dir, make([]byte, 16)); err == nil {
		t.Error("a key of 16 bytes was taken")
	}
}

func TestDirectoriesOfOtherUsersAreRefused(t *testing.T) {
	t.Parallel()
	if !systemHasModes {
		t.Logf("%s has no modes", runtime.GOOS)
		return
	}
	open := t.TempDir()
	if err := os.Chmod(open, 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := FileStore(open, storeKey); err == nil || !strings.Contains(err.Error(), "0750") {
		t.Errorf("a directory of mode 0750: got %v", err)
	}
	dir := filepath.Join(t.TempDir(), "tokens")
	s := fileStoreIn(t, dir)
	set(t, s, "a", []byte("secret"))
	path := valueFile(t, dir)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Load(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%#o", mode)) {
			t.Errorf("a file of mode %v: got %q, %v", mode, got, err)
		}
	}
	if err := os.Symlink(dir, dir+".link"); err != nil {
		t.Fatal(err)
	}
	if _, err := FileStore(dir+".link", storeKey); err == nil {
		t.Error("a link was taken for a directory")
	}
}

func TestFilesLeftByACrashAreReplaced(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tokens")
	s := fileStoreIn(t, dir)
	set(t, s, "a", []byte("1"))
	if err := os.WriteFile(valueFile(t, dir)+".new", []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	wantStored(t, s, "a", "1")
	set(t, s, "a", []byte("2"))
	wantStored(t, s, "a", "2")
	if _, err := os.Stat(valueFile(t, dir) + ".new"); err == nil {
		t.Error("the half file is still there")
	}
}

func TestTooLargeValuesAreRefused(t *testing.T) {
	t.Parallel()
	s := fileStoreIn(t, filepath.Join(t.TempDir(), "tokens"))
	set(t, s, "a", bytes.Repeat([]byte("x"), roomStored*2))
	err := s.Update(t.Context(), "a", func([]byte) ([]byte, error) { return make([]byte, maxStored+1), nil })
	if err == nil {
		t.Error("want an error")
	}
	wantStored(t, s, "a", strings.Repeat("x", roomStored*2))
}

// A process that is stopped while it holds the lock must not stop others for ever.
func TestUpdateDoesNotWaitForeverForAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tokens")
	if _, err := FileStore(dir, storeKey); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		held, other := fileStoreIn(t, dir), fileStoreIn(t, dir)
		err := held.Update(t.Context(), "a", func([]byte) ([]byte, error) {
			began := time.Now()
			err := other.Update(t.Context(), "a", func([]byte) ([]byte, error) { return nil, nil })
			if took := time.Since(began); took != time.Minute || !errors.Is(err, errLocked) || !strings.Contains(err.Error(), "held by another process for 1m0s") {
				t.Errorf("got %v after %v, want an error after one minute", err, took)
			}
			return nil, nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
