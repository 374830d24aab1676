package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
)

func TestEmptyListNamesTheServersWhoseDefinitionsWait(t *testing.T) {
	t.Parallel()
	var words bytes.Buffer
	p := &serverConn{statuses: func(context.Context) ([]host.Status, error) {
		return []host.Status{{Key: "notes", State: host.Ready, WaitingCount: 6}, {Key: "clock", State: host.Ready}}, nil
	}}
	p.nameWaiting(t.Context(), &Main{IO: terminal.IO{Stderr: &words}, Args: []string{"fondaco"}})
	if got := words.String(); !strings.Contains(got, `what the server "notes" lists waits for approval; fondaco approve notes`) || strings.Contains(got, "clock") {
		t.Errorf("got %q, want the server that waits, and how to approve it", got)
	}
}

func TestNamesThatBeginAsTypedAreSuggestedWhole(t *testing.T) {
	t.Parallel()
	names := []string{"files/list", "files/read", "files/read_all", "git/log", "git/read", "issues/list"}
	for written, want := range map[string]string{
		"log":        " (did you mean git/log?)",
		"lo":         " (did you mean git/log?)",
		"git":        " (did you mean git/log or git/read?)",
		"git/":       " (did you mean git/log or git/read?)",
		"files":      " (did you mean files/list, files/read or files/read_all?)",
		"re":         " (did you mean files/read, files/read_all or git/read?)",
		"l":          " (did you mean files/list, git/log or issues/list?)",
		"":           "",
		"files/raed": " (did you mean files/read?)",
		"nothing":    "",
	} {
		if got := featureHint(written, names); got != want {
			t.Errorf("%q: got %q, want %q", written, got, want)
		}
	}
	if got, want := featureHint("a", []string{"a/1", "a/2", "a/3", "a/4", "a/5"}), " (did you mean a/1, a/2, a/3 or 2 others?)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
