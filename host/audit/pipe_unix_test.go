//go:build unix

package audit_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
)

// To open a pipe without another end waits for that end.
func TestPipeInThePlaceOfAFileIsAnError(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".index", ".000001"} {
		l, path := open(t, nil)
		if err := errors.Join(l.Write(host.Decision{Time: time.Now(), Upstream: "u"}), l.Close()); err != nil {
			t.Fatal(err)
		}
		_ = os.Remove(path + name)
		if err := syscall.Mkfifo(path+name, 0o600); err != nil {
			t.Fatal(err)
		}
		wantError := func(what string, do func() error) {
			t.Helper()
			done := make(chan error, 1)
			go func() { done <- do() }()
			select {
			case err := <-done:
				if err == nil {
					t.Errorf("%s of a pipe at %q: got no error", what, name)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s of a pipe at %q: hangs", what, name)
			}
		}
		wantError("verify", func() error {
			_, err := audit.Verify(t.Context(), path, testKey, nil)
			if err != nil && !strings.Contains(err.Error(), "want a regular file") {
				t.Errorf("%q: got %v, want it said what is wrong", name, err)
			}
			return err
		})
		if name != ".index" {
			wantError("search", func() error {
				for _, err := range audit.Search(t.Context(), path, testKey, &audit.Query{}) {
					return err
				}
				return nil
			})
		}
		if name != ".000001" { // which no writer opens
			wantError("writing", func() error {
				again, err := audit.Open(path, &audit.Options{Key: func(context.Context) ([]byte, error) { return testKey, nil }})
				if err != nil {
					return err
				}
				defer again.Close()
				return again.Write(host.Decision{Time: time.Now(), Upstream: "u"})
			})
		}
	}
}
