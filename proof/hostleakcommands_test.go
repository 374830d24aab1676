//go:build hostile && linux

package proof

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// shownToTheUser are the places whose secrets a command shows on purpose: what was approved is shown
// as the configuration has it, "doctor" shows the path of a URL that it examines, and "servers" shows what a server prints and at which URL it fails.
var shownToTheUser = map[string][]string{
	"fondaco approvals": {"argument", "URL path", "URL query"},
	"fondaco doctor":    {"URL path"},
	"fondaco servers":   {"argument", "variable", "printed file", "URL path"},
	"fondaco.lock":      {"argument", "URL path", "URL query"},
}

// What the commands of a user print often ends in a report, a transcript in a test, and
// fondaco.lock in a repository.
func TestHostAttacksLeaksOfCommands(t *testing.T) {
	u := newLeakyUser(t)
	notified := u.addDesktop()
	all := make(sinks)
	for i := range u.project {
		u.broken.Store(false)
		h := u.up("--config", u.project[i], "--yes", "--auth-tokens", u.tokens)
		h.await(`leaky +ready`)
		h.await(`remote +ready`)
		u.collectConsent(t, h, all, notified)
		u.broken.Store(true)
		u.collectCommands(t, h, u.project[i], all)
		h.end()
		u.broken.Store(false)
		h = u.up("--config", u.locked[i], "--yes")
		h.await(`leaky +ready`)
		h.await(`remote +ready`)
		u.collectTranscript(t, u.locked[i], all)
		u.collect(t, all, "lock", "--config", u.locked[i])
		h.end()
		lock := filepath.Join(filepath.Dir(u.locked[i]), "fondaco.lock")
		text, err := os.ReadFile(lock)
		must(t, err, os.Remove(lock))
		all.add("fondaco.lock", string(text))
	}
	text, err := os.ReadFile(notified)
	must(t, err)
	all.add("notifications", string(text))
	for sink := range all {
		t.Run(sink, func(t *testing.T) { all.search(t, sink, shownToTheUser[sink]...) })
	}
	t.Attr("verdict", fmt.Sprintf("leaks of commands: %d places to search", len(all)))
}

// collect runs a command, adds what it prints, and returns it.
func (u *leakyUser) collect(t *testing.T, all sinks, args ...string) string {
	t.Helper()
	out, messages, code := u.run(args...)
	text := fmt.Sprintf("%q: %d\n%s%s", args[1:], code, out, messages)
	all.add("fondaco "+args[0], text)
	return text
}

// collectConsent makes a call that needs consent, gives that for later calls, and makes it again.
func (u *leakyUser) collectConsent(t *testing.T, h *runningHost, all sinks, notified string) {
	t.Helper()
	call := []string{"call", "leaky/guarded", "--url", h.url, "--token", "@" + u.write("token", canaries["token"])}
	waits := regexp.MustCompile(`allow call (\d+)`).FindStringSubmatch(u.collect(t, all, call...))
	if waits == nil {
		t.Fatal("the call was not refused")
	}
	question := waits[1]
	for _, args := range [][]string{{"inbox"}, {"inbox", question}, {"inbox", "--json"}, {"inbox", question, "--json"}} {
		u.collect(t, all, args...)
	}
	if out, messages, code := u.run("answer", question, "yes", "--for", "always", "--code", u.codeOf(question, notified)); code != 0 {
		t.Fatalf("answer: got %d\n%s%s", code, out, messages)
	}
	if out, messages, code := u.run(call...); code != 0 || out != "done\n" {
		t.Errorf("the call that was allowed: got %d\n%s%s", code, out, messages)
	}
}

// collectCommands runs the commands that show something of the servers.
func (u *leakyUser) collectCommands(t *testing.T, h *runningHost, config string, all sinks) {
	t.Helper()
	commands := [][]string{
		{"approvals"},
		{"approve"},
		{"grants"},
		{"audit", "verify"},
		{"audit", "search"},
		{"policy", "explain"},
		{"config", "show", "--config", config},
		{"config", "check", "--config", config},
		{"roots", "--config", config},
		{"doctor", "--config", config},
		{"lock"},
		{"servers"},
		{"tools"},
		{"resources"},
		{"prompts"},
	}
	token := []string{"--url", h.url, "--token", "@" + u.write("token", canaries["token"])}
	for _, args := range [][]string{{"servers"}, {"tools"}, {"resources"}, {"prompts"}, {"call", "remote/greet"}, {"call", "dead/greet"}, {"read", "notes://a"}} {
		commands = append(commands, append(args, token...))
	}
	for _, name := range []string{"leaky", "broken", "missing", "remote", "dead"} {
		commands = append(commands, []string{"policy", "explain", name, "--config", config}, []string{"servers", name})
	}
	for _, args := range commands {
		u.collect(t, all, args...)
		u.collect(t, all, append(args, "--json")...)
	}
}

// collectTranscript records the messages of a client that starts "fondaco stdio".
func (u *leakyUser) collectTranscript(t *testing.T, config string, all sinks) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), replyTimeout)
	defer cancel()
	command := u.command(ctx, "stdio", "--config", config)
	stdin, err := command.StdinPipe()
	must(t, err)
	stdout, err := command.StdoutPipe()
	must(t, err, command.Start())
	recorder := mcptest.Record(&lineConn{stdin, bufio.NewScanner(stdout)}, mcptest.Client)
	c, err := mcpclient.Connect(ctx, mcpclient.Conn(recorder), nil)
	must(t, err)
	tools := 0
	for tool, err := range c.Tools(ctx) {
		must(t, err)
		_, err = c.CallTool(ctx, tool.Name, map[string]any{}, mcpclient.ManualInput())
		all.add("transcript", fmt.Sprint(err))
		tools++
	}
	if tools < 5 {
		t.Errorf("got %d tools, want those of both servers", tools)
	}
	u.broken.Store(true)
	_, err = c.ReadResource(ctx, "notes://a")
	all.add("transcript", fmt.Sprint(err))
	must(t, c.Close())
	_ = command.Wait() // its exit code is that of other tests
	for _, line := range recorder.Transcript().Lines {
		all.add("transcript", string(line.From)+string(line.Message))
	}
}

// lineConn is a connection to a program. Each line is a message.
type lineConn struct {
	io.WriteCloser
	lines *bufio.Scanner
}

// Read returns the next message. It ends when the program does, and never by ctx.
func (c *lineConn) Read(context.Context) ([]byte, error) {
	if !c.lines.Scan() {
		return nil, io.EOF
	}
	return c.lines.Bytes(), nil
}

func (c *lineConn) Write(_ context.Context, message []byte) error {
	_, err := c.WriteCloser.Write(append(message[:len(message):len(message)], '\n'))
	return err
}

var _ mcp.Conn = (*lineConn)(nil)
