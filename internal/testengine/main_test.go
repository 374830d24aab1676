package testengine_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/internal/testdir"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// TestMain runs the tests or, in a child process, the engine of these tests.
func TestMain(m *testing.M) {
	if addr := os.Getenv("TESTENGINE_ADDR"); addr != "" {
		err := serveStarts(addr, os.Getenv("TESTENGINE_DIR"))
		fmt.Println(err)
		os.Exit(1)
	}
	testdir.Prepare() // PostgreSQL has a user of its own, who must reach its files
	mcptest.Main(m)
}

// serveStarts is an engine that tells each client how often it was started with its data.
func serveStarts(addr, dir string) error {
	file := filepath.Join(dir, "starts")
	starts, _ := os.ReadFile(file) // there is none at the first start
	starts = append(starts, '|')
	if err := os.WriteFile(file, starts, 0o600); err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		_, _ = conn.Write(starts)
		conn.Close()
	}
}
