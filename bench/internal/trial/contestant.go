// Package trial measures servers alternately with the same work, in rounds, so that other
// load on the machine affects all servers alike. It records the outcome of each server in
// each round, to compute the ratio to the floor in the same round.
package trial

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/fondaco/fondaco/bench/internal/load"
)

// A Contestant is a server to measure. Its command takes the flags of contest.Flags.
type Contestant struct {
	Name    string
	Command []string
	Modes   []Mode // that it has; nil: all
	Raises  bool   // takes -max-message where a message exceeds its limit
	Module  string // that its version is the version of
}

// Floor is the name of the contestant that the others are measured against.
const Floor = "floor"

// Contestants returns those whose programs are in bin. The TypeScript SDK is among
// them where there is a directory for it and Node to run it.
func Contestants(bin, typescript string) []Contestant {
	in := func(name string) []string { return []string{filepath.Join(bin, name)} }
	list := []Contestant{
		{Name: Floor, Command: in("floor")},
		{Name: "fondaco", Command: in("contestant"), Raises: true},
		{Name: "go-sdk", Command: in("gosdk"), Raises: true, Module: "github.com/modelcontextprotocol/go-sdk"},
		// It decides itself between JSON and an event stream.
		{
			Name: "mcp-go", Command: in("mcpgo"), Module: "github.com/mark3labs/mcp-go",
			Modes: []Mode{StatelessJSON, SessionJSON, StatelessStdio},
		},
	}
	if node, err := exec.LookPath("node"); err == nil && typescript != "" {
		list = append(list, Contestant{
			Name: "typescript", Module: "@modelcontextprotocol/server",
			Command: []string{node, "--expose-gc", filepath.Join(typescript, "server.mjs")},
		})
	}
	return list
}

func (x Contestant) has(m Mode) bool { return x.Modes == nil || slices.Contains(x.Modes, m) }

// raised is the limit of a message for cells whose messages exceed the default limit.
const (
	usualLimit = 4 << 20
	raised     = 32 << 20
)

// args returns the command for a cell.
func (x Contestant) args(c Cell) []string {
	if c.Procs > 1 {
		return x.argsOn(serverCores(), c)
	}
	return x.argsOn(serverCore, c)
}

func (x Contestant) argsOn(cores string, c Cell) []string {
	transport, era, resp := c.Mode.parts()
	args := append(onCores(cores, max(c.Procs, 1)), x.Command...)
	args = append(args, "-mode", transport, "-era", era, "-resp", resp, "-tools", strconv.Itoa(c.Tools), "-addr", "127.0.0.1:0")
	if x.Raises && c.Size > usualLimit {
		args = append(args, "-max-message", strconv.Itoa(raised))
	}
	return args
}

// Each side has a core of its own.
const (
	serverCore = "0"
	clientCore = "1"
)

// serverCores are those of a server with two processors. On a machine of two cores the client has one of them too.
func serverCores() string {
	if runtime.NumCPU() > 2 {
		return "0,2"
	}
	return "0,1"
}

func onCore(core string) []string { return onCores(core, 1) }

func onCores(cores string, procs int) []string {
	return []string{"taskset", "-c", cores, "env", "GOMAXPROCS=" + strconv.Itoa(procs)}
}

// A server is a contestant that listens.
type server struct {
	host string
	took time.Duration // until it listened
	cmd  *exec.Cmd
}

func (x Contestant) start(c Cell) (*server, error) { return start(x.Name, x.args(c), nil) }

// start runs a command that prints its address, with additional environment variables.
func start(name string, command, env []string) (*server, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd}
	late := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if host, ok := strings.CutPrefix(lines.Text(), "LISTEN "); ok {
			s.host, s.took = host, time.Since(began)
			go io.Copy(io.Discard, stderr) // ends with the process
			return s, nil
		}
	}
	s.stop()
	return nil, fmt.Errorf("start %s: it ended, or did not listen within 20 s", name)
}

func (s *server) stop() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

func (s *server) pid() int { return s.cmd.Process.Pid }

// asked returns p with the address and the process of the server.
func (s *server) asked(p load.Params) load.Params {
	p.URL, p.PID = "http://"+s.host+"/mcp", s.pid()
	return p
}

// hook sends a request to one of the HTTP hooks of package contest.
func (s *server) hook(name string) error {
	resp, err := http.Post("http://"+s.host+"/admin/"+name, "", nil)
	if err != nil {
		return fmt.Errorf("hook %s: %w", name, err)
	}
	return resp.Body.Close()
}
