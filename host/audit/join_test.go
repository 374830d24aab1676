package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/userfile"
)

// obstacles keep a process from being added to the index. Each returns what ends it.
func obstacles(t *testing.T) map[string]func(path string) (end func()) {
	all := map[string]func(path string) (end func()){
		"another process holds the lock": func(path string) func() {
			unlock, err := userfile.Lock(context.Background(), path+".lock") // that of the test is not of the bubble
			if err != nil {
				t.Fatal(err)
			}
			return unlock
		},
	}
	if runtime.GOOS != "windows" {
		all["others can read the index"] = func(path string) func() {
			if err := errors.Join(os.WriteFile(path+".index", nil, 0o600), os.Chmod(path+".index", 0o640)); err != nil {
				t.Fatal(err)
			}
			return func() { _ = os.Chmod(path+".index", 0o600) }
		}
	}
	return all
}

func TestProcessThatIsNotInTheIndexWritesNothing(t *testing.T) {
	t.Parallel()
	for what, begin := range obstacles(t) {
		synctest.Test(t, func(t *testing.T) {
			l, path := open(t, nil)
			end := begin(path)
			write := func(name string, o host.Outcome) error {
				return l.Write(host.Decision{Time: time.Now(), Upstream: "u", Action: host.ActionCall, Name: name, Outcome: o})
			}
			if err := write("refused", host.OutcomeBegun); err == nil || !strings.Contains(err.Error(), "index") {
				t.Errorf("%s: got %v, want the call refused", what, err)
			}
			for i := range 3 {
				if err := write(fmt.Sprint("made", i), host.OutcomeDone); err == nil {
					t.Errorf("%s: got no error for a line that is not written", what)
				}
			}
			if text := read(t, path); text != "" {
				t.Errorf("%s: got %s, want no line", what, text)
			}
			end()
			time.Sleep(2 * time.Second) // until it is tried again
			if err := write("later", host.OutcomeBegun); err != nil {
				t.Errorf("%s: got %v, want calls made again", what, err)
			}
			var names []string
			for _, r := range records(t, path, audit.Query{}) {
				names = append(names, r.Name)
			}
			if want := []string{"made0", "made1", "made2", "later"}; !slices.Equal(names, want) {
				t.Errorf("%s: got %q, want %q: what has happened, and no call that was refused", what, names, want)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if r := verify(t, path); !r.OK() {
				t.Errorf("%s: got %+v, want no problem", what, r.Problems)
			}
		})
	}
}

func TestProcessThatEndsWithoutBeingInTheIndexLeavesNoProblem(t *testing.T) {
	t.Parallel()
	for what, begin := range obstacles(t) {
		synctest.Test(t, func(t *testing.T) {
			l, path := open(t, nil)
			end := begin(path)
			for range 3 {
				_ = l.Write(host.Decision{Time: time.Now(), Upstream: "u", Action: host.ActionCall, Outcome: host.OutcomeDone})
			}
			if err := l.Close(); err == nil || !strings.Contains(err.Error(), "lines that could not be written: 3") {
				t.Errorf("%s: got %v, want the number of lines", what, err)
			}
			end()
			if r := verify(t, path); !r.OK() {
				t.Errorf("%s: got %+v, want no problem", what, r.Problems)
			}
		})
	}
}
