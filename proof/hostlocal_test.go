//go:build hostile && linux

package proof

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// otherUserID is the id of the attacker on the same machine.
const otherUserID = 65534

// asAttacker runs f on a thread with the rights of another user.
func asAttacker(t *testing.T, f func() error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can become another user")
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETRESUID, ^uintptr(0), otherUserID, ^uintptr(0)); errno != 0 {
			done <- errno
			return
		}
		done <- f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// openHome lets other users enter the home, and the directories above it.
func (u *hostUser) openHome() {
	u.t.Helper()
	for at := u.home; at != os.TempDir() && at != "/"; at = filepath.Dir(at) {
		must(u.t, os.Chmod(at, 0o755))
	}
}

const (
	localToken = "CANARY-local-token-0123456789"
	otherToken = "CANARY-other-token-0123456789"
)

// protected starts a host with tokens of two principals.
func (u *hostUser) protected(args ...string) *runningHost {
	u.t.Helper()
	config := u.write(".config/fondaco/mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`}}`)
	tokens := u.write("tokens", "ada:"+localToken+"\nbob:"+otherToken+"\n")
	h := u.up(append([]string{"--config", config, "--yes", "--auth-tokens", tokens}, args...)...)
	h.await(`plain +ready`)
	return h
}

// request sends a message with a token and a session id, and returns the response.
func (h *runningHost) request(method, token, session, body string) *http.Response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url, strings.NewReader(body))
	must(h.t, err)
	r.Header = http.Header{
		"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"},
	}
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
	}
	response, err := http.DefaultClient.Do(r)
	must(h.t, err)
	return response
}

const (
	initializeMessage = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	pingMessage       = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// socket returns the path of the control socket.
func (h *runningHost) socket(u *hostUser) string {
	h.t.Helper()
	found, err := filepath.Glob(filepath.Join(u.home, "run", "fondaco", "*.sock"))
	if err != nil || len(found) != 1 {
		h.t.Fatalf("got %v, %v, want one socket", found, err)
	}
	return found[0]
}

// filesWith returns the files below the home that have a text, except some.
func (u *hostUser) filesWith(text string, except ...string) (found []string) {
	u.t.Helper()
	forms := [][]byte{[]byte(text), []byte(base64.StdEncoding.EncodeToString([]byte(text)))}
	err := filepath.WalkDir(u.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, form := range forms {
			name := filepath.Base(path)
			if bytes.Contains(content, form) && !strings.Contains(strings.Join(except, " "), name) {
				found = append(found, path)
			}
		}
		return err
	})
	must(u.t, err)
	return found
}

func TestHostAttacksLocal(t *testing.T) {
	for name, attack := range map[string]func(t *testing.T, u *hostUser){
		"to be taken for the host, by a socket in a directory of the attacker": func(t *testing.T, u *hostUser) {
			u.openHome()
			shared := filepath.Join(u.home, "run")
			must(t, os.Chmod(shared, 0o777))
			leaks := new(hostOutput)
			asAttacker(t, func() error {
				dir := filepath.Join(shared, "fondaco")
				if err := os.Mkdir(dir, 0o755); err != nil {
					return err
				}
				return acceptInto(t, filepath.Join(dir, "7332.sock"), leaks)
			})
			for _, command := range [][]string{{"tools"}, {"call", "plain/greet"}, {"call", "plain/greet", "--url", "http://127.0.0.1:7332/mcp"}, {"revoke"}, {"approve"}} {
				if out, messages, _ := u.run(command...); strings.Contains(out, "CANARY") || leaks.String() != "" {
					t.Errorf("%v: the attacker was sent %q\n%s%s", command, leaks.String(), out, messages)
				}
			}
			if _, messages, code := u.run("tools"); code == 0 || !strings.Contains(messages, "control socket") {
				t.Errorf("got %d\n%s\nwant to hear of the socket", code, messages)
			}
		},
		"to be taken for the host, by a symbolic link": func(t *testing.T, u *hostUser) {
			other := filepath.Join(t.TempDir(), "sockets")
			leaks := new(hostOutput)
			must(t, os.Mkdir(other, 0o700), os.Symlink(other, filepath.Join(u.home, "run", "fondaco")), acceptInto(t, filepath.Join(other, "7332.sock"), leaks))
			if _, messages, code := u.run("tools"); code == 0 || leaks.String() != "" || !strings.Contains(messages, "symbolic link") {
				t.Errorf("got %d, sent %q\n%s", code, leaks.String(), messages)
			}
		},
		"to use the control socket of another user": func(t *testing.T, u *hostUser) {
			h := u.up("--config", u.write("mcp.json", `{"mcpServers": {}}`))
			h.await(`Ctrl-C`)
			socket := h.socket(u)
			u.openHome() // as if the modes had not protected it
			must(t, os.Chmod(filepath.Join(u.home, "run"), 0o755), os.Chmod(filepath.Dir(socket), 0o755), os.Chmod(socket, 0o666))
			var answers []string
			asAttacker(t, func() error {
				for _, text := range []string{"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET /stdio HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: mcp-stdio\r\n\r\n" + pingMessage + "\n"} {
					answer, err := exchangeWith(socket, text)
					if err != nil {
						return err
					}
					answers = append(answers, answer)
				}
				return nil
			})
			if strings.Join(answers, "") != "" {
				t.Errorf("the attacker got %q", answers)
			}
		},
		"to speak to the control endpoints through the stream of a client": func(t *testing.T, u *hostUser) {
			h := u.up("--config", u.write("mcp.json", `{"mcpServers": {}}`))
			h.await(`Ctrl-C`)
			answer, err := exchangeWith(h.socket(u), "GET /stdio HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: mcp-stdio\r\n\r\nGET /status HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if err != nil || !strings.HasPrefix(answer, "HTTP/1.1 101") || strings.Contains(answer, `"pid"`) || strings.Contains(answer[12:], "HTTP/1.1") {
				t.Errorf("got %q, %v, want errors of JSON-RPC alone", answer, err)
			}
		},
		"to be joined by clients of another configuration": func(t *testing.T, u *hostUser) {
			u.up("--config", u.write("mine/mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`}}`), "--yes").await(`plain +ready`)
			theirs := u.write("clone/.mcp.json", `{"mcpServers": {}}`)
			c := u.command(t.Context(), "stdio", "--config", theirs)
			c.Stdin = strings.NewReader(initializeMessage + "\n" + `{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n")
			out, err := c.Output()
			if err != nil || strings.Contains(string(out), "plain__greet") {
				t.Errorf("got %s, %v, want none of the user's tools", out, err)
			}
		},
		"to hang the host and its commands, by a lock that is never released": func(t *testing.T, u *hostUser) {
			config := u.write("mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`}}`)
			if _, messages, code := u.run("approve", "plain", "--yes", "--config", config); code != 0 {
				t.Fatal(messages)
			}
			for _, name := range []string{"state/.lock", "approvals/.lock", "audit.jsonl.lock", "user.key.lock"} {
				path := filepath.Join(u.home, ".local/state/fondaco", name)
				must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
				must(t, err)
				defer f.Close()
				must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
			}
			h := u.up("--config", config) // which waits for LISTEN
			for _, command := range [][]string{{"revoke", "eve"}, {"call", "plain/greet", "--timeout", "5s"}, {"approve", "plain", "--yes", "--config", config}} {
				if _, messages, code := u.run(command...); code < 0 {
					t.Errorf("%v hangs\n%s", command, messages)
				}
			}
			must(t, h.process.Process.Signal(syscall.SIGTERM))
			kill := time.AfterFunc(replyTimeout, func() { _ = h.process.Process.Kill() })
			defer kill.Stop()
			if err := h.process.Wait(); err != nil {
				t.Errorf("the host does not end: %v\n%s", err, h.stderr.String())
			}
		},
		"to hang commands, by a host that was stopped": func(t *testing.T, u *hostUser) {
			config := u.write(".config/fondaco/mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`}}`)
			h := u.up("--config", config, "--yes")
			h.await(`plain +ready`)
			must(t, h.process.Process.Signal(syscall.SIGSTOP))
			defer func() { _ = h.process.Process.Signal(syscall.SIGCONT) }()
			for _, command := range [][]string{{"tools", "--timeout", "10s"}, {"revoke", "eve"}, {"call", "plain/greet", "--timeout", "3s", "--url", h.url}} {
				if _, messages, code := u.run(command...); code < 0 {
					t.Errorf("%v hangs\n%s", command, messages)
				}
			}
		},
		"to have the configuration of a group run": func(t *testing.T, u *hostUser) {
			for name, spoil := range map[string]func(path string) error{
				"file":      func(path string) error { return os.Chmod(path, 0o660) },
				"directory": func(path string) error { return os.Chmod(filepath.Dir(path), 0o770) },
				"link in a shared directory": func(path string) error {
					return errors.Join(os.Rename(path, path+"2"), os.Chmod(filepath.Dir(path), 0o700), os.Mkdir(filepath.Dir(path)+"/shared", 0o700),
						os.Chmod(filepath.Dir(path)+"/shared", 0o777), os.Symlink("../mcp.json2", filepath.Dir(path)+"/shared/mcp.json"), os.Symlink("shared/mcp.json", path))
				},
			} {
				path := u.write(strings.ReplaceAll(name, " ", "-")+"/mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`}}`)
				must(t, spoil(path))
				if _, messages, code := u.run("tools", "--config", path); code != 2 || !strings.Contains(messages, "chmod go-w") {
					t.Errorf("%s: got %d\n%s", name, code, messages)
				}
			}
		},
		"to have variables of an environment file of a group set": func(t *testing.T, u *hostUser) {
			must(t, os.Chmod(u.write("x.env", "LD_PRELOAD=/tmp/evil.so\n"), 0o660))
			path := u.write("mcp.json", `{"mcpServers": {"plain": `+u.server("plain", `"envFile": "x.env"`)+`}}`)
			if _, messages, code := u.run("tools", "--config", path); code == 0 || !strings.Contains(messages, "chmod go-w") {
				t.Errorf("got %d\n%s", code, messages)
			}
		},
		"to find a token in a repository": func(t *testing.T, u *hostUser) {
			must(t, os.MkdirAll(filepath.Join(u.home, ".git"), 0o700))
			if _, messages, code := u.run("up", "--protect", "--addr", "127.0.0.1:0"); code != 2 || !strings.Contains(messages, "repository") {
				t.Errorf("got %d\n%s", code, messages)
			}
			if _, err := os.Stat(filepath.Join(u.home, ".local/state/fondaco/clients.tokens")); err == nil {
				t.Error("a token was written")
			}
		},
		"to find a token in the files of a client, in arguments, logs or output": func(t *testing.T, u *hostUser) {
			h := u.up("--config", u.write(".config/fondaco/mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`}}`), "--yes", "--protect", "--calls")
			h.await(`plain +ready`)
			text, err := os.ReadFile(filepath.Join(u.home, ".local/state/fondaco/clients.tokens"))
			must(t, err)
			_, token, _ := strings.Cut(strings.TrimSpace(string(text[strings.Index(string(text), "\nuser:"):])), ":")
			file := u.write("token", token)
			var printed strings.Builder
			for _, command := range [][]string{
				{"connect", "cursor"},
				{"connect", "vscode", "--url", h.url, "--file", filepath.Join(u.home, "vscode.json")},
				{"call", "plain/greet", "--url", h.url, "--token", "@" + file},
				{"tools", "--url", h.url},
				{"servers", "--json"},
				{"audit", "search"},
			} {
				out, messages, _ := u.run(command...)
				printed.WriteString(out + messages)
			}
			if found := u.filesWith(token, "clients.tokens", "token"); len(found) > 0 || strings.Contains(printed.String()+h.stderr.String(), token) {
				t.Errorf("the token is in %q, or in\n%s%s", found, printed.String(), h.stderr.String())
			}
		},
		"to be sent the token of another server": func(t *testing.T, u *hostUser) {
			leaks := listenForLeaks(t)
			u.env = append(u.env, "FONDACO_URL=http://127.0.0.1:1/mcp", "FONDACO_TOKEN="+localToken)
			u.run("tools", "--timeout", "3s", "--url", "http://"+leaks.Addr().String()+"/mcp")
			if got := leaks.received.String(); !strings.Contains(got, "POST") || strings.Contains(got, "CANARY") {
				t.Errorf("got %s, want requests without the token", got)
			}
		},
		"to use the host without a token from this machine": func(t *testing.T, u *hostUser) {
			h := u.protected()
			for _, token := range []string{"", "x", localToken[:len(localToken)-1], localToken + "x", strings.ToLower(localToken), "sha256:" + localToken} {
				response := h.request(http.MethodPost, token, "", initializeMessage)
				_ = response.Body.Close()
				if response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusBadRequest {
					t.Errorf("%q: got %s", token, response.Status)
				}
			}
		},
		"to go on with a session and a stream after the token was revoked": func(t *testing.T, u *hostUser) {
			h := u.protected()
			begun := h.request(http.MethodPost, localToken, "", initializeMessage)
			_, _ = io.Copy(io.Discard, begun.Body)
			_ = begun.Body.Close()
			session := begun.Header.Get("Mcp-Session-Id")
			stream := h.request(http.MethodGet, localToken, session, "")
			defer stream.Body.Close()
			if session == "" || stream.StatusCode != http.StatusOK {
				t.Fatalf("got session %q, %s", session, stream.Status)
			}
			if _, messages, code := u.run("revoke", "@"+u.write("leaked", localToken)); code != 0 {
				t.Fatal(messages)
			}
			_, _ = io.Copy(io.Discard, stream.Body)                  // until the host ends the stream
			for _, token := range []string{localToken, otherToken} { // the other principal may not use the session either
				response := h.request(http.MethodPost, token, session, pingMessage)
				_ = response.Body.Close()
				if want := map[string]int{localToken: 401, otherToken: 404}[token]; response.StatusCode != want {
					t.Errorf("got %s, want %d", response.Status, want)
				}
			}
		},
		"to outlive the revocation of its caller": func(t *testing.T, u *hostUser) {
			config := u.write("mcp.json", `{"mcpServers": {"stubborn": `+u.server("stubborn")+`}}`)
			h := u.up("--config", config, "--yes", "--auth-tokens", u.write("tokens", "ada:"+localToken+"\n"))
			h.await(`stubborn +ready`)
			pid, err := h.connect(&mcpclient.Options{HTTP: mcpclient.HTTPOptions{Header: http.Header{"Authorization": {"Bearer " + localToken}}}}).Call[int](t.Context(), "stubborn__pid", nil)
			must(t, err)
			if _, messages, code := u.run("revoke", "ada"); code != 0 {
				t.Fatal(messages)
			}
			for deadline := time.Now().Add(replyTimeout); syscall.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("the process still runs")
				}
			}
		},
		"to be accepted again, by a list of revocations that was edited": func(t *testing.T, u *hostUser) {
			h := u.protected()
			if _, messages, code := u.run("revoke", "ada"); code != 0 {
				t.Fatal(messages)
			}
			entries, err := filepath.Glob(filepath.Join(u.home, ".local/state/fondaco/state/revoked/*"))
			if err != nil || len(entries) != 1 {
				t.Fatalf("got %v, %v", entries, err)
			}
			content, err := os.ReadFile(entries[0])
			must(t, err)
			content[len(content)-1] ^= 1
			must(t, os.WriteFile(entries[0]+".new", content, 0o600), os.Rename(entries[0]+".new", entries[0]))
			time.Sleep(1500 * time.Millisecond) // the host notices the change
			response := h.request(http.MethodPost, localToken, "", initializeMessage)
			_ = response.Body.Close()
			if response.StatusCode < 400 {
				t.Errorf("got %s for the revoked principal", response.Status)
			}
		},
		"to close the sessions of others, by a name": func(t *testing.T, u *hostUser) {
			// A client that calls itself like the subject of another is no reason to end that one.
			h := u.protected()
			connect := func(token, program string) *mcpclient.Client {
				return h.connect(&mcpclient.Options{
					Info: mcp.Implementation{Name: program, Version: "1"}, Revisions: []mcp.Revision{mcp.V20251125},
					HTTP: mcpclient.HTTPOptions{Header: http.Header{"Authorization": {"Bearer " + token}}},
				})
			}
			bob := connect(otherToken, `issuer="fondaco-tokens" subject="ada" client=""`)
			connect(localToken, "bob2")
			if _, messages, code := u.run("revoke", "ada"); code != 0 {
				t.Fatal(messages)
			}
			if _, err := bob.Call[string](t.Context(), "plain__greet", nil); err != nil {
				t.Errorf("the other principal: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attack(t, newHostUser(t))
		})
	}
}

// acceptInto accepts connections at a path and keeps what they send, until the test ends.
func acceptInto(t *testing.T, path string, received *hostOutput) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.SetReadDeadline(time.Now().Add(time.Second))
			_, _ = io.Copy(received, io.LimitReader(conn, 1<<16))
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		work.Wait()
	})
	return nil
}

// exchangeWith sends a text to a socket and returns the answer, up to a second after its beginning.
func exchangeWith(path, text string) (answer string, err error) {
	conn, err := new(net.Dialer).DialContext(context.Background(), "unix", path)
	if err != nil {
		return "", fmt.Errorf("the attacker cannot connect: %w", err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	_, _ = io.WriteString(conn, text) // a closed connection is the answer, too
	in := bufio.NewReader(io.LimitReader(conn, 1<<16))
	_, _ = in.Peek(1)
	_ = conn.SetReadDeadline(time.Now().Add(time.Second))
	got, _ := io.ReadAll(in)
	return string(got), nil
}

func init() {
	hostileServers["stubborn"] = func() *mcpserver.Server { // only SIGKILL ends it
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		s := newServer()
		s.Tool("pid", "Tell the number of the process", func(context.Context, struct{}) (int, error) { return os.Getpid(), nil })
		_ = s.Run(context.Background())
		for { // the end of standard input does not end it either
			time.Sleep(time.Hour)
		}
	}
}
