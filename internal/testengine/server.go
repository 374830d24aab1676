package testengine

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

const (
	// startTime is how long a program may take until it serves.
	startTime = 2 * time.Minute
	// stopTime is how long a program may take to end after a signal.
	stopTime = 2 * time.Minute
	// readyInterval is the time between two attempts to reach a program that starts.
	readyInterval = 10 * time.Millisecond
	// startAttempts is how often a program is started on another port if it ends at once.
	startAttempts = 3
)

// Program is how an engine is started.
type Program struct {
	// Command returns the command that serves on addr, which is a loopback address with a
	// free port, and keeps its data in dir. It is called for each start.
	Command func(addr, dir string) *exec.Cmd
	// URL returns the URL of the server at addr.
	URL func(addr string) string
	// Ready returns nil once the server at addr can be used. If Ready is nil, a server that
	// accepts a connection is ready.
	Ready func(ctx context.Context, addr string) error
	// Stop is the signal by which Server.Stop ends the program. Default: SIGTERM.
	Stop os.Signal
	// AwaitEnd, if not nil, waits for the processes that the program has started. It is called
	// when the program itself has ended.
	AwaitEnd func(dir string) error
}

// Server is a process of an engine. Its methods must not be called concurrently.
type Server struct {
	// URL is the URL of the engine through Proxy. It stays the same after a restart.
	URL string
	// Proxy is in front of the engine.
	Proxy *Proxy

	t       testing.TB
	program Program
	dir     string
	addr    string
	log     *os.File
	process *process // nil while stopped
}

// process is a running program.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed after cmd.Wait, which sets err
	err   error
}

// Run starts a program with an empty directory for its data, and waits until it is ready. The
// program is killed at the end of the test and, on Linux, with the process of the test. If the
// test fails, its log has what the program wrote.
func Run(t testing.TB, program Program) *Server {
	t.Helper()
	s := &Server{t: t, program: program, dir: t.TempDir()}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	s.log = log
	t.Cleanup(s.close)
	s.start()
	s.Proxy = NewProxy(t, s.addr)
	s.URL = program.URL(s.Proxy.Addr())
	return s
}

// Find returns the path of a program that is in PATH or in one of the directories. It skips the
// test if there is none, and says which package of Debian has the program.
func Find(t testing.TB, name, pkg string, dirs ...string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, dir := range dirs {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return path
		}
	}
	t.Skipf("this machine has no %s: install the package %s", name, pkg)
	return ""
}

// Addr returns the address of the engine itself, behind the proxy. It changes with Start.
func (s *Server) Addr() string { return s.addr }

// Stop ends the program as an administrator does, with a signal, and waits for its end.
func (s *Server) Stop() {
	s.t.Helper()
	s.end(s.program.stop)
}

// Kill ends the program with SIGKILL, as a crash does.
func (s *Server) Kill() {
	s.t.Helper()
	s.end((*os.Process).Kill)
}

// Start starts the program again with the same data, and waits until it is ready.
func (s *Server) Start() {
	s.t.Helper()
	if s.process != nil {
		s.t.Fatal("start: the program is running")
	}
	s.start()
	s.Proxy.setTarget(s.addr)
}

// start starts the program. Another process may take the free port in the meantime, so a
// program that ends is started again.
func (s *Server) start() {
	s.t.Helper()
	var err error
	for range startAttempts {
		if err = s.tryStart(); err == nil {
			return
		}
	}
	s.t.Fatalf("start: %v", err)
}

func (s *Server) tryStart() error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	cmd := s.program.Command(addr, s.dir)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	dieWithTest(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() { // ends with the program, which the end of the test kills
		p.err = cmd.Wait()
		close(p.ended)
	}()
	s.addr, s.process = addr, p
	if err := s.awaitReady(); err != nil {
		s.end((*os.Process).Kill)
		return err
	}
	return nil
}

func (s *Server) awaitReady() error {
	ctx, cancel := context.WithTimeout(s.t.Context(), startTime)
	defer cancel()
	ready := s.program.Ready
	if ready == nil {
		ready = accepts
	}
	for {
		err := ready(ctx, s.addr)
		if err == nil {
			return nil
		}
		select {
		case <-s.process.ended:
			return fmt.Errorf("%s ended: %v", s.process.cmd.Path, s.process.err)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %v: %w", s.process.cmd.Path, startTime, err)
		case <-time.After(readyInterval):
		}
	}
}

// accepts returns nil if a server at addr accepts a connection.
func accepts(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}

// end sends a signal to the program, if it runs, and waits for its end.
func (s *Server) end(signal func(*os.Process) error) {
	s.t.Helper()
	p := s.process
	if p == nil {
		return
	}
	s.process = nil
	_ = signal(p.cmd.Process) // an error means that it has ended
	select {
	case <-p.ended:
	case <-time.After(stopTime):
		s.t.Errorf("stop: %s runs %v after a signal; it is killed", p.cmd.Path, stopTime)
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	if s.program.AwaitEnd == nil {
		return
	}
	if err := s.program.AwaitEnd(s.dir); err != nil {
		s.t.Errorf("stop: %s: %v", p.cmd.Path, err)
	}
}

func (p *Program) stop(process *os.Process) error {
	signal := p.Stop
	if signal == nil {
		signal = syscall.SIGTERM
	}
	if err := process.Signal(signal); err != nil { // as on Windows
		return process.Kill()
	}
	return nil
}

func (s *Server) close() {
	s.end((*os.Process).Kill)
	s.log.Close()
	if !s.t.Failed() {
		return
	}
	if text, err := os.ReadFile(s.log.Name()); err == nil {
		s.t.Logf("log of the engine:\n%s", text)
	}
}

// freeAddr returns a loopback address with a port that nobody uses.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
