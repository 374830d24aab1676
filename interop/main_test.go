package interop_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// programs are the directories of our own programs that the tests start, by
// name. Each is built in its own module.
var programs = map[string]string{
	"fixture": "fixture",
	"fondaco": "../cmd/fondaco",
}

// binaries is the directory that they are built into.
var binaries string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "interop")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binaries = dir
	if missingPeers() != "" {
		return m.Run() // every test is skipped
	}
	for name, source := range programs {
		if out, err := exec.Command("go", "build", "-C", source, "-o", program(name)).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build %s: %v\n%s", name, err, out)
			return 1
		}
	}
	return m.Run()
}

// program returns the path of one of our programs.
func program(name string) string { return filepath.Join(binaries, name) }

// oldestNode is the major version that the foreign peers need.
const oldestNode = 20

// needPeers skips a test where the foreign peers cannot run.
func needPeers(t *testing.T) {
	t.Helper()
	if missing := missingPeers(); missing != "" {
		t.Skip("foreign peers cannot run: " + missing)
	}
}

// missingPeers says what the foreign peers lack to run here, if anything.
var missingPeers = sync.OnceValue(func() string {
	version, err := exec.Command("node", "--version").Output()
	if err != nil {
		return "Node is not installed"
	}
	number, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	if major, _ := strconv.Atoi(number); major < oldestNode {
		return fmt.Sprintf("Node is %s; want %d or newer", strings.TrimSpace(string(version)), oldestNode)
	}
	if _, err := os.Stat("node_modules"); err != nil {
		return "they are not installed; interop/run installs them where npm is found"
	}
	return ""
})
