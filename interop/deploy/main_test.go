package deploy_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// role is set for the processes that are servers, behind hosts or on their own.
const role = "FONDACO_DEPLOY_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(role) != "" {
		mcpserver.Main(newServer())
		os.Exit(0)
	}
	os.Exit(run(m))
}

// run runs the tests, with a directory for the programs that they build.
func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "fondaco-deploy")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	programs = dir
	return m.Run()
}

// programs is the directory of the programs that tests build.
var programs string

// place says which processes have served a call.
type place struct {
	Server int `json:"server"` // process ID of the server
	Host   int `json:"host"`   // process ID of the host that has started it
}

// newServer returns a server.
func newServer() *mcpserver.Server {
	srv := mcpserver.New("up", "1.0.0", &mcpserver.Options{HTTP: &mcpserver.HTTPOptions{AllowedHosts: []string{publicName}}})
	srv.Tool("place", "Returns the numbers of the processes", func(context.Context, struct{}) (place, error) {
		return place{os.Getpid(), os.Getppid()}, nil
	}, mcpserver.ReadOnly())
	return srv
}

// root is the directory of the project.
var root = filepath.Join("..", "..")

// readFile reads a file of the directory deploy.
func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "deploy", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// buildCommand matches the line of the Dockerfile that builds the host.
var buildCommand = regexp.MustCompile(`(?m)^RUN (.+) -o /out/fondaco (\./\S+)$`)

// buildHost builds the host with the command of the Dockerfile.
var buildHost = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "docker", "Dockerfile"))
	if err != nil {
		return "", err
	}
	line := buildCommand.FindStringSubmatch(string(text))
	if line == nil {
		return "", fmt.Errorf("the Dockerfile has no line like %v", buildCommand)
	}
	path := filepath.Join(programs, "fondaco")
	cmd := exec.Command("sh", "-ec", fmt.Sprintf("%s -o %s %s", line[1], path, line[2]))
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", line[0], err, output)
	}
	return path, nil
})

// findHost returns the path of the host.
func findHost(t *testing.T) string {
	t.Helper()
	path, err := buildHost()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestDockerfileBuildsTheHostWithTheVersionOfGoThatItNeeds(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	text := readFile(t, "docker/Dockerfile")
	if version == nil || !strings.Contains(text, "\nFROM golang:"+string(version[1])+" AS build\n") {
		t.Errorf("got another version than %s of go.mod", version)
	}
	output, err := exec.Command(findHost(t), "version").Output()
	if err != nil || !strings.HasPrefix(string(output), "fondaco ") {
		t.Errorf("got %q, %v, want the version of the host", output, err)
	}
}
