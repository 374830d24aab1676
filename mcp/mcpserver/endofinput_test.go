package mcpserver_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// lastCalls is a server whose calls run when the input ends.
func lastCalls() *mcpserver.Server {
	srv := newServer(nil)
	srv.Tool("wait", "", func(ctx context.Context, in struct{ File string }) (string, error) {
		fmt.Fprintln(os.Stderr, "waiting")
		for ctx.Err() == nil {
			if _, err := os.Stat(in.File); err == nil {
				return "waited", nil
			}
			time.Sleep(time.Millisecond)
		}
		fmt.Fprintln(os.Stderr, "cancelled")
		return "", ctx.Err()
	})
	srv.Tool("ask", "", func(ctx context.Context, _ struct{}) (string, error) {
		answer, err := mcpserver.Ask[struct{ Name string }](ctx, "name", "Your name?")
		return answer.Name, err
	})
	return srv
}

// program is a server process whose standard streams are those of a client.
type program struct {
	*exec.Cmd
	in             io.WriteCloser
	out            io.Closer
	stdout, stderr *bufio.Scanner
}

func startProgram(t *testing.T, role string) *program {
	t.Helper()
	p := &program{Cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.Env = append(os.Environ(), mainEnv+"="+role)
	in, err1 := p.StdinPipe()
	stdout, err2 := p.StdoutPipe()
	stderr, err3 := p.StderrPipe()
	if err1 != nil || err2 != nil || err3 != nil {
		t.Fatal(err1, err2, err3)
	}
	p.in, p.out, p.stdout, p.stderr = in, stdout, bufio.NewScanner(stdout), bufio.NewScanner(stderr)
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill() })
	return p
}

// call sends the call of a tool, after initialize where the revision has sessions.
func (p *program) call(t *testing.T, revision mcp.Revision, tool, arguments string) {
	t.Helper()
	const capabilities = `{"elicitation":{"form":{}}}`
	meta := ""
	if revision.Stateless() {
		meta = fmt.Sprintf(`,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":%s}`, revision, capabilities)
	} else {
		p.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"x","version":"1"}}}`, revision, capabilities))
		p.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		p.await(t, p.stdout, `"id":0`)
	}
	p.send(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s%s}}`, tool, arguments, meta))
}

func (p *program) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// await returns the next line that contains a text.
func (p *program) await(t *testing.T, s *bufio.Scanner, text string) string {
	t.Helper()
	for s.Scan() {
		if strings.Contains(s.Text(), text) {
			return s.Text()
		}
	}
	t.Fatalf("got the end of the output, want %q", text)
	return ""
}

// rest returns what is still written, and the exit code.
func (p *program) rest() (stdout, stderr string, code int) {
	for p.stdout.Scan() {
		stdout += p.stdout.Text() + "\n"
	}
	for p.stderr.Scan() {
		stderr += p.stderr.Text() + "\n"
	}
	_ = p.Wait()
	return stdout, stderr, p.ProcessState.ExitCode()
}

func TestEndOfInput(t *testing.T) {
	t.Parallel()
	for _, revision := range eras {
		t.Run(revision.String()+" running call is answered", func(t *testing.T) {
			t.Parallel()
			p, file := startProgram(t, "long grace"), t.TempDir()+"/go"
			p.call(t, revision, "wait", fmt.Sprintf(`{"File":%q}`, file))
			p.await(t, p.stderr, "waiting")
			_ = p.in.Close()
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if stdout, stderr, code := p.rest(); !strings.Contains(stdout, "waited") || code != 0 || strings.Contains(stderr, "answered") {
				t.Errorf("got %q, %q, exit code %d, want the result and 0", stdout, stderr, code)
			}
		})
		t.Run(revision.String()+" call that takes too long", func(t *testing.T) {
			t.Parallel()
			p := startProgram(t, "short grace")
			p.call(t, revision, "wait", `{"File":"/nowhere/at/all"}`)
			p.await(t, p.stderr, "waiting")
			_ = p.in.Close()
			stdout, stderr, code := p.rest()
			if want := "run: a request was not answered within 1ms after the end of the input"; stdout != "" || code != 1 || !strings.Contains(stderr, want) {
				t.Errorf("got %q, %q, exit code %d, want %q and 1", stdout, stderr, code, want)
			}
		})
		t.Run(revision.String()+" call that waits for the client", func(t *testing.T) {
			t.Parallel()
			p := startProgram(t, "long grace")
			p.call(t, revision, "ask", `{}`)
			want := `"resultType":"input_required"`
			if !revision.Stateless() {
				p.await(t, p.stdout, `"method":"elicitation/create"`)
				want = `"error":{"code":-32600,"message":"the request waits for an answer of the client, which has closed`
			}
			_ = p.in.Close()
			if stdout, stderr, code := p.rest(); !strings.Contains(stdout, want) || code != 0 {
				t.Errorf("got %q, %q, exit code %d, want %q and 0", stdout, stderr, code, want)
			}
		})
		t.Run(revision.String()+" client that is gone", func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS != "linux" {
				t.Skip("only the next write shows it here")
			}
			p := startProgram(t, "long grace")
			p.call(t, revision, "wait", `{"File":"/nowhere/at/all"}`)
			p.await(t, p.stderr, "waiting")
			_ = p.in.Close()
			_ = p.out.Close()
			p.await(t, p.stderr, "cancelled")
		})
	}
}
