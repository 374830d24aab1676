package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestLongLineIsWrappedBehindAMark(t *testing.T) {
	t.Parallel()
	words := new(strings.Builder)
	m := &Main{IO: terminal.IO{Stderr: words, Interactive: true, Env: []string{"COLUMNS=60"}}}
	m.PrintWrapped("  %s", "sh -c '"+strings.Repeat(" ", 60)+"roots      none'")
	m.PrintWrapped("  %-10s %s", "data", "a\nb")
	if want := "  sh -c '" + strings.Repeat(" ", 50) + "\n    | " + strings.Repeat(" ", 10) + "roots      none'\n  data       a\\nb\n"; words.String() != want {
		t.Errorf("got %q, want %q", words.String(), want)
	}
}

// hostileText fills lines of a terminal of any width: where one breaks it, the next line begins with words of the host.
var hostileText = func() string {
	var b strings.Builder
	for i := range 120 {
		fmt.Fprintf(&b, "%*simitated  none", i%30, "")
	}
	return b.String()
}()

// hostilePending are a program and a remote server whose every text is hostileText.
func hostilePending() (program, remote approval.Pending) {
	u := &host.Upstream{Key: "one", Target: &mcpclient.CommandTarget{Path: "sh"}, Settings: host.Settings{Roots: []string{hostileText}}}
	variables := []approval.Variable{{Name: hostileText}, {Name: "A", From: hostileText}, {Name: "B", Value: hostileText}}
	tools := &approval.Tools{Count: 1, Others: []string{hostileText, hostileText, hostileText}}
	program = approval.Pending{
		Upstream: u, Changes: []string{hostileText}, Tools: tools, Proxies: []string{hostileText},
		Subject: &approval.Subject{Name: "one", File: hostileText, Project: hostileText, Roots: []approval.Root{{Path: hostileText, Target: hostileText}}, Program: &approval.Program{
			Command: "sh", Args: []string{"-c", "curl " + hostileText + " | sh"}, Dir: hostileText, DirTarget: hostileText,
			Files: []commandfiles.File{{Role: commandfiles.RoleProgram, Path: hostileText, Target: hostileText}}, Data: []string{hostileText},
			EnvFile: hostileText, Variables: variables, NotCovered: []string{hostileText}, Concerns: []string{hostileText},
		}},
	}
	remote = approval.Pending{
		Upstream: u, Changes: []string{hostileText}, Tools: tools,
		Subject: &approval.Subject{Name: "far", File: hostileText, Project: hostileText, Remote: &approval.Remote{
			URL: "https://example.com/" + hostileText, Transport: "over HTTP", Headers: variables, SignIn: variables, Sends: []string{hostileText}, Concerns: []string{hostileText},
		}},
	}
	return program, remote
}

func TestTextOfOthersBeginsNoLineOfAnApproval(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-359a")
	program, remote := hostilePending()
	upstream := program.Upstream
	one := func(pending ...approval.Pending) pendingApproval {
		q := &approval.Question{Pending: pending}
		if len(pending) > 1 {
			q.Replaced = program.Subject.Program.Files
		}
		p := &q.Pending[0]
		return pendingApproval{upstream: &host.Upstream{Key: p.Subject.Name, Origin: host.Origin{File: hostileText, Project: hostileText}}, server: p, question: q}
	}
	named := host.WaitingDefinition{Kind: host.KindTool, Name: hostileText, OldName: hostileText, Change: host.DefinitionChanged, Findings: []string{hostileText}}
	changed := pendingApproval{upstream: upstream, change: &definition.Change{Version: hostileText, OldVersion: "1" + hostileText, Definitions: []definition.Difference{{
		WaitingDefinition: named, Description: hostileText, Annotations: []string{"destructive"}, Audience: hostileText, Diff: "+" + hostileText + "\n-" + hostileText,
	}}}}
	asked := consent.Question{ID: "1", Text: hostileText, Client: hostileText, Details: []consent.Detail{{Name: consent.DetailMessage, Text: hostileText}}}
	for name, show := range map[string]func(m *Main){
		"a program":         func(m *Main) { m.showPending([]pendingApproval{one(program)}) },
		"a remote server":   func(m *Main) { m.showPending([]pendingApproval{one(remote)}) },
		"replaced programs": func(m *Main) { m.showPending([]pendingApproval{one(program, program)}) },
		"definitions":       func(m *Main) { m.showPending([]pendingApproval{changed}) },
		"several servers":   func(m *Main) { m.showPending([]pendingApproval{one(program), one(remote), changed}) },
		"many servers": func(m *Main) {
			m.showPending([]pendingApproval{one(program), one(remote), one(program, program), changed})
		},
		"all texts":           func(m *Main) { m.showPendingTexts([]pendingApproval{one(program), one(remote), changed}) },
		"a call":              func(m *Main) { m.showQuestion(&asked, maxShownArguments) },
		"a server's question": func(m *Main) { m.showServerDetails(&asked) },
	} {
		for _, columns := range []int{40, 80, 81, 200} {
			words := new(strings.Builder)
			show(&Main{IO: terminal.IO{Stderr: words, Interactive: true, Env: []string{fmt.Sprintf("COLUMNS=%d", columns)}}, Args: []string{"fondaco"}})
			if !strings.Contains(words.String(), "imitated  none") {
				t.Errorf("%s: got %s, want the texts shown", name, words)
			}
			for line := range strings.SplitSeq(words.String(), "\n") {
				switch begin := strings.TrimLeft(line, " "); {
				case strings.Contains(line, "none") && line != terminal.Fit(line, columns):
					t.Errorf("%s: got %q, which a terminal of %d columns breaks", name, line, columns)
				case strings.HasPrefix(begin, "imitated"), strings.HasPrefix(begin, "none"):
					t.Errorf("%s in %d columns: got %q, want a mark in front", name, columns, line)
				}
			}
		}
	}
}
