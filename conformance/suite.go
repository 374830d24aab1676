package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// A suite is the conformance suite, ready to run.
type suite struct {
	node     string // the Node that runs it
	programs string // the directory of the server and the client
	results  string // the directory of what it writes
}

// oldestNode is the major version that the suite needs.
const oldestNode = 22

// runTime is how long one run may take.
const runTime = 5 * time.Minute

// missingTools says what this machine lacks to install the suite, if anything.
func missingTools() string {
	if runtime.GOOS == "windows" {
		return "the suite starts clients by the system's shell, which has to be a POSIX one"
	}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool + " is not installed"
		}
	}
	return ""
}

// install installs the suite as package-lock.json has it, unless that was done
// already, with a Node of its own where the installed one is too old.
func install(ctx context.Context) (*suite, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &suite{node: "node", programs: filepath.Dir(program)}
	s.results = filepath.Join(s.programs, "results")
	if err := errors.Join(os.RemoveAll(s.results), os.MkdirAll(s.results, 0o755)); err != nil {
		return nil, err
	}
	args := []string{"ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"}
	own := nodeVersion(ctx) < oldestNode
	if !own {
		args = append(args, "--omit=optional")
	}
	if err := npm(ctx, args); err != nil {
		return nil, err
	}
	if own {
		s.node, err = ownNode()
	}
	return s, err
}

// npm runs npm, unless it did so with the same arguments and lock before.
func npm(ctx context.Context, args []string) error {
	lock, err := os.ReadFile(filepath.Join(home, "package-lock.json"))
	if err != nil {
		return err
	}
	done := filepath.Join(home, "node_modules", ".installed") // what was installed
	want := append([]byte(strings.Join(args, " ")+"\n"), lock...)
	if have, err := os.ReadFile(done); err == nil && bytes.Equal(have, want) {
		return nil
	}
	cmd := exec.CommandContext(ctx, "npm", args...)
	cmd.Dir = home
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm %s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return os.WriteFile(done, want, 0o644)
}

// nodeVersion is the major version of the installed Node, 0 if it does not tell.
func nodeVersion(ctx context.Context) int {
	version, _ := exec.CommandContext(ctx, "node", "--version").Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	n, _ := strconv.Atoi(major)
	return n
}

// ownNode is the Node that was installed with the suite.
func ownNode() (string, error) {
	found, err := filepath.Glob(filepath.Join(home, "node_modules", "node-*", "bin", "node*"))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("the installed Node is older than %d, and package.json has none for this platform", oldestNode)
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(found[0])
}

// program returns the path of the server or the client.
func (s *suite) program(leg string) string { return filepath.Join(s.programs, leg) }

// play makes one run and returns what became of its scenarios, in the order of
// the suite. What the suite itself makes of them is not asked for: it has an exit
// code for too many reasons.
func (s *suite) play(ctx context.Context, r run, serverURL string) ([]outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	dir := filepath.Join(s.results, r.directory())
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil {
		return nil, err
	}
	preload, err := filepath.Abs(filepath.Join(home, "loopback.cjs"))
	if err != nil {
		return nil, err
	}
	main := filepath.Join(home, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	args := append([]string{"--require", preload, main}, r.args()...)
	args = append(args, "-o", dir)
	if r.leg == "server" {
		args = append(args, "--url", serverURL)
	} else {
		args = append(args, "--command", exitTold(s.program("client")))
	}
	cmd := exec.CommandContext(ctx, s.node, args...)
	output, err := cmd.CombinedOutput()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && (!exited || ctx.Err() != nil) {
		return nil, errors.Join(err, ctx.Err())
	}
	if err := os.WriteFile(filepath.Join(dir, "suite.log"), output, 0o644); err != nil {
		return nil, err
	}
	var outcomes []outcome
	for _, name := range scenariosOf(output) {
		outcomes = append(outcomes, readOutcome(dir, r.leg, name))
	}
	return outcomes, nil
}

// exitTold is a shell command that runs a program with one more argument and says
// in its last line how it exited, for which the suite does not care.
func exitTold(program string) string {
	return fmt.Sprintf(`tell() { '%s' "$1"; echo "exit $?"; }; tell`, program)
}

// summary is a line of the suite's summary. One that throws stands there alone.
var summary = regexp.MustCompile(`(?m)^[^\s\w]+ (\S+): \d+ passed, \d+ failed`)

func scenariosOf(output []byte) (names []string) {
	for _, match := range summary.FindAllSubmatch(output, -1) {
		names = append(names, string(match[1]))
	}
	return names
}
