package control_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

var quiet = slog.New(slog.DiscardHandler)

// serve serves a host at a socket until the test ends.
func serve(t *testing.T, h control.Functions) string {
	t.Helper()
	path := control.Path(filepath.Join(t.TempDir(), "s"), 7332)
	l, err := control.Listen(path, quiet)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: control.Handler(h)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(l)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-ended
	})
	return path
}

func TestSocketReportsStatusAndTakesCommands(t *testing.T) {
	t.Parallel()
	want := control.Status{
		Format: 1, Version: "1", PID: 7, Endpoint: "http://127.0.0.1:7332/mcp",
		Upstreams: []host.Status{{
			Key: "files", Transport: "over stdio", State: host.Suspended, Reason: "<b>", Retry: time.Now().UTC().Round(time.Second), Revision: mcp.V20251125,
			Tools: 1, Omitted: []string{"x"}, WaitingCount: 1, Waiting: []host.WaitingDefinition{{Kind: host.KindTool, Name: "t", Change: host.DefinitionAdded, Findings: []string{"x"}}}, Stderr: []string{"\x1b[31m"},
		}, {Key: "new", State: host.Starting}},
	}
	var retried string
	c := control.NewClient(serve(t, control.Functions{
		Status: func() control.Status { return want },
		Retry:  func(key string) bool { retried = key; return key == "files" },
		Reload: func() error { return errors.New("mcp.json:1:1: found nothing") },
		MCP:    http.NotFoundHandler(),
	}))
	got, err := c.Status(t.Context())
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if err := c.Retry(t.Context(), "files"); err != nil || retried != "files" {
		t.Errorf("got %v, %q, want it retried", err, retried)
	}
	if err := c.Retry(t.Context(), "a b&c"); err == nil || retried != "a b&c" {
		t.Errorf("got %v, %q, want to hear that there is none", err, retried)
	}
	if err := c.Reload(t.Context()); err == nil || err.Error() != "mcp.json:1:1: found nothing" {
		t.Errorf("got %v, want what is wrong", err)
	}
}

func TestCommandsUseMCPOverTheSocket(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("host", "1", &mcpserver.Options{Logger: quiet})
	srv.Tool("greet", "Greet", func(context.Context, struct{}) (string, error) { return "hello", nil })
	path := serve(t, control.Functions{MCP: srv.HTTPHandler()})
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		c, err := mcpclient.Connect(t.Context(), mcpclient.URL(control.EndpointURL), &mcpclient.Options{
			HTTP: mcpclient.HTTPOptions{Client: control.NewClient(path).HTTP}, Revisions: []mcp.Revision{revision}, Logger: slog.New(slog.DiscardHandler),
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Call[string](t.Context(), "greet", nil); got != "hello" || err != nil {
			t.Errorf("got %q, %v, want an answer", got, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	_ = srv.Shutdown(t.Context())
}

func TestSocketOfACrashedHostIsReplaced(t *testing.T) {
	t.Parallel()
	path := control.Path(filepath.Join(t.TempDir(), "s"), 1)
	if _, err := control.NewClient(path).Status(t.Context()); !errors.Is(err, control.ErrNoHost) {
		t.Errorf("got %v, want no host", err)
	}
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	_ = dead.Close()
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := control.NewClient(path).Status(t.Context()); !errors.Is(err, control.ErrNoHost) {
		t.Errorf("got %v, want no host", err)
	}
	alive, err := control.Listen(path, quiet)
	if err != nil {
		t.Fatalf("got %v, want the place of the dead one", err)
	}
	if _, err := control.Listen(path, quiet); err == nil || !strings.Contains(err.Error(), "a running host listens there") {
		t.Errorf("got %v, want a running host left alone", err)
	}
	_ = alive.Close()
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want the socket gone", err)
	}
}

func TestDirectoryOfAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	if err := os.Chmod(own, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{open: "others have access", link: "want a directory"} {
		if _, err := control.Listen(control.Path(dir, 1), quiet); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", dir, err, want)
		}
	}
	path := control.Path(own, 1)
	l, err := control.Listen(path, quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a socket for the user alone", info.Mode(), err)
	}
}

func TestPathThatIsTooLongForASocketIsNamed(t *testing.T) {
	t.Parallel()
	path := control.Path(filepath.Join(t.TempDir(), strings.Repeat("d", 100)), 1)
	_, err := control.Listen(path, quiet)
	if want := fmt.Sprintf("%s: the path has %d bytes, which is too long for a socket; set $XDG_RUNTIME_DIR", path, len(path)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := control.NewClient(path).Status(t.Context()); !errors.Is(err, control.ErrNoHost) {
		t.Errorf("got %v, want no host", err)
	}
}

func TestPathOfSockets(t *testing.T) {
	t.Parallel()
	env := func(value string) func(string) (string, bool) {
		return func(name string) (string, bool) { return value, name == "XDG_RUNTIME_DIR" }
	}
	dir := t.TempDir()
	if got, want := control.Dir(env(dir)), filepath.Join(dir, "fondaco"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, value := range []string{"", "relative"} {
		if got := control.Dir(env(value)); !strings.HasPrefix(got, filepath.Join(os.TempDir(), "fondaco-")) {
			t.Errorf("%q: got %s, want a directory among the temporary files", value, got)
		}
	}
}
