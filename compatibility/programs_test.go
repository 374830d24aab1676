package compatibility

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// A programRow is about programs that a client starts, or that serve a client over their standard
// streams.
type programRow struct {
	name string
	test func(t *testing.T)
}

var environmentRows = []programRow{
	{"env-program", gets("server", nil, networkVariables...)},
	{"env-npx", gets("npx", nil, append([]string{"npm_config_registry"}, networkVariables...)...)},
	{"env-uvx", gets("uvx", nil, append([]string{"UV_INDEX_URL"}, networkVariables...)...)},
	{"env-pipx", gets("pipx", nil, append([]string{"PIP_INDEX_URL"}, networkVariables...)...)},
	{"env-docker", gets("docker", nil, append([]string{"DOCKER_HOST"}, networkVariables...)...)},
	{"env-podman", gets("podman", nil, append([]string{"DOCKER_HOST"}, networkVariables...)...)},
	{"env-named", gets("server", map[string]string{"TOKEN": "x", "ALL_PROXY": "http://user:secret@proxy.example"}, append([]string{"TOKEN", "ALL_PROXY"}, networkVariables...)...)},
	{"env-missing", namesWithheld},
}

var programRows = []programRow{
	{"start-slow", startsSlowly},
	{"start-too-slow", startsTooSlowly},
	{"input-ends-running", inputEndsRunning},
	{"input-ends-asking", inputEndsAsking},
	{"input-ends-late", inputEndsLate},
	{"input-ends-gone", inputEndsGone},
}

// environment is that of the client in the rows about variables. ALL_PROXY has a password.
var environment = map[string]string{
	"HTTP_PROXY": "http://proxy.example", "https_proxy": "http://proxy.example", "NO_PROXY": "inside.example", "ALL_PROXY": "http://user:secret@proxy.example",
	"SSL_CERT_FILE": "/etc/company.pem", "SSL_CERT_DIR": "/etc/company", "NODE_EXTRA_CA_CERTS": "/etc/company.pem", "REQUESTS_CA_BUNDLE": "/etc/company.pem",
	"npm_config_registry": "https://npm.example", "UV_INDEX_URL": "https://pypi.example", "PIP_INDEX_URL": "https://pypi.example",
	"DOCKER_HOST": "ssh://builder", "SSH_AUTH_SOCK": "/tmp/agent", "TOKEN": "secret", "AWS_PROFILE": "work",
}

// networkVariables are those of them that each program gets.
var networkVariables = []string{"HTTP_PROXY", "https_proxy", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"}

func TestEnvironmentsOfPrograms(t *testing.T) {
	for name, value := range environment {
		t.Setenv(name, value)
	}
	for _, row := range environmentRows {
		t.Run(row.name, row.test)
	}
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, row := range programRows {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			row.test(t)
		})
	}
}

// gets returns a test that a program of that name gets the given variables of environment and no others.
func gets(program string, named map[string]string, want ...string) func(t *testing.T) {
	return func(t *testing.T) {
		path := filepath.Join(t.TempDir(), program)
		if runtime.GOOS == "windows" {
			t.Skip("a program has another name only as a copy here")
		}
		if err := os.Symlink(self(t), path); err != nil {
			t.Fatal(err)
		}
		target := mcpclient.Command(path)
		target.Env = map[string]string{roleVariable: "program"}
		for name, value := range named {
			target.Env[name] = value
		}
		c, err := mcpclient.Connect(t.Context(), target, clientOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		got, err := c.Call[[]string](t.Context(), "environment", nil)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		if got = slices.DeleteFunc(got, func(name string) bool { return environment[name] == "" }); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// serveProgram is the program of the rows. With an argument it starts when there is a file of that name.
func serveProgram() {
	if len(os.Args) > 1 {
		fmt.Fprintln(os.Stderr, "downloading packages")
		for awaitFile(os.Args[1]) != nil {
		}
	}
	s := mcpserver.New("program", "1", &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
	s.Tool("environment", "The names of variables", func(context.Context, struct{}) ([]string, error) {
		var names []string
		for _, pair := range os.Environ() {
			name, _, _ := strings.Cut(pair, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		return names, nil
	})
	s.Tool("wait", "Waits for a file", func(ctx context.Context, in struct{ File string }) (string, error) {
		fmt.Fprintln(os.Stderr, "waiting")
		for ctx.Err() == nil {
			if awaitFile(in.File) == nil {
				return "waited", nil
			}
		}
		fmt.Fprintln(os.Stderr, "cancelled")
		return "", ctx.Err()
	})
	s.Tool("ask", "Asks", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := mcpserver.Ask[struct{ Name string }](ctx, "name", "Your name?")
		return answer.Name, err
	})
	mcpserver.Main(s)
	os.Exit(0)
}

func awaitFile(path string) error {
	time.Sleep(time.Millisecond)
	_, err := os.Stat(path)
	return err
}

// failProgram is a program that cannot start.
func failProgram() {
	fmt.Fprintln(os.Stderr, "want the variable TOKEN")
	os.Exit(3)
}

// behindGateway returns a gateway that starts a program in a role, with a limit of the start, and a
// client of it. starts counts the starts.
func behindGateway(t *testing.T, role string, limit time.Duration, args ...string) (g *gateway.Gateway, c *mcpclient.Client, starts *atomic.Int32) {
	t.Helper()
	target := mcpclient.Command(self(t), args...)
	target.Env = map[string]string{roleVariable: role}
	starts = new(atomic.Int32)
	g = gateway.New([]host.Upstream{{Key: "p", Target: target, Settings: host.Settings{StartupTimeout: limit}}}, &gateway.Options{
		Logger: slog.New(slog.DiscardHandler), StartTimeout: time.Millisecond, CallStartTimeout: time.Millisecond,
		Admit: func(ctx context.Context, u *host.Upstream) (*host.Upstream, error) {
			starts.Add(1)
			return u.Resolved(ctx)
		},
	})
	t.Cleanup(g.Close)
	g.Start(t.Context())
	return g, mcptest.Connect(t, g.Server(), clientOptions()), starts
}

// awaitFailure returns the status of the program once it has failed.
func awaitFailure(t *testing.T, g *gateway.Gateway) host.Status {
	t.Helper()
	for deadline := time.Now().Add(hangTime); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if s := g.Status()[0]; s.State == host.Failed || s.State == host.Suspended {
			return s
		}
	}
	t.Fatal("the program has not failed")
	return host.Status{}
}

func namesWithheld(t *testing.T) {
	g, _, _ := behindGateway(t, "failing", farLimit)
	s := awaitFailure(t, g)
	if !strings.Contains(s.Reason, "exited with status 3") || !strings.Contains(s.Reason, "want the variable TOKEN") {
		t.Errorf("got the reason %q, want the status and the last line of standard error", s.Reason)
	}
	if len(s.Withheld) == 0 || s.Withheld[0] != "TOKEN" || !slices.Contains(s.Withheld, "SSH_AUTH_SOCK") || slices.Contains(s.Withheld, "HTTP_PROXY") {
		t.Errorf("got %q, want the variables that it did not get, first the one that it mentions", s.Withheld)
	}
}

func startsSlowly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "go")
	_, c, starts := behindGateway(t, "program", farLimit, file)
	call := func() *mcp.CallToolResult {
		result, err := c.CallTool(t.Context(), "p__environment", nil)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	const again = `upstream "p": still starting, call again`
	for range 3 {
		if result := call(); !result.IsError || result.Content.Text() != again {
			t.Errorf("got %+v, want %q", result, again)
		}
	}
	if n := starts.Load(); n != 1 {
		t.Errorf("got %d starts, want one that goes on", n)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	result := call()
	for deadline := time.Now().Add(hangTime); result.IsError && result.Content.Text() == again && time.Now().Before(deadline); result = call() {
		time.Sleep(time.Millisecond)
	}
	if result.IsError {
		t.Errorf("got %+v once it has started", result)
	}
}

// The longer limits are for slow machines, where the program may write late.
func startsTooSlowly(t *testing.T) {
	for _, limit := range []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, time.Minute} {
		g, _, _ := behindGateway(t, "program", limit, "/nowhere/at/all")
		s := awaitFailure(t, g)
		g.Close()
		if want := "not connected within " + limit.String(); !strings.Contains(s.Reason, want) {
			t.Fatalf("got %q, want %s", s.Reason, want)
		}
		if strings.Contains(s.Reason, "standard error: downloading packages") {
			return
		}
	}
	t.Error("got no reason with what the program has written last")
}

// lastCaller is the client of a program whose input it ends.
type lastCaller struct {
	*exec.Cmd
	in          io.WriteCloser
	out, stderr *bufio.Scanner
	closeOut    func() error
}

// startLastCall starts a program and calls a tool.
func startLastCall(t *testing.T, revision mcp.Revision, tool, arguments string) *lastCaller {
	t.Helper()
	p := &lastCaller{Cmd: exec.Command(self(t))}
	p.Env = append(os.Environ(), roleVariable+"=program")
	in, err1 := p.StdinPipe()
	out, err2 := p.StdoutPipe()
	stderr, err3 := p.StderrPipe()
	if err := errors.Join(err1, err2, err3, p.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	p.in, p.out, p.stderr, p.closeOut = in, bufio.NewScanner(out), bufio.NewScanner(stderr), out.Close
	const capabilities, info = `{"elicitation":{"form":{}}}`, `{"name":"x","version":"1"}`
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments
	if revision.Stateless() {
		p.send(t, call+`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":`+info+`,"io.modelcontextprotocol/clientCapabilities":`+capabilities+`}}}`)
		return p
	}
	p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":`+capabilities+`,"clientInfo":`+info+`}}`)
	awaitLine(t, p.out, `"id":0`)
	p.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	p.send(t, call+`}}`)
	return p
}

func (p *lastCaller) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

func awaitLine(t *testing.T, s *bufio.Scanner, text string) {
	t.Helper()
	for s.Scan() {
		if strings.Contains(s.Text(), text) {
			return
		}
	}
	t.Fatalf("got the end of the output, want %q", text)
}

// end returns what the program still writes, and its exit code.
func (p *lastCaller) end() (out, stderr string, code int) {
	for p.out.Scan() {
		out += p.out.Text() + "\n"
	}
	for p.stderr.Scan() {
		stderr += p.stderr.Text() + "\n"
	}
	_ = p.Wait()
	return out, stderr, p.ProcessState.ExitCode()
}

// inBothEras runs a test as a client of each era.
func inBothEras(t *testing.T, test func(t *testing.T, revision mcp.Revision)) {
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(revision.String(), func(t *testing.T) {
			t.Parallel()
			test(t, revision)
		})
	}
}

func inputEndsRunning(t *testing.T) {
	inBothEras(t, func(t *testing.T, revision mcp.Revision) {
		file := filepath.Join(t.TempDir(), "go")
		p := startLastCall(t, revision, "wait", `{"File":"`+filepath.ToSlash(file)+`"}`)
		awaitLine(t, p.stderr, "waiting")
		_ = p.in.Close()
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, stderr, code := p.end(); !strings.Contains(out, "waited") || code != 0 {
			t.Errorf("got %q, %q, exit code %d, want the result and 0", out, stderr, code)
		}
	})
}

func inputEndsAsking(t *testing.T) {
	inBothEras(t, func(t *testing.T, revision mcp.Revision) {
		p, want := startLastCall(t, revision, "ask", `{}`), `"resultType":"input_required"`
		if !revision.Stateless() {
			awaitLine(t, p.out, `"method":"elicitation/create"`)
			want = `"error":{"code":-32600,"message":"the request waits for an answer of the client, which has closed`
		}
		_ = p.in.Close()
		if out, stderr, code := p.end(); !strings.Contains(out, want) || code != 0 {
			t.Errorf("got %q, %q, exit code %d, want %q and 0", out, stderr, code, want)
		}
	})
}

// It takes the ten seconds that a call has.
func inputEndsLate(t *testing.T) {
	inBothEras(t, func(t *testing.T, revision mcp.Revision) {
		p := startLastCall(t, revision, "wait", `{"File":"/nowhere/at/all"}`)
		_ = p.in.Close()
		if out, stderr, code := p.end(); out != "" || code != 1 || !strings.Contains(stderr, "a request was not answered within 10s after the end of the input") {
			t.Errorf("got %q, %q, exit code %d, want 1 and a line that says so", out, stderr, code)
		}
	})
}

func inputEndsGone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only the next write shows it here")
	}
	inBothEras(t, func(t *testing.T, revision mcp.Revision) {
		p := startLastCall(t, revision, "wait", `{"File":"/nowhere/at/all"}`)
		awaitLine(t, p.stderr, "waiting")
		_ = p.in.Close()
		_ = p.closeOut()
		awaitLine(t, p.stderr, "cancelled")
		if _, stderr, _ := p.end(); strings.Contains(stderr, "not answered") {
			t.Errorf("got %q, want the calls cancelled because nobody reads the output", stderr)
		}
	})
}
