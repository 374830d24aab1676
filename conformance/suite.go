package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"time"
)

// A suite is the conformance suite, ready to run.
type suite struct {
	node     string // the Node that runs it
	programs string // the directory of the server and the client
	results  string // the directory of what it writes
}

// program returns the path of the server or the client.
func (s *suite) program(leg string) string { return filepath.Join(s.programs, leg) }

// runTime is how long one run may take.
const runTime = 5 * time.Minute

// play makes one run, leaves what comes of it in the directory, and returns the
// outcomes in the order of the suite. What the suite itself makes of them is not
// asked for: it cares for less.
func (s *suite) play(ctx context.Context, r run, serverURL, dir string) ([]outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	args := append(r.args(), "-o", dir)
	if r.leg == "server" {
		args = append(args, "--url", serverURL)
	} else {
		args = append(args, "--command", exitTold(s.program("client")))
	}
	output, err := s.command(ctx, args).CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && (!exited || ctx.Err() != nil) {
		return nil, errors.Join(err, ctx.Err())
	}
	if err := os.WriteFile(filepath.Join(dir, "suite.log"), output, 0o644); err != nil {
		return nil, err
	}
	var outcomes []outcome
	for _, scenario := range scenariosOf(output) {
		outcomes = append(outcomes, readOutcome(dir, r.leg, scenario))
	}
	return outcomes, nil
}

// command is the suite with these arguments.
func (s *suite) command(ctx context.Context, args []string) *exec.Cmd {
	preload := "." + string(filepath.Separator) + filepath.Join(home, "loopback.cjs")
	main := filepath.Join(home, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	return exec.CommandContext(ctx, s.node, append([]string{"--require", preload, main}, args...)...)
}

// exitTold is a shell command that runs a program with one more argument and says
// in its last line how it exited, for which the suite does not care.
func exitTold(program string) string {
	return fmt.Sprintf(`tell() { '%s' "$1"; echo "exit $?"; }; tell`, program)
}

// summary is a line of the suite's summary. Of a scenario that throws it is all.
var summary = regexp.MustCompile(`(?m)^[^\s\w]+ (\S+): \d+ passed, \d+ failed`)

func scenariosOf(output []byte) (names []string) {
	for _, match := range summary.FindAllSubmatch(output, -1) {
		names = append(names, string(match[1]))
	}
	return names
}
