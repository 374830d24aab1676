package interop_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// foreignConn is a connection to a foreign server that is a child, with one
// message a line.
type foreignConn struct {
	*exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
	end   func() error // closes it once
}

var _ mcp.Conn = (*foreignConn)(nil)

// dialForeign starts a foreign server, a module of Node, which has to end well
// with the test.
func dialForeign(t *testing.T, module string, args ...string) *foreignConn {
	t.Helper()
	cmd, said := exec.Command("node", append([]string{module}, args...)...), new(diary)
	cmd.Stderr = said
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &foreignConn{Cmd: cmd, stdin: stdin, lines: bufio.NewScanner(stdout)}
	c.lines.Buffer(nil, 1<<20)
	c.end = sync.OnceValue(func() error {
		_ = stdin.Close()
		defer time.AfterFunc(ending, func() { _ = cmd.Process.Kill() }).Stop()
		return cmd.Wait()
	})
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("%s: %v\n%s", cmd, err, said)
		}
	})
	return c
}

// Read returns the next line. It ends the server when ctx ends.
func (c *foreignConn) Read(ctx context.Context) ([]byte, error) {
	defer context.AfterFunc(ctx, func() { _ = c.Process.Kill() })()
	if !c.lines.Scan() {
		return nil, io.EOF
	}
	return bytes.Clone(c.lines.Bytes()), nil
}

func (c *foreignConn) Write(_ context.Context, message []byte) error {
	_, err := c.stdin.Write(append(bytes.Clone(message), '\n'))
	return err
}

// Close ends the server and returns when it has ended.
func (c *foreignConn) Close() error { return c.end() }
