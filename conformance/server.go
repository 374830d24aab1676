package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Timeouts of the server's start and end.
const (
	startTime = 10 * time.Second
	stopTime  = 15 * time.Second
)

// A server is the process of our server.
type server struct {
	cmd   *exec.Cmd
	addr  string        // on which it listens
	ended chan struct{} // closed when it has ended
	err   error         // why it failed; read it after ended is closed
}

// startServer starts the server and returns when it listens. Its standard error is
// written to the log file. The caller must stop or kill it.
func startServer(program, log string) (*server, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	s := &server{cmd: exec.Command(program, "-addr", "127.0.0.1:0"), ended: make(chan struct{})}
	stderr, err := s.cmd.StderrPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	late := time.AfterFunc(startTime, func() { _ = s.cmd.Process.Kill() })
	said := bufio.NewReader(stderr)
	line, _ := said.ReadString('\n')
	late.Stop()
	go func() {
		defer close(s.ended)
		_, err := io.Copy(file, said)
		s.err = errors.Join(s.cmd.Wait(), err, file.Close())
	}()
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "LISTEN ")
	if !ok {
		s.kill()
		return nil, fmt.Errorf("start %s: it said %q first and ended with %w; want LISTEN host:port", program, line, s.err)
	}
	s.addr = addr
	return s, nil
}

// stop asks the server to end, waits for it, and returns the error of its exit code.
func (s *server) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	select {
	case <-s.ended:
		return s.err
	case <-time.After(stopTime):
		s.kill()
		return fmt.Errorf("still running %v after an interrupt", stopTime)
	}
}

// kill kills the server if it runs, and waits for it.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}
