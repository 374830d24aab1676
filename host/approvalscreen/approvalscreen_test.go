package approvalscreen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/internal/hostiletext"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var hostileText = hostiletext.Imitation()

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
	one := func(pending ...approval.Pending) Item {
		q := &approval.Question{Pending: pending}
		if len(pending) > 1 {
			q.Replaced = program.Subject.Program.Files
		}
		p := &q.Pending[0]
		return Item{Upstream: &host.Upstream{Key: p.Subject.Name, Origin: host.Origin{File: hostileText, Project: hostileText}}, Server: p, Question: q}
	}
	named := host.WaitingDefinition{Kind: host.KindTool, Name: hostileText, OldName: hostileText, Change: host.DefinitionChanged, Findings: []string{hostileText}}
	changed := Item{Upstream: upstream, Change: &definition.Change{Version: hostileText, OldVersion: "1" + hostileText, Definitions: []definition.Difference{{
		WaitingDefinition: named, Description: hostileText, Annotations: []string{"destructive"}, Audience: hostileText, Diff: "+" + hostileText + "\n-" + hostileText,
	}}}}
	for name, show := range map[string]func(t *terminal.IO){
		"a program":         func(t *terminal.IO) { Show(t, []Item{one(program)}) },
		"a remote server":   func(t *terminal.IO) { Show(t, []Item{one(remote)}) },
		"replaced programs": func(t *terminal.IO) { Show(t, []Item{one(program, program)}) },
		"definitions":       func(t *terminal.IO) { Show(t, []Item{changed}) },
		"several servers":   func(t *terminal.IO) { Show(t, []Item{one(program), one(remote), changed}) },
		"many servers": func(t *terminal.IO) {
			Show(t, []Item{one(program), one(remote), one(program, program), changed})
		},
		"all texts": func(t *terminal.IO) { ShowTexts(t, []Item{one(program), one(remote), changed}) },
	} {
		for _, columns := range []int{40, 80, 81, 200} {
			words := new(strings.Builder)
			show(&terminal.IO{Stderr: words, Interactive: true, Env: []string{fmt.Sprintf("COLUMNS=%d", columns)}})
			if !strings.Contains(words.String(), "imitated  none") {
				t.Errorf("%s: got %s, want the texts shown", name, words)
			}
			for line := range strings.SplitSeq(words.String(), "\n") {
				if strings.Contains(line, "none") && line != terminal.Fit(line, columns) {
					t.Errorf("%s: got %q, which a terminal of %d columns breaks", name, line, columns)
				}
			}
			if line := hostiletext.Imitated(words.String()); line != "" {
				t.Errorf("%s in %d columns: got %q, want a mark in front", name, columns, line)
			}
		}
	}
}

func TestArgumentsThatLookLikeSecretsAreNamedBeforeAServerIsApproved(t *testing.T) {
	t.Parallel()
	words := new(strings.Builder)
	u := &host.Upstream{Key: "a", Target: mcpclient.Command("run", "--api-key", "canary-argument", "--token=canary-flag", "--name", "plain-name")}
	q := approval.Question{Pending: []approval.Pending{{Upstream: u, Subject: &approval.Subject{Name: "a", Program: new(approval.Program)}}}}
	Show(&terminal.IO{Stderr: words}, ItemsOf([]approval.Question{q}))
	if want := "visible    the value of --api-key, --token, to every user of this machine (ps)"; !strings.Contains(words.String(), want) || strings.Contains(words.String(), "canary") {
		t.Errorf("got %q, want %q, and no value", words, want)
	}
}
