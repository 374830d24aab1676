package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
)

func TestEmptyListNamesTheServersWhoseDefinitionsWait(t *testing.T) {
	t.Parallel()
	var words bytes.Buffer
	p := &serverConn{statuses: func(context.Context) ([]host.Status, error) {
		return []host.Status{{Key: "notes", State: host.Ready, WaitingCount: 6}, {Key: "clock", State: host.Ready}}, nil
	}}
	p.nameWaiting(t.Context(), &Main{Stderr: &words, Args: []string{"fondaco"}})
	if got := words.String(); !strings.Contains(got, `what the server "notes" lists waits for approval; fondaco approve notes`) || strings.Contains(got, "clock") {
		t.Errorf("got %q, want the server that waits, and how to approve it", got)
	}
}
