package repository_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A block is what a reader of README.md would paste into a terminal. One marked
// sh is a script. One marked console is a session: commands after "$ ", each
// followed by what it prints, where "..." stands for any text and a last line
// "^C" interrupts a command that would go on.
type block struct {
	line     int // of the opening fence
	commands []command
}

type command struct {
	script      string
	prints      *regexp.Regexp // nil: anything
	interrupted bool           // by the reader, once it has printed that
}

// startsServer reports whether the command starts a host that later commands use.
func (c command) startsServer() bool { return strings.HasPrefix(c.script, "fondaco up") }

func shellBlocks(markdown string) (blocks []block) {
	var kind string
	var text []string
	for i, line := range strings.Split(markdown, "\n") {
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && kind == "":
			kind, text = fence+" block", nil
			blocks = append(blocks, block{line: i + 1})
		case isFence:
			last := &blocks[len(blocks)-1]
			switch kind {
			case "sh block", "bash block", "shell block":
				last.commands = []command{{script: strings.Join(text, "\n")}}
			case "console block":
				last.commands = session(text)
			}
			kind = ""
		default:
			text = append(text, line)
		}
	}
	return slices.DeleteFunc(blocks, func(b block) bool { return len(b.commands) == 0 })
}

// session splits the lines of a console block into commands and their output.
func session(lines []string) (commands []command) {
	for len(lines) > 0 {
		script := strings.TrimPrefix(lines[0], "$ ")
		lines = lines[1:]
		for strings.HasSuffix(script, "\\") && len(lines) > 0 {
			script += "\n" + lines[0]
			lines = lines[1:]
		}
		end := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "$ ") })
		if end < 0 {
			end = len(lines)
		}
		commands = append(commands, newCommand(script, lines[:end]))
		lines = lines[end:]
	}
	return commands
}

func newCommand(script string, output []string) command {
	c := command{script: script}
	if n := len(output); n > 0 && output[n-1] == "^C" {
		c.interrupted = true
		output = output[:n-1]
	}
	quoted := regexp.QuoteMeta(strings.TrimSpace(strings.Join(output, "\n")))
	c.prints = regexp.MustCompile(`(?s)^\s*` + strings.ReplaceAll(quoted, regexp.QuoteMeta("..."), ".*") + `\s*$`)
	return c
}

func TestShellBlocksAreFound(t *testing.T) {
	got := shellBlocks("Text.\n```sh\nfondaco up\n```\n```go\nx := 1\n```\n" +
		"```console\n$ bin/fondaco tools \\\n    --json\nadd ...\necho\n$ bin/fondaco watch\nready\n^C\n```\n")
	if len(got) != 2 || got[0].line != 2 || got[1].line != 8 || len(got[1].commands) != 2 {
		t.Fatalf("got %+v, want a script at line 2 and a session of two commands at line 8", got)
	}
	script, tools, watch := got[0].commands[0], got[1].commands[0], got[1].commands[1]
	if script.script != "fondaco up" || !script.startsServer() || script.prints != nil {
		t.Errorf("got %+v, want a script that starts a server and prints anything", script)
	}
	if tools.script != "bin/fondaco tools \\\n    --json" || tools.interrupted {
		t.Errorf("got %+v, want one command on two lines", tools)
	}
	if !tools.prints.MatchString("add (a, b)\necho\n") || tools.prints.MatchString("add (a, b)\n") {
		t.Errorf("got %v, want a pattern of two lines", tools.prints)
	}
	if watch.script != "bin/fondaco watch" || !watch.interrupted || !watch.prints.MatchString("ready\n") {
		t.Errorf("got %+v, want a command that is interrupted once it printed ready", watch)
	}
}
