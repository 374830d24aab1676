package console_test

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

const base = "http://127.0.0.1:7332"

// source is a host for tests.
type source struct {
	mu            sync.Mutex
	servers       []console.Server  // guarded by mu
	restarted     []string          // guarded by mu
	failure       error             // guarded by mu: of each action
	callFailure   error             // of calls alone
	inbox         console.Inbox     // guarded by mu
	messages      []traffic.Message // guarded by mu
	decisions     []console.Decision
	query         console.AuditQuery // the last one
	problems      []string           // of the audit log
	configuration console.Config
	surface       mcp.Surface
	result        *mcp.CallToolResult // of each call
	request       *console.Request    // of the last call
	log           []console.LogLine
	used          []traffic.Usage
	recordings    []console.Recording
	recording     *mcpwire.Recording
	completion    *mcp.Completion
	updates       chan struct{} // of watched resources
	onWatch       func(ctx context.Context, uri string)
	roots         *console.Roots
	did           []string // guarded by mu: what was answered and approved
}

func (s *source) Recordings() ([]string, []console.Recording, error) {
	if len(s.recordings) == 0 {
		return nil, nil, nil
	}
	return []string{"/srv/recordings"}, s.recordings, s.failure
}

func (s *source) OpenRecording(string) (*traffic.Recording, error) {
	return traffic.NewRecording(s.recording), s.failure
}

func (s *source) Messages() []traffic.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

func (s *source) Decisions(_ context.Context, q console.AuditQuery, _ int) ([]console.Decision, int, error) {
	s.query = q
	return s.decisions, 7, nil
}

func (s *source) DecisionWords() []string { return []string{"done", "denied"} }

func (s *source) VerifyAudit(context.Context) (string, []string, error) {
	return "9 lines", s.problems, s.failure
}

func (s *source) Config(context.Context) (*console.Config, error) { return &s.configuration, nil }

func (s *source) Surface(context.Context) (*mcp.Surface, error) { return &s.surface, s.failure }

func (s *source) Call(_ context.Context, r *console.Request) (*mcp.CallToolResult, error) {
	s.request = r
	if s.callFailure != nil {
		return nil, s.callFailure
	}
	return s.result, s.do("call " + r.Tool.Name + " " + string(r.Arguments))
}

func (s *source) Prompt(_ context.Context, r *console.Request) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: s.result.Content[0]}}}, s.do(fmt.Sprint("prompt ", r.Prompt, r.PromptArguments))
}

func (s *source) Read(_ context.Context, r *console.Request) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: r.URI, MIMEType: "text/plain", Text: "read"}}}, s.do("read " + r.URI)
}

func (s *source) Complete(_ context.Context, p *mcp.CompleteParams) (*mcp.Completion, error) {
	encoded, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return s.completion, s.do("complete " + string(encoded))
}

func (s *source) TemplateVariables(uriTemplate string) ([]string, error) {
	return mcpclient.TemplateVariables(uriTemplate)
}

func (s *source) ExpandTemplate(uriTemplate string, values map[string]string) (string, error) {
	return mcpclient.ExpandTemplate(uriTemplate, values)
}

func (s *source) Watch(ctx context.Context, uri string, onUpdate func()) error {
	switch {
	case s.failure != nil:
		return s.failure
	case s.onWatch != nil:
		s.onWatch(ctx, uri)
		return nil
	}
	onUpdate()
	for {
		select {
		case <-s.updates:
			onUpdate()
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *source) HTTPRequest(_ context.Context, r *console.Request) (*console.HTTPRequest, error) {
	return &console.HTTPRequest{Header: http.Header{"Mcp-Method": {"tools/call"}, "Accept": {"it's"}}, Body: []byte(`{"a": "it's"}`)}, nil
}

func (s *source) Inbox(context.Context) console.Inbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inbox
}

func (s *source) File(_ context.Context, question string, n int) ([]byte, error) {
	return []byte(fmt.Sprintf("%s/%d", question, n)), s.failure
}

func (s *source) Answer(_ context.Context, id string, a console.Answer) error {
	if a.Server != nil {
		given, err := json.Marshal(a.Server)
		if err != nil {
			return err
		}
		return s.do(fmt.Sprintf("answer %s %s %q", id, given, a.Code))
	}
	return s.do(fmt.Sprintf("answer %s %t %q %q", id, a.Allow, a.For, a.Code))
}

func (s *source) ShowCode(_ context.Context, id string) error { return s.do("show a code for " + id) }

func (s *source) Approve(_ context.Context, id, code string) error {
	return s.do(fmt.Sprintf("approve %s %q", id, code))
}

func (s *source) Usage() []traffic.Usage { return s.used }

func (s *source) Log(string) []console.LogLine { return s.log }

func (s *source) SetDisabled(name string, off bool) error {
	return s.do(fmt.Sprint("off ", name, " ", off))
}

func (s *source) SignIn(_ context.Context, name string) error { return s.do("sign in " + name) }

func (s *source) FinishSignIn(name, address string) error {
	return s.do("finish " + name + " " + address)
}

func (s *source) Roots(context.Context, string) *console.Roots { return s.roots }

func (s *source) AddRoot(_ context.Context, name, dir, code string) error {
	return s.do(fmt.Sprintf("add root %s %s %q", name, dir, code))
}

func (s *source) RemoveRoot(name, dir string) error { return s.do("remove root " + name + " " + dir) }

func (s *source) ShowRootCode(_ context.Context, name, dir string) error {
	return s.do("show a code for " + name + " " + dir)
}

func (s *source) do(what string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, what)
	return s.failure
}

func (s *source) Servers() []console.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]console.Server{}, s.servers...)
}

func (s *source) Retry(name string) bool { return s.Restart(name) == nil }

func (s *source) Restart(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarted = append(s.restarted, name)
	return s.failure
}

// set changes the servers.
func (s *source) set(all ...console.Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.servers = all
}

func twoServers() []console.Server {
	return []console.Server{
		{Status: host.Status{Key: "files", Transport: "over stdio", State: host.Ready, Revision: mcp.V20251125, Tools: 11, Processes: 3}},
		{Status: host.Status{Key: "weather", State: host.NeedsSignIn, Reason: "401"}, Command: "fondaco auth login weather"},
	}
}

// browser is a browser with the cookies of one session.
type browser struct {
	t       *testing.T
	console *console.Console
	path    string // of the session, with slashes
	cookie  *http.Cookie
	token   string
}

// serve answers a request.
func serve(c *console.Console, r *http.Request) (*http.Response, string) {
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w.Result(), w.Body.String()
}

// request returns a request as a browser sends it from a page of the host.
func request(method, path string, form url.Values) *http.Request {
	r := httptest.NewRequest(method, base+path, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", base)
	}
	return r
}

// enter opens a session by a link.
func enter(t *testing.T, c *console.Console) *browser {
	t.Helper()
	link, ok := strings.CutPrefix(c.Link(), base)
	if !ok {
		t.Fatalf("got %s, want a link to the host", link)
	}
	response, body := serve(c, request(http.MethodGet, link, nil))
	cookies := response.Cookies()
	if response.StatusCode != 200 || len(cookies) != 1 || !strings.Contains(body, `url=`+cookies[0].Path) {
		t.Fatalf("got %d, cookies %v, %s, want a session", response.StatusCode, cookies, body)
	}
	b := &browser{t: t, console: c, path: cookies[0].Path, cookie: cookies[0]}
	b.token = regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(b.get(""))[1]
	return b
}

// get returns a page, by its path in the session.
func (b *browser) get(page string) string {
	b.t.Helper()
	response, body := b.do(request(http.MethodGet, b.path+page, nil))
	if response.StatusCode != 200 {
		b.t.Errorf("%s: got status %d, %s", page, response.StatusCode, body)
	}
	return body
}

// post sends a form with the token of the session.
func (b *browser) post(page string, fields ...string) (*http.Response, string) {
	form := url.Values{"token": {b.token}}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return b.do(request(http.MethodPost, b.path+page, form))
}

func (b *browser) do(r *http.Request) (*http.Response, string) {
	r.AddCookie(b.cookie)
	return serve(b.console, r)
}

// newConsole returns a console that ends with the test.
func newConsole(t *testing.T, s console.Source) *console.Console {
	c := console.New(console.Options{Base: base, Hosts: []string{"fondaco.internal"}, Source: s})
	t.Cleanup(c.Close)
	return c
}

// stream is the response to a request for a live stream.
type stream struct {
	header http.Header
	events chan string
}

func (s *stream) Header() http.Header { return s.header }
func (s *stream) WriteHeader(int)     {}
func (s *stream) Flush()              {}

func (s *stream) Write(p []byte) (int, error) {
	s.events <- string(p)
	return len(p), nil
}

// listen reads the live stream of a page until ctx ends.
func (b *browser) listen(ctx context.Context, page string) *stream {
	s := &stream{make(http.Header), make(chan string, 100)}
	r := request(http.MethodGet, b.path+"live?page="+url.QueryEscape(page), nil).WithContext(ctx)
	r.AddCookie(b.cookie)
	go func() {
		b.console.ServeHTTP(s, r)
		close(s.events)
	}()
	return s
}
