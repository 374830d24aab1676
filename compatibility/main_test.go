package compatibility

import (
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host/cli"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// roleVariable makes a copy of this test program the command fondaco, or a child that
// passes the bytes of its standard streams to a raw server in the test.
const roleVariable = "FONDACO_COMPATIBILITY"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "fondaco":
		os.Exit(cli.RunProcess())
	case "child":
		relayStreams(os.Args[1], os.Args[2])
	case "visitor":
		visit(os.Args[1])
	case "program":
		serveProgram()
	case "failing":
		failProgram()
	}
	mcptest.Main(m)
}

// relayStreams connects the standard streams to the raw server with that name until the
// server closes the connection.
func relayStreams(addr, name string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(conn, name)
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
	os.Exit(0)
}

const (
	// hangTime bounds what would otherwise hang.
	hangTime = 5 * time.Minute
	// farLimit is a time limit of a client that must not be the reason of anything: a row that
	// waits for it hangs.
	farLimit = 2 * hangTime
	// nearLimit is the limit that has to be the reason when a server stays silent.
	nearLimit = 100 * time.Millisecond
)

// transport is a way on which bytes reach a peer.
type transport int

const (
	everywhere transport = iota // the zero value of a row: it is run over both
	overStdio
	overHTTP
)

func (t transport) String() string { return [...]string{"everywhere", "stdio", "http"}[t] }

// transports returns those over which a row is run.
func (t transport) transports() []transport {
	if t == everywhere {
		return []transport{overStdio, overHTTP}
	}
	return []transport{t}
}

// self returns the path of this program.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
