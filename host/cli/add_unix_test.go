//go:build unix

package cli_test

import (
	"strings"
	"syscall"
	"testing"
)

// A running host of the file asks for the approval of what is added. The demonstration reads no file.
func TestAddSaysWhatStartsTheServer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	run := "env XDG_RUNTIME_DIR=" + home + "/run " + program(t)
	add := func(name, want string) {
		t.Helper()
		p := start(t, home, run+" add "+name+" -- "+program(t))
		if code := p.end(t); code != 0 || !strings.Contains(p.stderr.String(), want) {
			t.Errorf("got %d, %s, want %q", code, p.stderr.String(), want)
		}
	}
	demonstration := start(t, home, run+" up --addr 127.0.0.1:0")
	demonstration.stderr.await(t, upstreamsStarted)
	add("one", "runs the demonstration: end it, and start ")
	demonstration.signal(t, syscall.SIGTERM)
	add("two", " up starts the servers of the file, and asks first")
	start(t, home, run+" up --addr 127.0.0.1:0").stderr.await(t, "one .*needs approval")
	add("three", "the running host waits for your approval: ")
}
