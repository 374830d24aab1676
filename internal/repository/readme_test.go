//go:build unix

package repository_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	// commandTimeout includes a build with an empty cache.
	commandTimeout = 8 * time.Minute
	// defaultPort is the one that the host has unless a flag names another.
	defaultPort = ":7332"
)

// prelude makes a script stop at its first failure, and replaces three commands: what go install gets
// from the network is built from this tree, the host has a free port, and no browser is opened.
const prelude = `set -euo pipefail
go() {
	case "$*" in
	"install github.com/fondaco/fondaco/cmd/fondaco@latest") command go build -o "$HOME/go/bin/" ./cmd/fondaco ;;
	*) command go "$@" ;;
	esac
}
fondaco() {
	case "$1" in
	up) command fondaco "$@" --addr 127.0.0.1:0 ;;
	open) command fondaco open --print ;;
	inspect) shift; command fondaco inspect --no-open "$@" ;;
	*) command fondaco "$@" ;;
	esac
}
`

// TestBlocksOfTheReadmeRun pastes each shell block of README.md into a shell, in order. Every script and
// every command of a session starts in the root of the tree. "fondaco up" starts a host on a free port, which
// goes on while the later commands use it; in the end it is interrupted and has to succeed.
func TestBlocksOfTheReadmeRun(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := shellBlocks(string(readme))
	if len(blocks) == 0 {
		t.Fatal("README.md has no block marked sh or console")
	}
	r := newReader(t)
	for _, b := range blocks {
		t.Run(fmt.Sprintf("line %d", b.line), func(t *testing.T) {
			for _, c := range b.commands {
				r.follow(t, c)
			}
		})
	}
	r.stopServer(t)
}

// A reader runs the commands of README.md, and has a home directory with nothing in it.
type reader struct {
	t      *testing.T // of the whole page, at whose end nothing runs any more
	env    []string
	server *process // the last one that was started, or nil
	port   string   // of the server, or the default
}

func newReader(t *testing.T) *reader {
	t.Helper()
	r := &reader{t: t, port: defaultPort}
	home := t.TempDir()
	r.env = append(os.Environ(), goCaches(t)...)
	r.env = append(r.env, "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_RUNTIME_DIR="+filepath.Join(home, "run"), "PATH="+filepath.Join(home, "go", "bin")+":"+os.Getenv("PATH"))
	return r
}

// goCaches lets a shell with another home use what the go command has at hand.
func goCaches(t *testing.T) []string {
	t.Helper()
	var env []string
	for _, name := range []string{"GOPATH", "GOCACHE", "GOMODCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(value)))
	}
	return env
}

func (r *reader) follow(t *testing.T, c command) {
	t.Helper()
	switch {
	case c.startsServer():
		r.stopServer(t)
		r.startServer(t, c)
	case c.interrupted:
		p := r.start(t, c)
		p.await(t, r.expects(c))
		p.interrupt(t)
	default:
		p := r.start(t, c)
		if err := p.wait(t); err != nil {
			t.Fatalf("%s: %v\n%s", c.script, err, p.output.String())
		}
		p.await(t, r.expects(c))
	}
}

var (
	listening = regexp.MustCompile(`(?m)^LISTEN \S*(:\d+)$`)
	anything  = regexp.MustCompile(``)
)

func (r *reader) startServer(t *testing.T, c command) {
	t.Helper()
	r.server = r.start(t, c)
	r.port = r.server.await(t, listening)[1]
	// Commands that are typed without --url go to the default port.
	r.env = append(r.env, "FONDACO_URL=http://127.0.0.1"+r.port+"/mcp")
	r.server.await(t, r.expects(c))
}

func (r *reader) stopServer(t *testing.T) {
	t.Helper()
	if r.server == nil {
		return
	}
	if err := r.server.interrupt(t); err != nil {
		t.Errorf("the server that README.md starts does not end well: %v\n%s", err, r.server.output.String())
	}
	r.server = nil
}

// expects is what the command has to print, given the server's port.
func (r *reader) expects(c command) *regexp.Regexp {
	if c.prints == nil {
		return anything
	}
	return regexp.MustCompile(strings.ReplaceAll(c.prints.String(), defaultPort, r.port))
}

func (r *reader) start(t *testing.T, c command) *process {
	t.Helper()
	script := prelude + strings.ReplaceAll(c.script, defaultPort, r.port)
	if c.startsServer() {
		// Like a terminal, the test interrupts all of the foreground. The shell
		// would end by the signal; the server is to be heard.
		script = "trap '' INT\n" + script
	}
	p := &process{script: c.script, cmd: exec.Command("bash", "-c", script), done: make(chan struct{})}
	p.cmd.Env = r.env
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	r.t.Cleanup(p.kill)
	return p
}

// A process is a shell and what it started, with all that they print.
type process struct {
	script string // as README.md has it
	cmd    *exec.Cmd
	output output
	done   chan struct{}
	err    error // of the shell, once done is closed
}

// await waits until the whole output matches, and returns the submatches.
func (p *process) await(t *testing.T, pattern *regexp.Regexp) []string {
	t.Helper()
	deadline := time.After(commandTimeout)
	for ended := false; ; {
		if m := pattern.FindStringSubmatch(p.output.String()); m != nil {
			return m
		}
		if ended {
			t.Fatalf("%s\nprinted:\n%s\nREADME.md says: %v", p.script, p.output.String(), pattern)
		}
		select {
		case <-p.done:
			ended = true
		case <-deadline:
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (p *process) wait(t *testing.T) error {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(commandTimeout):
		t.Fatalf("%s\ndid not end within %v, and printed:\n%s", p.script, commandTimeout, p.output.String())
	}
	return p.err
}

// interrupt does what Ctrl-C does in a terminal, if the process still runs.
func (p *process) interrupt(t *testing.T) error {
	t.Helper()
	err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGINT)
	if err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
	return p.wait(t)
}

func (p *process) kill() {
	select {
	case <-p.done:
	default:
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
		<-p.done
	}
}

// An output is a buffer that is written and read at the same time.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// The server in README.md is the one that examples/hello builds and tests.
func TestReadmeShowsAServerThatRuns(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("examples/hello/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "\n") // without the first comment
	if code == "" || !strings.Contains(string(readme), "```go\n"+code+"```\n") {
		t.Errorf("README.md: want the code of examples/hello/main.go under \"A server\"")
	}
}
