package storage_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/storage"
	"github.com/fondaco/fondaco/host/userkey"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }

// open returns a storage with a home of its own, and the directory for state.
func open(t *testing.T, address string) (s *storage.Storage, dir string) {
	t.Helper()
	home := t.TempDir()
	env := map[string]string{"XDG_STATE_HOME": home, userkey.Variable: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}
	s = storage.New(storage.Options{
		Env:  func(name string) (string, bool) { value, ok := env[name]; return value, ok },
		Keys: func() ([]mcpserver.Key, error) { return nil, nil }, Address: address,
		Message: t.Logf, Logger: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(s.Close)
	return s, filepath.Join(home, "fondaco")
}

func TestNothingIsOnDiskBeforeItIsWritten(t *testing.T) {
	t.Parallel()
	s, dir := open(t, "")
	if _, err := s.State(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Tokens(); err != nil {
		t.Fatal(err)
	}
	if e, err := s.Engine(); e != nil || err != nil || s.IsShared() {
		t.Errorf("got %v, %v, want no store of several hosts", e, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want no directory", err)
	}
}

func TestStoreOfSeveralHostsNeedsKeys(t *testing.T) {
	t.Parallel()
	s, _ := open(t, "redis://127.0.0.1:1")
	if _, err := s.State(); err == nil {
		t.Error("got a state, want an error")
	} else if _, ok := errors.AsType[*storage.SettingsError](err); !ok {
		t.Errorf("got %v, want an error of the settings", err)
	}
}

func TestAuditLogIsVerifiedWithTheKeyOfItsUser(t *testing.T) {
	t.Parallel()
	s, dir := open(t, "")
	log, _, err := s.OpenAudit()
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Write(host.Decision{Upstream: "files", Action: host.ActionStart, Outcome: host.OutcomeDone}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	path, _, err := s.AuditFile(t.Context())
	if err != nil || filepath.Dir(path) != dir {
		t.Fatalf("got %s, %v, want a file in %s", path, err, dir)
	}
	if r, err := s.VerifyAudit(t.Context()); err != nil || !r.OK() || r.Lines == 0 || r.Open != 0 {
		t.Errorf("got %+v, %v, want the line, and that its writer has closed the log", r, err)
	}
}
