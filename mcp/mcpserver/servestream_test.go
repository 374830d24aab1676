package mcpserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// mainEnv makes the test binary a server program.
const mainEnv = "MCPSERVER_TEST_MAIN"

// chatty is the server of that program: it prints where it should not.
func chatty() *mcpserver.Server {
	srv := newServer(nil)
	srv.Tool("print", "", func(context.Context, struct{}) (string, error) {
		fmt.Println("stray output")
		return "printed", nil
	})
	return srv
}

func TestServeStreamAndSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "mcp") // a short path, as sockets need
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	srv := member(nil)
	go func() { served <- srv.ServeSocket(ctx, l) }()
	ours, theirs := net.Pipe()
	streamed := make(chan error, 1)
	go func() { streamed <- srv.ServeStream(t.Context(), theirs) }()
	for _, target := range []mcpclient.Target{mcpclient.Socket("unix", l.Addr().String()), mcpclient.Stream(ours)} {
		c, err := mcpclient.Connect(t.Context(), target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Call[string](t.Context(), "who", nil); err != nil || !strings.HasPrefix(got, "local ") {
			t.Errorf("got %s, %v, want the local user", got, err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if err := <-streamed; err != nil {
		t.Errorf("stream: got %v, want nil", err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Errorf("socket: got %v, want nil", err)
	}
}

// A client that sends its requests and closes its direction, as a shell pipeline does, gets
// the answers of those that take less than ten seconds, and an error says that another one was not answered.
func TestServeStreamAnswersAfterTheClientHasSentAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := newServer(nil)
		srv.Tool("wait", "", func(ctx context.Context, in struct{ Milliseconds int }) (string, error) {
			select {
			case <-time.After(time.Duration(in.Milliseconds) * time.Millisecond):
				return "waited", nil
			case <-ctx.Done():
				return "", ctx.Err()
			}
		})
		for milliseconds, want := range map[int]bool{9900: true, 10100: false} {
			var out strings.Builder
			in := strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait","arguments":{"Milliseconds":%d},`+
				`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`+"\n", milliseconds))
			err := srv.ServeStream(t.Context(), halfClosed{in, &out})
			if answered := err == nil; answered != want || !want && err.Error() != "a request was not answered within 10s after the end of the input" {
				t.Errorf("%d ms: got the error %v", milliseconds, err)
			}
			if got := strings.Contains(out.String(), "waited"); got != want {
				t.Errorf("%d ms: got %q, want an answer: %v", milliseconds, out.String(), want)
			}
		}
	})
}

// halfClosed is a stream whose peer has closed its direction after what it has sent.
type halfClosed struct {
	io.Reader
	io.Writer
}

func (halfClosed) Close() error { return nil }

// flaky is a listener that refuses with an error so many times before each
// connection.
type flaky struct {
	net.Listener
	err   error
	times int
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.times > 0 {
		f.times--
		return nil, f.err
	}
	return f.Listener.Accept()
}

func TestServeSocketClosesConnectionsOverItsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var reached []mcp.Limit
		srv := newServer(&mcpserver.Options{
			Logger: slog.New(slog.DiscardHandler), HTTP: &mcpserver.HTTPOptions{MaxConns: 1},
			OnLimit: func(l mcp.LimitReached) { reached = append(reached, l.Limit) },
		})
		served := make(chan error, 1)
		go func() { served <- srv.ServeSocket(ctx, p) }()
		dial := func() net.Conn {
			conn, err := p.dial(ctx, "", "")
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return conn
		}
		open := func(c net.Conn) bool {
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			_, err := c.Read(make([]byte, 1))
			return errors.Is(err, os.ErrDeadlineExceeded)
		}
		first := dial()
		second := dial()
		if !open(first) || open(second) || !slices.Equal(reached, []mcp.Limit{mcp.LimitConnections}) {
			t.Errorf("got limits %q, want the first connection kept, the second closed and %q reported", reached, mcp.LimitConnections)
		}
		first.Close()
		synctest.Wait()
		if third := dial(); !open(third) {
			t.Error("got the connection closed that came after the first had ended, want it served")
		}
		cancel()
		if err := <-served; err != nil {
			t.Errorf("got %v, want nil", err)
		}
	})
}

func TestServeSocketContinuesAfterATemporaryError(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err   error
		times int
		took  time.Duration // until the connection is accepted
	}{
		{&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}, 3, 35 * time.Millisecond},
		{&net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}, 10, 3275 * time.Millisecond},
		{errors.New("broken"), 1, -1},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			served := make(chan error, 1)
			srv := newServer(&mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
			go func() { served <- srv.ServeSocket(ctx, &flaky{Listener: p, err: tt.err, times: tt.times}) }()
			if tt.took < 0 {
				if err := <-served; !errors.Is(err, tt.err) {
					t.Errorf("got %v, want %v", err, tt.err)
				}
				return
			}
			began := time.Now()
			conn, err := p.dial(ctx, "", "")
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != tt.took {
				t.Errorf("%v: accepted after %v, want %v", tt.err, took, tt.took)
			}
			conn.Close()
			cancel()
			if err := <-served; err != nil {
				t.Errorf("got %v, want nil", err)
			}
		})
	}
}

func TestMainServesStandardStreams(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-051", "R-081")
	for _, v := range eras {
		var printed []string
		target := mcpclient.Command(os.Args[0])
		target.Env = map[string]string{mainEnv: "1"}
		target.Stderr = func(line string, _ int) { printed = append(printed, line) }
		c, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{
			Revisions: []mcp.Revision{v}, Timeouts: mcpclient.TimeoutOptions{Probe: 2 * time.Minute, Connect: 3 * time.Minute},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Call[string](t.Context(), "print", nil); err != nil || got != "printed" {
			t.Errorf("got %s, %v, want printed", got, err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		if !slices.Contains(printed, "stray output") {
			t.Errorf("got %q on standard error, want what the handler printed", printed)
		}
	}
}

func TestMainServesHTTPUntilItIsTerminated(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGTERM here")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-http", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), mainEnv+"=1")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	var said []string
	for len(said) < 2 && lines.Scan() {
		said = append(said, lines.Text())
	}
	addr, ok := strings.CutPrefix(strings.Join(said, " "), "LISTEN ")
	addr, endpoint, _ := strings.Cut(addr, " endpoint ")
	if !ok || endpoint != "http://"+addr+"/mcp" {
		t.Fatalf("got %q, want where it listens", said)
	}
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(endpoint), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Call[string](t.Context(), "print", nil); err != nil || got != "printed" {
		t.Errorf("got %s, %v, want printed", got, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("got %v, want an exit with 0", err)
	}
}

func TestInterruptDuringTheShutdownIsNeverIgnored(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no SIGINT here")
	}
	for range 20 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), mainEnv+"=interrupted")
		if err := cmd.Run(); err == nil || !strings.Contains(err.Error(), "signal: interrupt") {
			t.Fatalf("got %v, want an end by the second signal", err)
		}
	}
}

func TestMainListensOnOtherInterfacesOnlyOnRequest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-092b", "R-099a", "R-128a")
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "example.com:0", "8080"} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-http", addr)
		cmd.Env = append(os.Environ(), mainEnv+"=1")
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "want 127.0.0.1") && !strings.Contains(string(out), "want host:port") {
			t.Errorf("%s: got %v, %s, want it refused", addr, err, out)
		}
	}
}
