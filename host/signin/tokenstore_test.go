package signin_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// withKey returns options with a key, and counts how often it is asked for.
func withKey(asked *int) *signin.Options {
	return &signin.Options{Key: func(context.Context) ([]byte, error) {
		*asked++
		return bytes.Repeat([]byte("k"), 32), nil
	}}
}

func TestTokensAreEncrypted(t *testing.T) {
	t.Parallel()
	dir, asked := t.TempDir(), 0
	o := withKey(&asked)
	if value, err := signin.Store(signin.Open(dir, o)).Load(t.Context(), "k"); value != nil || err != nil || asked != 0 {
		t.Errorf("got %q, %v and %d requests for the key, want none for an empty store", value, err, asked)
	}
	if err := signin.Store(signin.Open(dir, o)).Update(t.Context(), "k", func([]byte) ([]byte, error) { return []byte("CANARY"), nil }); err != nil {
		t.Fatal(err)
	}
	if value, err := signin.Store(signin.Open(dir, o)).Load(t.Context(), "k"); string(value) != "CANARY" || err != nil {
		t.Errorf("got %q, %v, want what was stored", value, err)
	}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("CANARY")) {
			t.Errorf("%s holds the token", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestErrorOfTheKeyIsThatOfTheStore(t *testing.T) {
	t.Parallel()
	locked := errors.New("locked")
	s := signin.Store(signin.Open(t.TempDir(), &signin.Options{Key: func(context.Context) ([]byte, error) { return nil, locked }}))
	if err := s.Update(t.Context(), "k", func([]byte) ([]byte, error) { return nil, nil }); !errors.Is(err, locked) {
		t.Errorf("got %v, want %v", err, locked)
	}
}

func TestMarkChangedChangesTheVersion(t *testing.T) {
	t.Parallel()
	w := signin.Open(filepath.Join(t.TempDir(), "fondaco"), new(signin.Options))
	before := w.Version()
	if err := w.MarkChanged(); err != nil {
		t.Fatal(err)
	}
	if after := signin.Open(t.TempDir(), new(signin.Options)).Version(); after != "" {
		t.Errorf("got %v of another store", after)
	}
	if after := w.Version(); after == before {
		t.Errorf("got %v, want another stamp", after)
	}
}

func TestStoreInMemoryWritesNoFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	w := signin.InMemory(new(signin.Options))
	if err := signin.Store(w).Update(t.Context(), "k", func([]byte) ([]byte, error) { return []byte("token"), nil }); err != nil {
		t.Fatal(err)
	}
	if err := w.MarkChanged(); err != nil || w.Version() != "" {
		t.Errorf("got %v, and version %q, want nothing marked", err, w.Version())
	}
	if value, err := signin.Store(w).Load(t.Context(), "k"); string(value) != "token" || err != nil {
		t.Errorf("got %q, %v, want what was stored", value, err)
	}
	if files, err := os.ReadDir(dir); len(files) > 0 || err != nil {
		t.Errorf("got the files %v, %v, want none", files, err)
	}
}

func TestOnlyServersOverHTTPAreSignedInTo(t *testing.T) {
	t.Parallel()
	w := signin.Open(t.TempDir(), new(signin.Options))
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
