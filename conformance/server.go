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

// How long the server may take until it listens, and until it has ended.
const (
	startTime = 10 * time.Second
	stopTime  = 15 * time.Second
)

// A server is the process of our server.
type server struct {
	cmd   *exec.Cmd
	addr  string        // where it listens
	ended chan struct{} // closed once it has ended
	err   error         // why it ended otherwise than well; to be read after ended
}

// startServer starts the server and returns when it listens. What it says on
// standard error goes to the file of the name. The caller stops or kills it.
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

// stop asks the server to end and returns when it has, with the error of its exit
// code.
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

// kill ends the server if it has not ended yet, and returns when it has.
func (s *server) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}
