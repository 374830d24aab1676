//go:build unix

package audit_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
)

// S-106: neither the log nor its index may be of somebody else, readable by others, or in a directory in
// which others can replace it.
func TestFilesOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	// The directory is changed after Open, which checks it by itself.
	write := func(l *audit.Log) error {
		return l.Write(host.Decision{Time: time.Now(), Upstream: "u", Action: host.ActionCall, Outcome: host.OutcomeBegun})
	}
	for what, test := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"a log that others can read":        {func(path string) error { return os.Chmod(path, 0o640) }, "mode 640: others can read it"},
		"an index that others can read":     {func(path string) error { return os.Chmod(path+".index", 0o604) }, "mode 604: others can read it"},
		"a directory that others can write": {func(path string) error { return os.Chmod(filepath.Dir(path), 0o777) }, "mode 777: others can replace files in it"},
		"a log of another user":             {func(path string) error { return os.Chown(path, 12345, 12345) }, "it belongs to the user with id 12345"},
		"an index of another user":          {func(path string) error { return os.Chown(path+".index", 12345, 12345) }, "it belongs to the user with id 12345"},
	} {
		if strings.HasSuffix(what, "another user") && os.Getuid() != 0 {
			continue // only the administrator can give a file away
		}
		first, path := open(t, nil)
		if err := errors.Join(write(first), first.Close()); err != nil {
			t.Fatal(err)
		}
		l, err := audit.Open(path, &audit.Options{Key: func(context.Context) ([]byte, error) { return testKey, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if err := test.change(path); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(what, "log") {
			_ = l.Close()
			if l, err = audit.Open(path, nil); err == nil {
				t.Errorf("%s: was opened", what)
			}
		} else {
			if err = write(l); err == nil {
				t.Errorf("%s: was written to", what)
			}
			if _, err := audit.Verify(t.Context(), path, testKey, nil); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v from verify, want %q", what, err, test.want)
			}
		}
		if err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", what, err, test.want)
		}
		if l != nil {
			_ = l.Close()
		}
	}
}
