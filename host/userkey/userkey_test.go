package userkey_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/userkey"
)

// ring is a keyring in memory.
type ring struct {
	secret string
	absent bool
}

var errAbsent = errors.New("no keyring")

func (r *ring) Get() (string, error) {
	if r.absent || r.secret == "" {
		return "", errAbsent
	}
	return r.secret, nil
}

func (r *ring) Set(secret string) error {
	if r.absent {
		return errAbsent
	}
	r.secret = secret
	return nil
}

func env(key string) func(string) (string, bool) {
	return func(name string) (string, bool) { return key, name == userkey.Variable && key != "" }
}

const goodKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

func TestKeyIsCreatedOnceAndFoundAgain(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*userkey.Options{
		"keyring":     {Keyring: new(ring), Env: env("")},
		"file":        {Keyring: &ring{absent: true}, Env: env("")},
		"environment": {Keyring: &ring{absent: true}, Env: env(goodKey)},
	} {
		dir, files := filepath.Join(t.TempDir(), "fondaco"), 0
		o.OnKeyFile = func(string) { files++ }
		first, err := userkey.Open(dir, o).Key(t.Context())
		if err != nil || len(first) != userkey.Size {
			t.Fatalf("%s: got %d bytes, %v", name, len(first), err)
		}
		if again, err := userkey.Open(dir, o).Key(t.Context()); !bytes.Equal(again, first) || err != nil {
			t.Errorf("%s: got another key, %v", name, err)
		}
		if (files == 1) != (name == "file") {
			t.Errorf("%s: %d files were reported", name, files)
		}
	}
}

func TestMissingOrOtherKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	dir, r := filepath.Join(t.TempDir(), "fondaco"), new(ring)
	first, err := userkey.Open(dir, &userkey.Options{Keyring: r, Env: env("")}).Key(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*userkey.Options{
		"no key": {Keyring: &ring{absent: true}, Env: env("")}, "an empty keyring": {Keyring: new(ring), Env: env("")}, "another key": {Keyring: r, Env: env(goodKey)},
	} {
		if _, err := userkey.Open(dir, o).Key(t.Context()); err == nil || !strings.Contains(err.Error(), "provide that key") {
			t.Errorf("%s: got %v, want what would help", name, err)
		}
	}
	if again, err := userkey.Open(dir, &userkey.Options{Keyring: r, Env: env("")}).Key(t.Context()); !bytes.Equal(again, first) || err != nil {
		t.Errorf("got another key, %v once it is back", err)
	}
}

func TestInvalidKeysAreRefused(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"CANARY", "Q0FOQVJZ"} {
		for name, o := range map[string]*userkey.Options{
			"environment": {Keyring: new(ring), Env: env(key)}, "keyring": {Keyring: &ring{secret: key}, Env: env("")},
		} {
			_, err := userkey.Open(filepath.Join(t.TempDir(), "fondaco"), o).Key(t.Context())
			if err == nil || !strings.Contains(err.Error(), "want 32 bytes in base64") || strings.Contains(err.Error(), key) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

func TestReadableKeyFileIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	dir := filepath.Join(t.TempDir(), "fondaco")
	o := &userkey.Options{Keyring: &ring{absent: true}, Env: env("")}
	if _, err := userkey.Open(dir, o).Key(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "user.key"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := userkey.Open(dir, o).Key(t.Context()); err == nil || !strings.Contains(err.Error(), "others can read it") {
		t.Errorf("got %v, want it refused", err)
	}
}

// stuck is a keyring that waits for a user who has gone.
type stuck struct{ release chan struct{} }

func (s stuck) Get() (string, error) { <-s.release; return "", errAbsent }
func (s stuck) Set(string) error     { return errAbsent }

func TestKeyringWithoutAnswerTimesOut(t *testing.T) {
	t.Parallel()
	s := stuck{make(chan struct{})}
	source := userkey.Open(t.TempDir(), &userkey.Options{Keyring: s, Env: env("")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := source.Key(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(s.release)
	if _, err := source.Key(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestKeysOfPurposesDiffer(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte("k"), userkey.Size)
	if one, other := userkey.Derive(key, "one"), userkey.Derive(key, "other"); bytes.Equal(one, other) || bytes.Equal(one, key) || len(one) != 32 {
		t.Error("want different keys of 32 bytes")
	}
}
