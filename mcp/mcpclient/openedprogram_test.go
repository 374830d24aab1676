package mcpclient_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A program that takes the place of the checked one between check and start does not run.
func TestOpenedProgramRunsAlthoughItsNameLeadsElsewhere(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("this system runs programs by their path")
	}
	target := child(t, "session")
	checked := target.Path
	dir := t.TempDir()
	target.Path = filepath.Join(dir, "server")
	evil := filepath.Join(dir, "evil")
	if err := os.WriteFile(evil, []byte("#!/bin/sh\ntouch "+filepath.Join(dir, "ran")+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	starts := 0
	target.Open = func() (*os.File, error) {
		starts++
		_ = os.Remove(target.Path)
		if err := os.Symlink(checked, target.Path); err != nil {
			return nil, err
		}
		f, err := os.Open(target.Path)
		if err == nil {
			err = os.Remove(target.Path)
		}
		if err == nil {
			err = os.Symlink(evil, target.Path) // the attacker is faster than the start
		}
		return f, err
	}
	for range 5 {
		c := connect(t, target, nil)
		if got, err := c.Call[string](t.Context(), "env", nil); err != nil || got != "given" {
			t.Errorf("got %q, %v, want the checked program", got, err)
		}
		_ = c.Close()
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil || starts < 5 {
		t.Errorf("got the other program run, or %d starts", starts)
	}
}

func TestStartIsPreventedOrEndedByTheCheckOfACaller(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	target := child(t, "session")
	target.Open = func() (*os.File, error) { return nil, refused }
	if _, err := mcpclient.Connect(t.Context(), target, nil); !errors.Is(err, refused) {
		t.Errorf("got %v, want the error of Open", err)
	}
	target = child(t, "session")
	ended := make(chan struct{}, 1)
	target.Stderr = func(line string, _ int) {
		if line == endOfInput {
			ended <- struct{}{}
		}
	}
	target.Verify = func() error { return refused }
	if _, err := mcpclient.Connect(t.Context(), target, nil); !errors.Is(err, refused) {
		t.Errorf("got %v, want the error of Verify", err)
	}
	<-ended
}
