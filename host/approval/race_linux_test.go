package approval_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// What was digested is what starts: a program or script that is exchanged between the
// check and the start is found, also if its size and times are the same.
func TestFilesExchangedAfterTheCheckAreNotStarted(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.write("home/bin/node", "\x7fELF good")
	m.write("proj/server.js", "good")
	u := m.server("proj", "x", "node", "server.js")
	c := u.Target.(*mcpclient.CommandTarget)
	c.Env["PATH"] = m.path("home/bin")
	m.approve(u)
	admit := func() *mcpclient.CommandTarget {
		t.Helper()
		admitted, err := m.a.Admit(t.Context(), u)
		m.must(err)
		return admitted.Target.(*mcpclient.CommandTarget)
	}

	target := admit()
	f, err := target.Open()
	m.must(err)
	m.write("home/bin/node", "\x7fELF evil") // after it was opened: the opened one runs
	content, err := io.ReadAll(f)
	_ = f.Close()
	if err != nil || string(content) != "\x7fELF good" {
		t.Errorf("got %q, %v, want the file that was digested", content, err)
	}
	if err := target.Verify(); err == nil || !strings.Contains(err.Error(), "was changed while the server was started") {
		t.Errorf("got %v, want the exchange found", err)
	}
	if _, err := target.Open(); err == nil || !strings.Contains(err.Error(), "was changed while the server was started") {
		t.Errorf("open: got %v, want the other file refused", err)
	}

	m.write("home/bin/node", "\x7fELF good")
	target = admit()
	overwrite(t, m.path("home/bin/node"), "\x7fELF evil")
	if _, err := target.Open(); err == nil {
		t.Error("got a file opened that was overwritten in place")
	}
	m.write("home/bin/node", "\x7fELF good")
	target = admit()
	m.must(target.Verify())
	overwrite(t, m.path("proj/server.js"), "evil")
	if err := target.Verify(); err == nil {
		t.Error("got no error for a script that was overwritten in place")
	}
	overwrite(t, m.path("proj/server.js"), "good")
	if err := target.Verify(); err != nil {
		t.Errorf("got %v for a file that was only touched", err)
	}
	m.must(os.Remove(m.path("proj/server.js")))
	if err := target.Verify(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want the missing script", err)
	}
}

// overwrite changes a file in place, and restores its time.
func overwrite(t *testing.T, path, content string) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
}
