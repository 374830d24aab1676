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

// foreignConn is a connection to a foreign server that runs as a child process. Each line
// is one message.
type foreignConn struct {
	*exec.Cmd
	stdin io.WriteCloser
	lines *bufio.Scanner
	end   func() error // closes the connection; idempotent
}

var _ mcp.Conn = (*foreignConn)(nil)

// dialForeign starts a foreign server, a module of Node. At the end of the test the server
// must exit with code 0.
func dialForeign(t *testing.T, module string, args ...string) *foreignConn {
	t.Helper()
	cmd, said := exec.Command("node", append([]string{module}, args...)...), new(stderrLog)
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

// Read returns the next line. It kills the server when ctx is done.
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
