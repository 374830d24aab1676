package mcpserver_test

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

func TestMainLogsTheMessages(t *testing.T) {
	t.Parallel()
	run := func(value string) (stdout, stderr string, err error) {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), mainEnv+"=1", mcpwire.Variable+"="+value)
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
		var out, log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &log
		err = cmd.Run()
		return out.String(), log.String(), err
	}
	answer, log, err := run("1")
	if err != nil || answer != `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n" {
		t.Errorf("got %q, %v, want the answer alone", answer, err)
	}
	if lines := strings.Split(log, "\n"); len(lines) != 3 || !strings.HasSuffix(lines[0], " 1 ← ping id=1") || !strings.Contains(lines[1], " 1 → ping id=1 result {} ") {
		t.Errorf("got the log %q, want a line for each message", log)
	}
	if _, log, err := run("loud"); err == nil || !strings.Contains(log, "want 1, json or 0") {
		t.Errorf("got %v, %q, want a refusal of the value", err, log)
	}
}

// A panic in the function of an author would otherwise end the connection or the process.
func TestPanicOfOnMessageIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	boom := func(mcp.WireMessage) { panic("boom") }
	o := &mcpserver.Options{OnMessage: boom, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	srv := mcpserver.New("panics", "1.0.0", o)
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(srv), &mcpclient.Options{OnMessage: boom, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
	_ = c.Close()
	if got := log.String(); !strings.Contains(got, "OnMessage panicked") || !strings.Contains(got, "boom") {
		t.Errorf("got the log %q, want the panic", got)
	}
}
