package control_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestStreamCarriesMCPOfEveryRevision(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("host", "1", &mcpserver.Options{Logger: quiet})
	type person struct{ Name string }
	srv.Tool("greet", "Greet", func(ctx context.Context, _ struct{}) (string, error) {
		who, err := mcpserver.Ask[person](ctx, "name", "Your name?")
		return "hello " + who.Name, err
	})
	path := serve(t, control.Functions{
		MCP:         http.NotFoundHandler(),
		ServeStream: func(s io.ReadWriteCloser) error { return srv.ServeStream(context.Background(), s) },
	})
	for _, revision := range mcp.Revisions() {
		stream, err := control.NewClient(path).Stream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o := &mcpclient.Options{Revisions: []mcp.Revision{revision}, Logger: quiet}
		o.ElicitForm = func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"Name":"Ada"}`)}, nil
		}
		c, err := mcpclient.Connect(t.Context(), mcpclient.Stream(stream), o)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Call[string](t.Context(), "greet", nil)
		if asks := revision.String() >= "2025-06-18"; asks && (got != "hello Ada" || err != nil) || !asks && err == nil {
			t.Errorf("%s: got %q, %v", revision, got, err)
		}
		if err := c.Close(); err != nil {
			t.Errorf("%s: %v", revision, err)
		}
	}
	_ = srv.Shutdown(t.Context())
}

// A client that writes its requests and closes its direction, as a shell pipeline does, gets
// the answers.
func TestStreamAnswersAfterTheClientHasSentAll(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("host", "1", &mcpserver.Options{Logger: quiet})
	path := serve(t, control.Functions{
		MCP:         http.NotFoundHandler(),
		ServeStream: func(s io.ReadWriteCloser) error { return srv.ServeStream(context.Background(), s) },
	})
	stream, err := control.NewClient(path).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if _, err := io.WriteString(stream, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := stream.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stream)
	if err != nil || !strings.Contains(string(text), `"id":1`) {
		t.Errorf("got %q, %v, want an answer and the end", text, err)
	}
}

// The end of the input of a client that reads no longer gives its calls no time to finish.
func TestCallsOfAClientThatHasEndedAreCancelledAtOnce(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only the next write shows it here")
	}
	srv := mcpserver.New("host", "1", &mcpserver.Options{Logger: quiet})
	running := make(chan struct{})
	srv.Tool("hold", "Hold the line", func(ctx context.Context, _ struct{}) (string, error) {
		close(running)
		<-ctx.Done()
		return "", ctx.Err()
	})
	ended := make(chan error, 1)
	path := serve(t, control.Functions{
		MCP: http.NotFoundHandler(),
		ServeStream: func(s io.ReadWriteCloser) error {
			err := srv.ServeStream(context.Background(), s)
			ended <- err
			return err
		},
	})
	stream, err := control.NewClient(path).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hold","arguments":{},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	if _, err := io.WriteString(stream, call+"\n"); err != nil {
		t.Fatal(err)
	}
	<-running
	_ = stream.Close()
	if err := <-ended; err != nil {
		t.Errorf("got %v, want the call cancelled because its client has left", err)
	}
}

func TestClientConnectsToNoSocketThatOthersCanReach(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-364b")
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	for name, test := range map[string]struct {
		spoil func(t *testing.T, path string)
		want  string
	}{
		"directory that others can enter": {func(t *testing.T, path string) { chmod(t, filepath.Dir(path), 0o711) }, "mode 711"},
		"socket that others can use":      {func(t *testing.T, path string) { chmod(t, path, 0o666) }, "mode 666"},
		"symbolic link to a socket": {func(t *testing.T, path string) {
			if err := errors.Join(os.Rename(path, path+"2"), os.Symlink(path+"2", path)); err != nil {
				t.Fatal(err)
			}
		}, "want a socket"},
		"symbolic link to a directory": {func(t *testing.T, path string) {
			dir := filepath.Dir(path)
			if err := errors.Join(os.Rename(dir, dir+"2"), os.Symlink(dir+"2", dir)); err != nil {
				t.Fatal(err)
			}
		}, "no symbolic link"},
		"file in place of the socket": {func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.WriteFile(path, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}, "want a socket"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Bool
			path := serve(t, control.Functions{MCP: http.NotFoundHandler(), Status: func() control.Status { asked.Store(true); return control.Status{} }})
			test.spoil(t, path)
			_, err := control.NewClient(path).Status(t.Context())
			unsafe, ok := errors.AsType[*control.UnsafeError](err)
			if !ok || !strings.Contains(unsafe.Error(), test.want) || errors.Is(err, control.ErrNoHost) || asked.Load() {
				t.Errorf("got %v, asked %v, want it refused: %s", err, asked.Load(), test.want)
			}
		})
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestStreamOfAnotherProtocolIsRefused(t *testing.T) {
	t.Parallel()
	c := control.NewClient(serve(t, control.Functions{MCP: http.NotFoundHandler()}))
	for _, protocol := range []string{"", "websocket"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/stdio", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {protocol}}
		response, err := c.HTTP.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusUpgradeRequired || !strings.Contains(string(text), "mcp-stdio") {
			t.Errorf("%q: got %s, %q, want it refused", protocol, response.Status, text)
		}
	}
}

func TestHostSaysHowAStreamHasEnded(t *testing.T) {
	t.Parallel()
	ends := make(chan error, 1)
	path := serve(t, control.Functions{
		MCP: http.NotFoundHandler(),
		ServeStream: func(s io.ReadWriteCloser) error {
			_, _ = io.Copy(io.Discard, s)
			return errors.Join(<-ends, s.Close())
		},
	})
	for _, want := range []error{nil, errors.New("2 requests were not answered")} {
		stream, err := control.NewClient(path).Stream(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		ends <- want
		if _, err := io.ReadAll(stream); err != nil {
			t.Fatal(err)
		}
		got := stream.Outcome(t.Context())
		if (got == nil) != (want == nil) || got != nil && got.Error() != "the host: "+want.Error() {
			t.Errorf("got %v, want %v", got, want)
		}
		_ = stream.Close()
	}
}

func TestOutcomeThatTheHostDoesNotKnowIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	path := serve(t, control.Functions{
		MCP:         http.NotFoundHandler(),
		ServeStream: func(s io.ReadWriteCloser) error { return s.Close() },
	})
	stream, err := control.NewClient(path).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	control.SetStreamID(stream, "another")
	if err := stream.Outcome(t.Context()); !errors.Is(err, control.ErrUnknownOutcome) || !strings.Contains(err.Error(), "want one that is open or has ended within the last 1m0s") {
		t.Errorf("got %v, want ErrUnknownOutcome with what was found", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := stream.Outcome(ended); !errors.Is(err, control.ErrUnknownOutcome) {
		t.Errorf("got %v, want ErrUnknownOutcome without an answer", err)
	}
}
