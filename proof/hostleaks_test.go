//go:build hostile && linux

package proof

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json/v2"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// canaries are secrets by the place that holds each.
var canaries = map[string]string{
	"argument":        "canary-argument-4711",
	"variable":        "canary-variable-4712",
	"URL path":        "canary-path-4713",
	"URL query":       "canary-query-4714",
	"URL user":        "canary-user-4715",
	"header":          "canary-header-4716",
	"file":            "canary-file-4717",
	"reference":       "canary-reference-4724",
	"printed file":    "canary-printed-4725",
	"standard error":  "canary-stderr-4718",
	"standard output": "canary-stdout-4719",
	"input":           "canary-input-4720",
	"token":           "canary-token-4721-canary",
	"request state":   "canary-state-4722",
	"directory":       "canary-directory-4723",
}

func init() {
	hostileServers["leaky"] = func() *mcpserver.Server {
		s := newPlainServer()
		s.Tool("exit", "Exit", func(context.Context, struct{}) (string, error) {
			fmt.Fprintln(os.Stderr, canaries["standard error"])
			os.Exit(3)
			return "", nil
		})
		s.Tool("guarded", "Needs consent", func(context.Context, struct{}) (string, error) { return "done", nil })
		s.Tool("print", "Print what is no message", func(context.Context, struct{}) (string, error) {
			fmt.Println(canaries["standard output"])
			os.Exit(4)
			return "", nil
		})
		s.AddTool(mcp.Tool{Name: "state", InputSchema: []byte(`{"type":"object"}`)}, func(_ context.Context, p *mcp.CallToolParams) (mcp.Result, error) {
			state := canaries["request state"]
			return &mcp.InputRequiredResult{RequestState: &state, InputRequests: map[string]mcp.InputRequest{
				"q": {Method: mcp.MethodElicit, Params: []byte(`{"message":"?","requestedSchema":{"type":"object","properties":{}}}`)},
			}}, nil
		})
		return s
	}
}

// newPlainServer returns a server with a tool, a resource and a prompt.
func newPlainServer() *mcpserver.Server {
	s := mcpserver.New("plain", "1", &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
	s.Tool("greet", "Greet", func(context.Context, struct{}) (string, error) { return "hello", nil })
	s.Resource("notes://a", "A", "text/plain", func(context.Context) ([]byte, error) { return []byte("a"), nil })
	s.Prompt("plan", "Plan", func(context.Context, struct{}) ([]mcp.PromptMessage, error) {
		return []mcp.PromptMessage{mcpserver.UserMessage("plan")}, nil
	})
	return s
}

// sinks collects what others see, by where they see it.
type sinks map[string]*strings.Builder

func (s sinks) add(sink string, text any) {
	if s[sink] == nil {
		s[sink] = new(strings.Builder)
	}
	fmt.Fprintf(s[sink], "%v\n", text)
}

// search reports each canary in each sink, as it is and in base64, but of the given places.
func (s sinks) search(t *testing.T, sink string, but ...string) {
	t.Helper()
	if s[sink] == nil || s[sink].Len() < 2 {
		t.Errorf("%s: nothing was collected", sink)
		return
	}
	text := s[sink].String()
	for place, canary := range canaries {
		if slices.Contains(but, place) {
			continue
		}
		if place == "directory" && sink != "errors to callers" && sink != "lists" && sink != "results" && sink != "page" {
			continue // the user's own records have paths
		}
		forms := []string{canary, strings.ToUpper(canary), base64.StdEncoding.EncodeToString([]byte(canary))[:16], base64.RawURLEncoding.EncodeToString([]byte(canary))[:16]}
		for _, form := range forms {
			if i := strings.Index(text, form); i >= 0 {
				t.Errorf("the secret of the place %q is in the sink %q: %.200q", place, sink, text[max(0, i-80):])
				break
			}
		}
	}
}

// leakyUser is a user whose configurations have canaries.
type leakyUser struct {
	*hostUser
	// broken makes the remote server fail with what it got.
	broken atomic.Bool
	tokens string // the file for --auth-tokens
	// project has a configuration of each format, and locked one with the servers of each that work.
	project, locked []string
}

func newLeakyUser(t *testing.T) *leakyUser {
	t.Helper()
	u := &leakyUser{hostUser: newHostUser(t)}
	serve := newPlainServer().HTTPHandler()
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u.broken.Load() {
			http.Error(w, fmt.Sprintf("failed for %s %v", r.URL, r.Header), http.StatusInternalServerError)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(remote.Close)
	u.env = append(u.env, "FONDACO_INPUT_TOK="+canaries["input"], "CANARY_VARIABLE="+canaries["variable"])
	u.write(".config/fondaco/mcp.json", `{"mcpServers": {}, "fondaco": {"consent": {"wait": "1s"}}}`)
	u.tokens = u.write("tokens", "ada:"+canaries["token"]+"\n")
	directory := filepath.Join(u.home, canaries["directory"])
	must(t, os.Mkdir(directory, 0o700))
	for name, layout := range map[string]leakyLayout{".mcp.json": u.claudeLayout(directory), "opencode.json": u.opencodeLayout(directory)} {
		servers := map[string]any{
			"leaky": layout.program(`exec "$0" "$@"`), "remote": layout.at(remote.URL),
		}
		u.locked = append(u.locked, u.writeJSON("locked/"+name, layout.file(servers)))
		servers["broken"] = layout.program(`echo "$2" >&2; echo "$API_KEY"; echo "$PRINTED" >&2; exit 3`) // without the canaries themselves
		servers["missing"], servers["dead"] = layout.missing, layout.at("http://127.0.0.1:9")
		u.project = append(u.project, u.writeJSON("project/"+name, layout.file(servers)))
	}
	return u
}

// leakyLayout makes entries of a format of configurations.
type leakyLayout struct {
	file    func(servers map[string]any) map[string]any
	program func(script string) map[string]any // a server that runs a script of the shell
	at      func(origin string) map[string]any // a server at a URL
	missing map[string]any                     // a program that does not exist
}

// leakyURL is the URL of a server, with the value of a parameter.
func leakyURL(origin, key string) string {
	return origin + "/" + canaries["URL path"] + "/mcp?key=" + key
}

func consentForGuarded() map[string]any {
	return map[string]any{"confirm": map[string]string{"guarded": "always"}}
}

// claudeLayout is that of Claude Code.
func (u *leakyUser) claudeLayout(directory string) leakyLayout {
	variables := u.write("secret.env", "FILE_SECRET="+canaries["file"]+"\n")
	return leakyLayout{
		file: func(servers map[string]any) map[string]any {
			return map[string]any{"mcpServers": servers, "inputs": []any{map[string]any{"id": "tok", "type": "promptString", "password": true}}}
		},
		program: func(script string) map[string]any {
			return map[string]any{
				"command": "/bin/sh", "args": []string{"-c", script, os.Args[0], "--api-key", canaries["argument"]}, "cwd": directory, "envFile": variables,
				"env":     map[string]string{upstreamVariable: "leaky", "API_KEY": canaries["variable"], "OTHER": "${env:CANARY_VARIABLE}", "INPUT": "${input:tok}"},
				"fondaco": consentForGuarded(),
			}
		},
		at: func(origin string) map[string]any {
			return map[string]any{
				"url":     leakyURL(origin, canaries["URL query"]),
				"headers": map[string]string{"X-Key": canaries["header"], "X-Input": "${input:tok}"},
			}
		},
		missing: map[string]any{"command": directory + "/nothing", "args": []string{"--api-key", canaries["argument"]}},
	}
}

// opencodeLayout is that of opencode, which refers to files.
func (u *leakyUser) opencodeLayout(directory string) leakyLayout {
	key := "{file:" + u.write("key", canaries["reference"]) + "}"
	printed := "{file:" + u.write("printed", canaries["printed file"]) + "}"
	return leakyLayout{
		file: func(servers map[string]any) map[string]any { return map[string]any{"mcp": servers} },
		program: func(script string) map[string]any {
			return map[string]any{
				"type": "local", "command": []string{"/bin/sh", "-c", script, os.Args[0], key}, "fondaco": consentForGuarded(),
				"environment": map[string]string{upstreamVariable: "leaky", "KEY": key, "PRINTED": printed, "API_KEY": "{env:CANARY_VARIABLE}"},
			}
		},
		at: func(origin string) map[string]any {
			return map[string]any{
				"type": "remote", "url": leakyURL(origin, key),
				"headers": map[string]string{"X-Key": key, "Authorization": "Bearer {env:CANARY_VARIABLE}"},
			}
		},
		missing: map[string]any{"type": "local", "command": []string{directory + "/nothing", key}},
	}
}

func (u *leakyUser) writeJSON(name string, value any) string {
	u.t.Helper()
	text, err := json.Marshal(value)
	must(u.t, err)
	return u.write(name, string(text))
}

func TestHostAttacksLeaks(t *testing.T) {
	u := newLeakyUser(t)
	all := make(sinks)
	for _, run := range []struct {
		config  string
		protect bool
	}{{u.project[0], false}, {u.project[0], true}, {u.project[1], false}} {
		args := []string{"--config", run.config, "--yes", "--calls", "--pprof", "127.0.0.1:0"}
		var header http.Header
		if run.protect {
			args = append(args, "--auth-tokens", u.tokens)
			header = http.Header{"Authorization": {"Bearer " + canaries["token"]}}
		}
		u.broken.Store(false)
		h := u.up(args...)
		h.await(`leaky +ready`)
		all.add("ps", commandLines(t, h.process.Process.Pid))
		collectFromClients(t, h, header, all)
		u.broken.Store(true)
		collectFromClients(t, h, header, all)
		if !run.protect {
			all.add("page", fetchText(t, strings.TrimSuffix(h.url, "/mcp")+"/"))
		}
		profiles := h.await(`profiles of this process: (\S+)/debug/pprof/`)[1] + "/debug/pprof/"
		for _, profile := range []string{"goroutine?debug=2", "goroutine?debug=1", "heap?debug=1", "allocs?debug=1", "threadcreate?debug=1", "cmdline", "", "trace?seconds=0.1"} {
			all.add("profiles", fetchText(t, profiles+profile))
		}
		for line := range strings.Lines(h.stderr.String()) {
			if strings.HasPrefix(line, "time=") {
				all.add("log", line)
			}
		}
		before := len(h.stderr.String())
		_ = h.process.Process.Signal(syscall.SIGQUIT)
		_ = h.process.Wait()
		if crash := h.stderr.String()[before:]; !strings.Contains(crash, "goroutine ") {
			t.Errorf("got no stacks from the host that crashed: %.300s", crash)
		} else {
			all.add("crash output", crash)
		}
	}
	err := filepath.WalkDir(filepath.Join(u.home, ".local"), func(path string, entry fs.DirEntry, err error) error {
		if strings.Contains(path, "/approvals") {
			return nil // it has the command that the user has approved
		}
		if err == nil && entry.Type().IsRegular() {
			var content []byte
			if content, err = os.ReadFile(path); err == nil {
				sink := "files of the host"
				if strings.Contains(path, "audit") {
					sink = "audit"
				}
				all.add(sink, path+": "+string(content))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, sink := range []string{"errors to callers", "lists", "results", "page", "log", "audit", "files of the host", "crash output", "profiles"} {
		t.Run(sink, func(t *testing.T) { all.search(t, sink) })
	}
	t.Run("ps", func(t *testing.T) { all.search(t, "ps", "argument", "reference") }) // which are in the arguments of the servers
}

// commandLines returns those of a process and its descendants, which all users of the machine see.
func commandLines(t *testing.T, pid int) string {
	t.Helper()
	parents := make(map[int]int)
	entries, err := os.ReadDir("/proc")
	must(t, err)
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		status, readErr := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		if err != nil || readErr != nil {
			continue // no process, or one that has ended
		}
		var parent int
		if _, after, ok := strings.Cut(string(status), "\nPPid:"); ok {
			_, _ = fmt.Sscan(after, &parent)
		}
		parents[child] = parent
	}
	var all strings.Builder
	found := 0
	for child := range parents {
		at := child
		for at != pid && at != 0 {
			at = parents[at]
		}
		if line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)); at == pid && err == nil {
			found++
			fmt.Fprintf(&all, "%q\n", bytes.Split(line, []byte{0}))
		}
	}
	if found < 2 || !strings.Contains(all.String(), canaries["argument"]) && !strings.Contains(all.String(), canaries["reference"]) {
		t.Errorf("got the command lines %s, want those of the host and a server with its arguments", all.String())
	}
	return all.String()
}

// collectFromClients collects what clients of both eras get.
func collectFromClients(t *testing.T, h *runningHost, header http.Header, all sinks) {
	t.Helper()
	for _, revision := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		c := h.connect(&mcpclient.Options{
			Revisions: []mcp.Revision{revision}, HTTP: mcpclient.HTTPOptions{Header: header},
			ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{}`)}, nil
			},
		})
		ctx, cancel := context.WithTimeout(t.Context(), replyTimeout)
		all.add("lists", c.Instructions())
		var names []string
		for tool, err := range c.Tools(ctx) {
			all.add("lists", fmt.Sprintf("%+v %v", tool, err))
			names = append(names, tool.Name)
		}
		for resource, err := range c.Resources(ctx) {
			all.add("lists", fmt.Sprintf("%+v %v", resource, err))
		}
		for template, err := range c.Templates(ctx) {
			all.add("lists", fmt.Sprintf("%+v %v", template, err))
		}
		for prompt, err := range c.Prompts(ctx) {
			all.add("lists", fmt.Sprintf("%+v %v", prompt, err))
		}
		for _, name := range append(names, "broken__greet", "missing__greet", "dead__greet") {
			call, end := context.WithTimeout(ctx, 5*time.Second)
			result, err := c.CallTool(call, name, map[string]any{}, mcpclient.ManualInput())
			end()
			all.add("errors to callers", fmt.Sprintf("%s: %v", name, err))
			if err == nil {
				sink := map[bool]string{true: "errors to callers", false: "results"}[result.IsError]
				text, _ := json.Marshal(result)
				all.add(sink, string(text))
			}
			if required, ok := err.(*mcpclient.InputRequiredError); ok {
				text, _ := json.Marshal(required.Result)
				all.add("results", string(text))
			}
		}
		for _, uri := range []string{"fondaco://remote/notes://a", "fondaco://dead/notes://a", "notes://a", "notes://b"} {
			_, err := c.ReadResource(ctx, uri)
			all.add("errors to callers", fmt.Sprintf("%s: %v", uri, err))
		}
		cancel()
	}
}

// fetchText returns what is at a URL.
func fetchText(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %d %s", url, resp.StatusCode, text)
}
