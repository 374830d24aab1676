package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
)

func TestOnlyStatusThatTheSummaryLacksIsPrinted(t *testing.T) {
	t.Parallel()
	var words bytes.Buffer
	s := &summary{to: &Main{Stderr: &words, Args: []string{"fondaco"}}, base: "http://127.0.0.1:1"}
	g := gateway.New([]host.Upstream{{Key: "late", Transport: "over stdio"}}, nil)
	defer g.Close()
	failed := host.Status{Key: "late", State: host.Failed, Reason: "no such thing"}
	s.onStatus(failed)
	if words.Len() > 0 {
		t.Errorf("before the summary: got %q, want silence", words.String())
	}
	s.print(g)
	words.Reset()
	s.onStatus(g.Status()[0])
	if words.Len() > 0 {
		t.Errorf("as the summary said: got %q, want silence", words.String())
	}
	s.onStatus(failed)
	s.onStatus(failed)
	if got := words.String(); strings.Count(got, "  upstream   late    failed    no such thing\n") != 1 {
		t.Errorf("got %q, want the failure once", got)
	}
}
