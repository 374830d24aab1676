package signin_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// ring is a keyring in memory.
type ring struct {
	secret string
	absent bool // there is none
	asked  int
}

var errAbsent = errors.New("no keyring")

func (r *ring) Get() (string, error) {
	r.asked++
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
	return func(name string) (string, bool) { return key, name == signin.KeyVariable && key != "" }
}

// keep keeps a value in a token store, and look reads it again.
func keep(t *testing.T, dir string, o *signin.Options) error {
	t.Helper()
	return signin.Store(signin.Open(dir, o)).Update(t.Context(), "k", func([]byte) ([]byte, error) { return []byte("CANARY"), nil })
}

func look(t *testing.T, dir string, o *signin.Options) (string, error) {
	t.Helper()
	value, err := signin.Store(signin.Open(dir, o)).Load(t.Context(), "k")
	return string(value), err
}

const goodKey = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

func TestTokensAreEncryptedWithAKeyStoredElsewhere(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]*signin.Options{
		"keyring":     {Keyring: new(ring), Env: env("")},
		"file":        {Keyring: &ring{absent: true}, Env: env("")},
		"environment": {Keyring: &ring{absent: true}, Env: env(goodKey)},
	} {
		dir, told := filepath.Join(t.TempDir(), "fondaco"), 0
		o.OnKeyFile = func(string) { told++ }
		if value, err := look(t, dir, o); value != "" || err != nil {
			t.Errorf("%s: got %q, %v of an empty store", name, value, err)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: to look has made %s", name, dir)
		}
		for range 2 {
			if err := keep(t, dir, o); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if value, err := look(t, dir, o); value != "CANARY" || err != nil {
			t.Errorf("%s: got %q, %v, want what was kept", name, value, err)
		}
		if (told == 1) != (name == "file") {
			t.Errorf("%s: was told %d times of a file", name, told)
		}
		checkFiles(t, dir)
	}
}

// checkFiles looks for what others could read.
func checkFiles(t *testing.T, dir string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("CANARY")) || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %o, holds %q", path, info.Mode().Perm(), text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestMissingKeyIsNotReplaced(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "fondaco")
	r := new(ring)
	o := &signin.Options{Keyring: r, Env: env("")}
	if err := keep(t, dir, o); err != nil {
		t.Fatal(err)
	}
	r.absent = true
	if _, err := look(t, dir, o); !errors.Is(err, errAbsent) || !strings.Contains(err.Error(), "sign in again") {
		t.Errorf("got %v, want what is missing and what would help", err)
	}
	if err := keep(t, dir, o); err == nil {
		t.Error("a new key was made over what another has sealed")
	}
	r.absent = false
	if value, err := look(t, dir, o); value != "CANARY" || err != nil {
		t.Errorf("got %q, %v once it is back", value, err)
	}
}

func TestBadKeysAreRefused(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"CANARY", "Q0FOQVJZ"} {
		for name, o := range map[string]*signin.Options{
			"environment": {Keyring: new(ring), Env: env(key)}, "keyring": {Keyring: &ring{secret: key}, Env: env("")},
		} {
			err := keep(t, filepath.Join(t.TempDir(), "fondaco"), o)
			if err == nil || !strings.Contains(err.Error(), "want 32 bytes in base64") || strings.Contains(err.Error(), key) {
				t.Errorf("%s: got %v", name, err)
			}
		}
	}
}

func TestKeyFileIsTheUsersAlone(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes are those of Unix")
	}
	dir := filepath.Join(t.TempDir(), "fondaco")
	o := &signin.Options{Keyring: &ring{absent: true}, Env: env("")}
	if err := keep(t, dir, o); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "tokens.key"), 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := look(t, dir, o); err == nil || !strings.Contains(err.Error(), "other users can read it") {
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
	w := signin.Open(t.TempDir(), &signin.Options{Keyring: s, Env: env("")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := signin.Store(w).Update(ctx, "k", func([]byte) ([]byte, error) { return nil, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(s.release)
	if err := signin.Store(w).Update(t.Context(), "k", func([]byte) ([]byte, error) { return nil, nil }); err != nil {
		t.Error(err)
	}
}

func TestMarkChangedAdvancesModTime(t *testing.T) {
	t.Parallel()
	w := signin.Open(filepath.Join(t.TempDir(), "fondaco"), nil)
	before := w.ModTime()
	if err := w.MarkChanged(); err != nil {
		t.Fatal(err)
	}
	if after := signin.Open(t.TempDir(), nil).ModTime(); !after.IsZero() {
		t.Errorf("got %v of another store", after)
	}
	if after := w.ModTime(); after.Equal(before) {
		t.Errorf("got %v, want another stamp", after)
	}
}

func TestOnlyServersOverHTTPAreSignedInTo(t *testing.T) {
	t.Parallel()
	w := signin.Open(t.TempDir(), &signin.Options{Keyring: new(ring), Env: env("")})
	url := mcpclient.URL("https://mcp.example.com/mcp")
	for name, test := range map[string]struct {
		upstream host.Upstream
		want     bool
	}{
		"over HTTP":     {host.Upstream{Target: url}, true},
		"HTTP+SSE":      {host.Upstream{Target: mcpclient.EventStream("http://127.0.0.1/sse")}, true},
		"other headers": {host.Upstream{Target: url, Header: http.Header{"X": {"y"}}}, true},
		"own header":    {host.Upstream{Target: url, Header: http.Header{"Authorization": {"Bearer x"}}}, false},
		"switched off":  {host.Upstream{Target: url, SignIn: host.SignIn{Disabled: true}}, false},
		"a program":     {host.Upstream{Target: mcpclient.Command("http")}, false},
		"a socket":      {host.Upstream{Target: mcpclient.Socket("unix", "/run/x")}, false},
	} {
		if got := w.Authorizer(&test.upstream) != nil; got != test.want {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
