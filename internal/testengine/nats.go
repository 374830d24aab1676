package testengine

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// NATS starts a nats-server with JetStream. More arguments are given to the program, such as -c
// with a configuration file. It uses the program that make nats-server builds, or one in PATH.
func NATS(t testing.TB, args ...string) *Server {
	t.Helper()
	program := findNATS(t)
	return Run(t, Program{
		Command: func(addr, dir string) *exec.Cmd {
			host, port, _ := net.SplitHostPort(addr)
			return exec.Command(program, append([]string{"-a", host, "-p", port, "-js", "-sd", dir}, args...)...)
		},
		URL:   func(addr string) string { return "nats://" + addr },
		Ready: greetedByNATS,
	})
}

// greetedByNATS returns nil if the server at addr greets as nats-server does. A server under load
// may end the first connections that it accepts.
func greetedByNATS(ctx context.Context, addr string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if deadline, ok := ctx.Deadline(); ok {
		conn.SetReadDeadline(deadline)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.HasPrefix(line, "INFO ") {
		return fmt.Errorf("greeting: got %.40q, want INFO", line)
	}
	return nil
}

func findNATS(t testing.TB) string {
	t.Helper()
	const name = "nats-server"
	if root := moduleRoot(); root != "" {
		if path, err := exec.LookPath(filepath.Join(root, "bin", "engines", name)); err == nil {
			return path
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("this machine has no %s: run make nats-server, or install the package %s", name, name)
	}
	return path
}

// moduleRoot returns the directory of go.mod above the directory of the test, or "".
func moduleRoot() string {
	dir, err := os.Getwd()
	for err == nil {
		if _, missing := os.Stat(filepath.Join(dir, "go.mod")); missing == nil {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			break
		}
		dir = above
	}
	return ""
}
