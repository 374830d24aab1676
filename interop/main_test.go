package interop_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// programs are the arguments of "go build" for the programs that the tests start, by name.
// A program of an older SDK is built with its requirements in place of go.mod.
var programs = map[string][]string{
	"fixture":    {"-C", "fixture"},
	"fondaco":    {"-C", "../cmd/fondaco"},
	"gosdk-1.0":  {"-C", "peers", "-modfile", "oldest.mod", "-tags", "older", "./gosdk"},
	"gosdk-1.2":  {"-C", "peers", "-modfile", "older.mod", "-tags", "older", "./gosdk"},
	"gosdk-1.8":  {"-C", "peers", "./gosdk"},
	"mcpgo-0.32": {"-C", "peers", "-modfile", "oldest.mod", "-tags", "oldest", "./mcpgo"},
	"mcpgo-1.2":  {"-C", "peers", "./mcpgo"},
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
	for name, arguments := range programs {
		build := slices.Insert(slices.Clone(arguments), 2, "-o", program(name)) // -C has to be first
		if out, err := exec.Command("go", append([]string{"build"}, build...)...).CombinedOutput(); err != nil {
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
		return "they are not installed; interop/install installs them where npm is found"
	}
	return ""
})
