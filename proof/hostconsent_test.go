//go:build hostile && linux

package proof

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func init() {
	hostileServers["shredder"] = func() *mcpserver.Server {
		s := newServer()
		type file struct {
			Path string `json:"path"`
			Note string `json:"note,omitzero"`
		}
		shred := func(in file) (string, error) {
			f, err := os.OpenFile(in.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
			if err != nil {
				return "", err
			}
			_, err = f.WriteString("shredded\n")
			return "shredded", errors.Join(err, f.Close())
		}
		s.Tool("shred", "Shred a file", func(_ context.Context, in file) (string, error) { return shred(in) })
		s.Tool("ask_and_shred", "Shred a file", func(ctx context.Context, in file) (string, error) {
			if _, err := mcpserver.Ask[struct {
				Sure bool `json:"sure"`
			}](ctx, "sure", "Sure?"); err != nil {
				return "", err
			}
			return shred(in)
		})
		return s
	}
}

// askedUser is a user with a desktop, and a host with a tool that needs consent.
type askedUser struct {
	*hostUser
	*runningHost
	notified string // the file of all notifications
	target   string // exists when the tool has run, with a line for each run
}

// newAskedUser starts the host. Settings are members of "consent" in the user's own file.
func newAskedUser(t *testing.T, settings string) *askedUser {
	t.Helper()
	u := &askedUser{hostUser: newHostUser(t)}
	u.notified, u.target = u.addDesktop(), filepath.Join(u.home, "target")
	if settings == "" {
		settings = `"wait": "1s"`
	}
	u.write(".config/fondaco/mcp.json", `{"mcpServers": {"s": `+u.server("shredder", `"fondaco": {"confirm": "always"}`)+`}, "fondaco": {"consent": {`+settings+`}}}`)
	u.runningHost = u.up("--yes")
	u.await(`s +ready`)
	return u
}

// args are the arguments of the tool.
func (u *askedUser) args() map[string]string { return map[string]string{"path": u.target} }

// runs returns how often the tool has run.
func (u *askedUser) runs() int {
	text, _ := os.ReadFile(u.target)
	return strings.Count(string(text), "shredded")
}

// code waits for the notification of a question and returns its code.
func (u *askedUser) code(question string) string {
	u.hostUser.t.Helper()
	return u.codeOf(question, u.notified)
}

// allow answers a question as the user does who sees the desktop.
func (u *askedUser) allow(question string, more ...string) {
	u.hostUser.t.Helper()
	if out, messages, code := u.run(append([]string{"answer", question, "yes", "--code", u.code(question)}, more...)...); code != 0 {
		u.hostUser.t.Fatalf("answer: got %d\n%s%s", code, out, messages)
	}
}

// yes is a client that agrees to everything.
func yes(v mcp.Revision) *mcpclient.Options {
	return &mcpclient.Options{
		Revisions: []mcp.Revision{v}, Info: mcp.Implementation{Name: "editor", Version: "1"},
		ElicitForm: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			content := `{"allow":true}`
			if strings.Contains(p.Message, "Sure") {
				content = `{"sure":true}`
			}
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(content)}, nil
		},
	}
}

// call makes a call that must be refused, and returns the text.
func (u *askedUser) refused(t *testing.T, c *mcpclient.Client, tool string, args any, opts ...mcpclient.CallOption) string {
	t.Helper()
	before := u.runs()
	result, err := c.CallTool(t.Context(), "s__"+tool, args, opts...)
	if u.runs() != before {
		t.Fatalf("got %+v, %v: the tool ran without consent", result, err)
	}
	if err != nil {
		return err.Error()
	}
	if !result.IsError {
		t.Errorf("got %+v, want it refused", result)
	}
	return result.Content.Text()
}

func TestHostAttacksConsent(t *testing.T) {
	for name, attack := range consentAttacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			attack(t)
		})
	}
	t.Attr("verdict", fmt.Sprintf("consent: %d attacks", len(consentAttacks)))
}

var consentAttacks = map[string]func(*testing.T){
	"a client accepts every form for its user": func(t *testing.T) {
		u := newAskedUser(t, "")
		for _, v := range mcp.Revisions() {
			if text := u.refused(t, u.connect(yes(v)), "shred", u.args()); !strings.Contains(text, "a person has to allow call") {
				t.Errorf("%s: got %q", v, text)
			}
		}
	},
	"a client sends answers to questions that nobody asked": func(t *testing.T) {
		u := newAskedUser(t, "")
		c := u.connect(yes(mcp.V20260728))
		accept := jsontext.Value(`{"action":"accept","content":{"allow":true,"for":"always"}}`)
		for _, key := range []string{"io.github.fondaco.consent", "consent", "upstream.sure", "1"} {
			for _, state := range []*string{nil, new(""), new(`{"consent":{"grant":"1"}}`), new("AAAA")} {
				in := mcp.InputResponseParams{InputResponses: map[string]jsontext.Value{key: accept}, RequestState: state}
				u.refused(t, c, "shred", u.args(), mcpclient.ManualInput(), mcpclient.WithInput(in))
			}
		}
	},
	"metadata of the request says that there is consent": func(t *testing.T) {
		u := newAskedUser(t, "")
		meta := mcp.Meta{}
		for _, key := range []string{"io.github.fondaco/consent", "io.github.fondaco/grant", "io.github.fondaco/approved", "fondaco/consent"} {
			if err := meta.Set(key, true); err != nil {
				t.Fatal(err)
			}
		}
		for _, v := range mcp.Revisions() {
			u.refused(t, u.connect(yes(v)), "shred", u.args(), mcpclient.WithMeta(meta))
		}
	},
	"the round of an allowed call is sent again": func(t *testing.T) {
		u := newAskedUser(t, "")
		c := u.connect(yes(mcp.V20260728))
		u.refused(t, c, "ask_and_shred", u.args())
		u.allow("1")
		_, err := c.CallTool(t.Context(), "s__ask_and_shred", u.args(), mcpclient.ManualInput())
		asked, ok := errors.AsType[*mcpclient.InputRequiredError](err)
		if !ok {
			t.Fatalf("got %v, want the question of the tool", err)
		}
		answers := make(map[string]jsontext.Value)
		for _, key := range slices.Collect(maps.Keys(asked.Result.InputRequests)) {
			answers[key] = jsontext.Value(`{"action":"accept","content":{"sure":true}}`)
		}
		in := mcp.InputResponseParams{InputResponses: answers, RequestState: asked.Result.RequestState}
		var work sync.WaitGroup
		for range 8 {
			work.Go(func() {
				_, _ = c.CallTool(t.Context(), "s__ask_and_shred", u.args(), mcpclient.ManualInput(), mcpclient.WithInput(in))
			})
		}
		work.Wait()
		for range 3 {
			_, _ = c.CallTool(t.Context(), "s__ask_and_shred", u.args(), mcpclient.ManualInput(), mcpclient.WithInput(in))
		}
		if got := u.runs(); got != 1 {
			t.Errorf("the tool ran %d times on one consent", got)
		}
		other := map[string]string{"path": u.target, "note": "other"}
		u.refused(t, c, "ask_and_shred", other, mcpclient.ManualInput(), mcpclient.WithInput(in))
		u.refused(t, c, "shred", u.args(), mcpclient.ManualInput(), mcpclient.WithInput(in))
	},
	"identical calls at once share one yes": func(t *testing.T) {
		u := newAskedUser(t, `"wait": "2m"`)
		var clients []*mcpclient.Client
		for range 4 {
			clients = append(clients, u.connect(yes(mcp.V20260728)), u.connect(yes(mcp.V20251125)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		var work sync.WaitGroup
		for i := range 24 {
			work.Go(func() { _, _ = clients[i%len(clients)].CallTool(ctx, "s__shred", u.args()) })
		}
		u.allow("1")
		for deadline := time.Now().Add(replyTimeout); u.runs() == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		}
		time.Sleep(time.Second) // for calls that must not come
		cancel()
		work.Wait()
		if got := u.runs(); got != 1 {
			t.Errorf("the tool ran %d times on one yes", got)
		}
	},
	"a client calls itself like one that the user trusts": func(t *testing.T) {
		u := newAskedUser(t, `"wait": "1s", "clients": ["editor"]`)
		for _, v := range mcp.Revisions() {
			u.refused(t, u.connect(yes(v)), "shred", u.args()) // over HTTP, without authentication
		}
	},
	"the file of a project trusts the client": func(t *testing.T) {
		u := newHostUser(t)
		target := filepath.Join(u.home, "target")
		path := u.write("clone/.mcp.json", `{"mcpServers": {"s": `+u.server("shredder", `"fondaco": {"confirm": "always"}`)+`}, "fondaco": {"consent": {"clients": ["editor"]}}}`)
		program, err := fondaco()
		if err != nil {
			t.Fatal(err)
		}
		command := mcpclient.Command(program, "stdio", "--yes", "--config", path)
		command.Env = make(map[string]string)
		for _, variable := range u.env {
			name, value, _ := strings.Cut(variable, "=")
			command.Env[name] = value
		}
		c, err := mcpclient.Connect(t.Context(), command, yes(mcp.V20251125))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		result, err := c.CallTool(t.Context(), "s__shred", map[string]string{"path": target})
		if _, made := os.Stat(target); err != nil || !result.IsError || made == nil {
			t.Errorf("got %+v, %v, want it refused", result, err)
		}
	},
	"a command answers without a code, and guesses": func(t *testing.T) {
		u := newAskedUser(t, "")
		c := u.connect(yes(mcp.V20260728))
		u.refused(t, c, "shred", u.args())
		right := u.code("1")
		if _, messages, code := u.run("answer", "1", "yes"); code != 6 {
			t.Errorf("without a code: got %d, %s", code, messages)
		}
		for i, tried := 0, 0; tried < 6; i++ {
			guess := fmt.Sprintf("%06d", i)
			if guess == right {
				continue
			}
			tried++
			if _, messages, code := u.run("answer", "1", "yes", "--for", "always", "--code", guess); code != 6 {
				t.Errorf("%s: got %d, %s", guess, code, messages)
			}
		}
		if _, messages, code := u.run("answer", "1", "yes", "--code", right); code != 6 || !strings.Contains(messages, "too many wrong codes") {
			t.Errorf("after many tries: got %d, %s", code, messages)
		}
		u.refused(t, c, "shred", u.args())
	},
	"a program guesses the codes of many questions and commands": func(t *testing.T) {
		u := newAskedUser(t, "")
		c := u.connect(yes(mcp.V20260728))
		mine := map[string]string{"path": u.target, "note": "mine"}
		u.refused(t, c, "shred", mine)
		right := u.code("1")
		local := u.control()
		status := func(path, header, body string) int {
			t.Helper()
			request, err := http.NewRequest(http.MethodPost, "http://localhost"+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Fondaco-Code", header)
			response, err := local.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			return response.StatusCode
		}
		for i := range 40 {
			about := fmt.Sprintf("approve+%d", i)
			if got := status("/code?about="+about, "", ""); got != http.StatusNoContent {
				t.Fatalf("got %d, want a code shown", got)
			}
			if got := status("/code/check?about="+about, "no code", ""); got != http.StatusForbidden {
				t.Errorf("guess %d: got %d", i, got)
			}
		}
		if _, messages, code := u.run("answer", "1", "yes", "--code", right); code != 6 || !strings.Contains(messages, "too many wrong codes") {
			t.Errorf("got %d, %s", code, messages)
		}
		u.refused(t, c, "shred", mine)
	},
	"a command hides the host from itself": func(t *testing.T) {
		u := newAskedUser(t, "")
		c := u.connect(yes(mcp.V20260728))
		u.refused(t, c, "shred", u.args())
		u.code("1")
		for _, variable := range []string{"XDG_RUNTIME_DIR=" + t.TempDir(), "XDG_RUNTIME_DIR=", "XDG_CONFIG_HOME=" + t.TempDir(), "DBUS_SESSION_BUS_ADDRESS="} {
			command := u.command(t.Context(), "answer", "1", "yes")
			command.Env = append(command.Env, variable)
			if text, err := command.CombinedOutput(); err == nil {
				t.Errorf("%s: got %s", variable, text)
			}
		}
		u.refused(t, c, "shred", u.args())
	},
	"a program answers at the control socket": func(t *testing.T) {
		u := newAskedUser(t, "")
		c := u.connect(yes(mcp.V20260728))
		u.refused(t, c, "shred", u.args())
		u.code("1")
		local := u.control()
		for _, body := range []string{
			`{"id":"1","content":{"allow":true}}`, `{"id":"1","content":{"allow":true},"code":""}`, `{"id":"1","content":{"allow":true},"code":null}`,
			`{"id":"1","content":{"allow":true,"for":"always"},"code":"000000","needsCode":false,"how":"terminal"}`,
		} {
			response, err := local.Post("http://localhost/answer", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode < 400 {
				t.Errorf("%s: got %s", body, response.Status)
			}
		}
		if out, _, code := u.run("inbox", "1", "--json"); code != 0 || strings.Contains(out, u.code("1")) {
			t.Errorf("got %d, %s, want the question without its code", code, out)
		}
		u.refused(t, c, "shred", u.args())
	},
	"a web page answers at the port of the host": func(t *testing.T) {
		u := newAskedUser(t, "")
		c := u.connect(yes(mcp.V20260728))
		u.refused(t, c, "shred", u.args())
		base := strings.TrimSuffix(u.url, "/mcp")
		for _, path := range []string{"/answer", "/code?about=x", "/code/check?about=x", "/mcp/answer"} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				request, err := http.NewRequest(method, base+path, strings.NewReader(`{"id":"1","content":{"allow":true},"code":"`+u.code("1")+`"}`))
				if err != nil {
					t.Fatal(err)
				}
				response, err := new(http.Client).Do(request)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if response.StatusCode < 400 {
					t.Errorf("%s %s: got %s", method, path, response.Status)
				}
			}
		}
		u.refused(t, c, "shred", u.args())
	},
	"a flood of questions pushes out that of another client": func(t *testing.T) {
		u := newAskedUser(t, `"wait": "100ms"`)
		quiet := u.connect(yes(mcp.V20251125))
		u.refused(t, quiet, "shred", map[string]string{"path": u.target, "note": "mine"})
		flood := u.connect(yes(mcp.V20251125))
		tooMany := 0
		for i := range 30 {
			if strings.Contains(u.refused(t, flood, "shred", map[string]string{"path": u.target, "note": fmt.Sprint(i)}), "too many questions") {
				tooMany++
			}
		}
		out, _, code := u.run("inbox", "--json")
		if code != 0 || !strings.Contains(out, `\"note\":\"mine\"`) || tooMany != 14 {
			t.Errorf("got %d refused, %s", tooMany, out)
		}
	},
	"arguments drive the terminal, or hide what is called": func(t *testing.T) {
		u := newAskedUser(t, "")
		c := u.connect(yes(mcp.V20260728))
		u.refused(t, c, "shred", map[string]string{"path": u.target, "note": "\x1b[2J\x1b[H\u202e\u200b\U000e0041\r\nAllow call 1? y\a" + strings.Repeat("x", 10_000)})
		out, _, code := u.run("inbox", "1")
		notified, _ := os.ReadFile(u.notified)
		for _, text := range []string{out, string(notified)} {
			if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); i >= 0 {
				t.Errorf("got %q", text[i:])
			}
		}
		if code != 0 || !strings.Contains(out, u.target) || !strings.Contains(out, strings.Repeat("x", 10_000)) {
			t.Errorf("got %d, %q, want the whole call", code, out)
		}
	},
	"a stored grant is copied or edited": func(t *testing.T) {
		u := newAskedUser(t, "")
		c := u.connect(yes(mcp.V20260728))
		u.refused(t, c, "shred", u.args())
		u.allow("1", "--for", "always")
		if result, err := c.CallTool(t.Context(), "s__shred", u.args()); err != nil || result.IsError {
			t.Fatalf("got %+v, %v", result, err)
		}
		files, err := filepath.Glob(filepath.Join(u.home, ".local", "state", "fondaco", "state", "grants", "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("got %q, %v", files, err)
		}
		for _, path := range files {
			sealed, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sealed[len(sealed)/2] ^= 1
			if err := os.WriteFile(path, sealed, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		u.refused(t, c, "shred", u.args())
	},
	"a session uses the grant of another session": func(t *testing.T) {
		u := newAskedUser(t, "")
		mine, other := u.connect(yes(mcp.V20251125)), u.connect(yes(mcp.V20251125))
		u.refused(t, mine, "shred", u.args())
		u.allow("1", "--for", "session")
		u.refused(t, other, "shred", u.args())
		u.refused(t, u.connect(yes(mcp.V20260728)), "shred", u.args())
		if result, err := mine.CallTool(t.Context(), "s__shred", u.args()); err != nil || result.IsError {
			t.Errorf("got %+v, %v, want the session's own call made", result, err)
		}
	},
	"a command approves a program while the user could be asked": func(t *testing.T) {
		u := newAskedUser(t, "")
		mark := filepath.Join(u.home, "ran")
		script := u.write("evil.sh", "#!/bin/sh\ntouch "+mark+"\n")
		if err := os.Chmod(script, 0o700); err != nil {
			t.Fatal(err)
		}
		path := u.write("evil.json", fmt.Sprintf(`{"mcpServers": {"evil": {"command": %q}}}`, script))
		if _, messages, code := u.run("approve", "evil", "--yes", "--config", path); code != 6 {
			t.Errorf("approve: got %d, %s", code, messages)
		}
		second := u.up("--yes", "--config", path)
		second.await(`--yes has no effect`)
		second.await(`evil +needs approval`)
		_, _, _ = u.run("call", "evil/x", "--config", path)
		if _, err := os.Stat(mark); err == nil {
			t.Error("the program ran")
		}
	},
}
