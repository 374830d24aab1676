package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// minNode is the major version of Node that the suite needs.
const minNode = 22

// missingTools says what this machine lacks to install the suite; empty if nothing.
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

// install installs the suite as in package-lock.json, unless it is installed already, and
// a Node of its own if the machine's is too old.
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
	own := nodeVersion(ctx) < minNode
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

// npm runs npm, unless it has run with the same arguments and lock file before.
func npm(ctx context.Context, args []string) error {
	lock, err := os.ReadFile(filepath.Join(home, "package-lock.json"))
	if err != nil {
		return err
	}
	done := filepath.Join(home, "node_modules", ".installed") // records what was installed
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

// nodeVersion is the major version of the installed Node, 0 if unknown.
func nodeVersion(ctx context.Context) int {
	version, _ := exec.CommandContext(ctx, "node", "--version").Output()
	major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	n, _ := strconv.Atoi(major)
	return n
}

// ownNode is the path of the Node that was installed with the suite.
func ownNode() (string, error) {
	found, err := filepath.Glob(filepath.Join(home, "node_modules", "node-*", "bin", "node*"))
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("the installed Node is older than %d, and package.json has none for this platform", minNode)
	}
	if err != nil {
		return "", err
	}
	return filepath.Abs(found[0])
}
