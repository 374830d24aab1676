package audit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
)

func open(t *testing.T, o *audit.Options) (*audit.Log, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state", "audit.jsonl")
	l, err := audit.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestEachDecisionIsOneLine(t *testing.T) {
	t.Parallel()
	l, path := open(t, nil)
	d := host.Decision{
		Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Principal: "local", Upstream: "files",
		Action: host.ActionCall, Name: "read\nfile", Outcome: host.OutcomeFailed, Reason: "no\nsuch file", Duration: 12 * time.Millisecond,
	}
	if err := l.Write(d); err != nil {
		t.Fatal(err)
	}
	want := `{"time":"2026-01-02T03:04:05Z","principal":"local","upstream":"files","action":"call","name":"read\nfile","outcome":"failed","reason":"no\nsuch file","ms":12}` + "\n"
	if got := read(t, path); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file for the user alone", info.Mode(), err)
	}
}

func TestSecretsAreLeftOut(t *testing.T) {
	t.Parallel()
	l, path := open(t, nil)
	const canary = "cAnArY"
	l.Hide([]string{"known-" + canary, "known-" + canary + "-longer", "no"})
	for _, text := range []string{
		"with known-" + canary, "with known-" + canary + "-longer",
		"Authorization: Bearer " + canary + "." + canary, "basic " + canary + "==",
		"sk-" + canary + "12345678", "ghp_" + canary + "12345678", "github_pat_" + canary + "12345678", "xoxb-" + canary + "12345678",
		"eyJhbGciOi" + canary + ".eyJzdWIi" + canary + ".x" + canary,
		"https://user:" + canary + "@example.com/x", "https://example.com/?api_key=" + canary + "&x=1", "password=" + canary,
	} {
		if err := l.Write(host.Decision{Upstream: "u", Name: text, Reason: text}); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(read(t, path)) {
		if strings.Contains(line, canary) || strings.Count(line, "[hidden]") < 2 {
			t.Errorf("got %s, want the secret left out", line)
		}
	}
	if err := l.Write(host.Decision{Upstream: "u", Reason: "tool not found"}); err != nil || !strings.HasSuffix(read(t, path), `"reason":"tool not found","ms":0}`+"\n") {
		t.Errorf("got %s, %v, want plain words kept", read(t, path), err)
	}
}

func TestFilesAreBoundedInSizeAndNumber(t *testing.T) {
	t.Parallel()
	l, path := open(t, &audit.Options{MaxSize: 1000, Keep: 2})
	for i := range 100 {
		if err := l.Write(host.Decision{Upstream: "u", Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) != 3 {
		t.Errorf("got %v, %v, want the file and two that were put aside", files, err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err != nil || info.Size() > 1200 {
			t.Errorf("%s: got %d bytes, %v, want little more than 1000", file, info.Size(), err)
		}
	}
	if !strings.Contains(read(t, path), `"99"`) || !strings.Contains(read(t, path+".1"), `"ms"`) {
		t.Error("want the newest in the file itself")
	}
}

func TestConcurrentWritersLoseNothing(t *testing.T) {
	t.Parallel()
	one, path := open(t, &audit.Options{MaxSize: 2000, Keep: 100})
	two, err := audit.Open(path, &audit.Options{MaxSize: 2000, Keep: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	for i := range 200 {
		l := one
		if i%2 == 0 {
			l = two
		}
		if err := l.Write(host.Decision{Upstream: "u", Name: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, file := range files {
		lines += strings.Count(read(t, file), "\n")
	}
	if lines != 200 || len(files) < 5 {
		t.Errorf("got %d lines in %d files, want all 200 in several", lines, len(files))
	}
}

func TestClosedLogTakesNothing(t *testing.T) {
	t.Parallel()
	l, _ := open(t, nil)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("got %v, want a second Close to do nothing", err)
	}
	if err := l.Write(host.Decision{}); err == nil {
		t.Error("got no error, want one")
	}
}
