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
	node     string // path of the Node that runs it
	programs string // directory of server and client
	results  string // directory of the output
}

// program returns the path of the server or the client.
func (s *suite) program(role string) string { return filepath.Join(s.programs, role) }

// runTimeout limits one run.
const runTimeout = 5 * time.Minute

// play runs the scenarios of a run, writes the output to the directory, and returns the
// outcomes in the order of the suite. It ignores the suite's own result, which is less
// strict.
func (s *suite) play(ctx context.Context, r run, serverURL, dir string) ([]outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, runTimeout)
	defer cancel()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	args := append(r.args(), "-o", dir)
	if r.role == "server" {
		args = append(args, "--url", serverURL)
	} else {
		args = append(args, "--command", reportExit(s.program("client")))
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
		outcomes = append(outcomes, readOutcome(dir, r.role, scenario))
	}
	return outcomes, nil
}

// command returns the suite's command with these arguments.
func (s *suite) command(ctx context.Context, args []string) *exec.Cmd {
	preload := "." + string(filepath.Separator) + filepath.Join(home, "loopback.cjs")
	main := filepath.Join(home, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	return exec.CommandContext(ctx, s.node, append([]string{"--require", preload, main}, args...)...)
}

// reportExit is a shell command that runs a program with one more argument and prints its
// exit code in the last line, because the suite ignores it.
func reportExit(program string) string {
	return fmt.Sprintf(`tell() { '%s' "$1"; echo "exit $?"; }; tell`, program)
}

// summary matches a line of the suite's summary. For a scenario that throws it is the
// only output.
var summary = regexp.MustCompile(`(?m)^[^\s\w]+ (\S+): \d+ passed, \d+ failed`)

func scenariosOf(output []byte) (names []string) {
	for _, match := range summary.FindAllSubmatch(output, -1) {
		names = append(names, string(match[1]))
	}
	return names
}
