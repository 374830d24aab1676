package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

func TestOnlyStatusThatTheSummaryLacksIsPrinted(t *testing.T) {
	t.Parallel()
	var words bytes.Buffer
	s := &summary{to: &Main{IO: terminal.IO{Stderr: &words}, Args: []string{"fondaco"}}, base: "http://127.0.0.1:1"}
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

func TestExampleOfACallIsHarmless(t *testing.T) {
	t.Parallel()
	tool := func(name, description string, readOnly bool) mcp.Tool {
		return mcp.Tool{Name: name, Description: description, InputSchema: []byte(`{"type": "object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: &readOnly}}
	}
	env, dump, remove, list := tool("s__get-env", "", true), tool("s__dump", "Returns all environment variables", true), tool("s__rm", "", false), tool("s__list", "List files", true)
	for _, test := range []struct {
		tools []mcp.Tool
		all   []host.Status
		want  string
	}{
		{[]mcp.Tool{env, dump, remove, list}, nil, "call s/list"},
		{[]mcp.Tool{env, dump, remove}, nil, "tools s/get-env"},
		{nil, []host.Status{{State: host.Ready, WaitingCount: 1}}, "servers"},
		{nil, []host.Status{{State: host.Ready}}, "resources"},
	} {
		if got := new(summary).exampleCall(test.tools, test.all); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestSummaryOfAProtectedHostNamesTheTokenThatClientsNeed(t *testing.T) {
	t.Parallel()
	g := gateway.New(nil, nil)
	defer g.Close()
	for tokens, want := range map[string]bool{"": false, "/state/clients.tokens": true} {
		var words bytes.Buffer
		(&summary{to: &Main{IO: terminal.IO{Stderr: &words}, Args: []string{"fondaco"}}, base: "http://127.0.0.1:1", tokens: tokens}).print(g)
		text := words.String()
		if got := strings.Count(text, "Authorization") == 2 && strings.Contains(text, "TOKEN is what follows NAME: in a line of /state/clients.tokens"); got != want {
			t.Errorf("tokens %q: got %q", tokens, text)
		}
	}
}

// The line on the terminal names the first variables, and fondaco servers NAME all of them.
func TestVariablesThatAProgramDidNotGetArePrinted(t *testing.T) {
	t.Parallel()
	var words strings.Builder
	m := &Main{IO: terminal.IO{Stdout: &words, Stderr: &words}, Args: []string{"fondaco"}}
	failed := host.Status{Key: "late", State: host.Failed, Reason: "exited", Withheld: []string{"TOKEN", "A", "B", "C", "D"}}
	line := (&summary{to: m}).line(failed)
	if want := "exited; variables that it did not get: TOKEN, A, B and 2 more"; !strings.HasSuffix(line, want) {
		t.Errorf("got %q, want it to end in %q", line, want)
	}
	if err := new(serversCommand).one(new(serverConn), m, failed); err != nil || !strings.Contains(words.String(), "  TOKEN, A, B, C, D\n") {
		t.Errorf("got %q, %v, want all names", words.String(), err)
	}
}
