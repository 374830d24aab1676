package mcpserver_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json/jsontext"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/wiretest"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/handles"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// post is one POST of a message in the form of the stateless era.
type post struct {
	url, method, name, params string
	can                       string // the capabilities that it declares
	header                    http.Header
}

// send sends the message and returns the response and its body.
func (p post) send(t *testing.T) (*http.Response, string) {
	t.Helper()
	response := p.open(t)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// open sends the message and returns the response, whose body is to be closed.
func (p post) open(t *testing.T) *http.Response {
	t.Helper()
	w := &wire{Client: wiretest.Client{T: t, Revision: mcp.V20260728, Capabilities: p.can}}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, p.method, w.Params(p.params))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("MCP-Protocol-Version", mcp.V20260728.String())
	r.Header.Set("Mcp-Method", p.method)
	if p.name != "" {
		r.Header.Set("Mcp-Name", p.name)
	}
	for name, values := range p.header {
		r.Header[name] = values
	}
	if host := r.Header.Get("Host"); host != "" {
		r.Host = host
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return response
}

// web serves a server over HTTP until the test ends.
func web(t *testing.T, srv *mcpserver.Server) string {
	t.Helper()
	s := httptest.NewServer(mcptest.CheckHandler(t, byToken(srv.HTTPHandler()), mcptest.CheckOnly(mcptest.Server)))
	t.Cleanup(func() {
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		s.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return s.URL
}

// byToken takes the Authorization header for the name of the user and the scopes
// that were granted to it. With a "!" in front it is for a minute.
func byToken(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if token := strings.Fields(r.Header.Get("Authorization")); len(token) > 0 {
			name, brief := strings.CutPrefix(token[0], "!")
			who := identity(name, token[1:]...)
			if brief {
				who.Expires = time.Now().Add(time.Minute)
			}
			r = r.WithContext(mcp.WithIdentity(r.Context(), who))
		}
		h.ServeHTTP(w, r)
	})
}

// identity is that of a user with scopes. The name may be followed by a client and
// an issuer, each behind a slash.
func identity(user string, scopes ...string) *mcp.Identity {
	parts := append(strings.Split(user, "/"), "", "")
	return &mcp.Identity{
		Principal: mcp.Principal{Issuer: cmp.Or(parts[2], "test"), Subject: parts[0], Client: parts[1]}, Scopes: scopes,
		Challenge: func(scopes []string) string {
			return fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s"`, strings.Join(scopes, " "))
		},
	}
}

// member has tools that tell who calls, and one that only Ada may know of.
func member(o *mcpserver.HTTPOptions) *mcpserver.Server {
	srv := newServer(&mcpserver.Options{HTTP: o})
	srv.Tool("who", "", func(ctx context.Context, _ struct{}) (string, error) {
		r := mcpserver.From(ctx)
		return r.Principal().String() + " " + r.Header().Get("X-Seat") + " " + r.Revision().String(), nil
	})
	srv.Tool("secret", "", nothing, mcpserver.Visible(func(who *mcp.Identity) bool { return who.Principal.Subject == "ada" }))
	return srv
}

func TestCallOverHTTPHasItsHTTPRequest(t *testing.T) {
	t.Parallel()
	url := web(t, member(nil))
	for _, v := range revisions[1:] {
		c, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{
			Revisions: []mcp.Revision{v}, HTTP: mcpclient.HTTPOptions{Header: http.Header{"Authorization": {"ada"}, "X-Seat": {"4A"}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Call[string](t.Context(), "who", nil)
		if want := `issuer="test" subject="ada" client="" 4A ` + v.String(); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func TestCallersOverHTTPHaveTheirOwnView(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-204b", "R-218b", "R-232", "R-265")
	url := web(t, member(nil))
	for _, test := range []struct {
		user, tools string
		status      int
	}{{"ada", "secret who", 200}, {"bob", "who", 200}, {"", "who", 200}, {"ada", "secret who", 200}} {
		header := http.Header{"Authorization": {test.user}}
		_, body := post{url: url, method: "tools/list", header: header}.send(t)
		var names []string
		for _, tool := range decoded[[]mcp.Tool](t, jsontext.Value(at(t, jsontext.Value(body), "/result/tools"))) {
			names = append(names, tool.Name)
		}
		if got := strings.Join(names, " "); got != test.tools {
			t.Errorf("%q: got %s, want %s", test.user, got, test.tools)
		}
		_, body = post{url: url, method: "tools/call", name: "secret", params: `{"name":"secret"}`, header: header}.send(t)
		if known := strings.Contains(test.tools, "secret"); strings.Contains(body, "-32602") == known {
			t.Errorf("%q: got %s, want the tool known: %v", test.user, body, known)
		}
	}
}

func TestHandlesOverHTTPAreTheirOwners(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-223a", "R-223b")
	store := handles.New[string](&handles.Options{MaxPerPrincipal: 1})
	srv := newServer(nil)
	srv.Tool("new", "", func(ctx context.Context, _ struct{}) (string, error) { return store.New(ctx, "kept") })
	srv.Tool("get", "", func(ctx context.Context, in struct {
		Handle string `json:"handle"`
	},
	) (string, error) {
		return store.Get(ctx, in.Handle)
	})
	url := web(t, srv)
	call := func(user, tool, arguments string) string {
		_, body := post{url: url, method: "tools/call", name: tool, params: `{"name":"` + tool + `","arguments":` + arguments + `}`, header: http.Header{"Authorization": {user}}}.send(t)
		return decoded[string](t, jsontext.Value(at(t, jsontext.Value(body), "/result/content/0/text")))
	}
	handle := call("ada", "new", `{}`)
	arguments := fmt.Sprintf(`{"handle":%q}`, handle)
	if got := call("ada", "get", arguments); got != "kept" {
		t.Errorf("got %s, want what ada keeps", got)
	}
	for _, user := range []string{"bob", ""} {
		if got := call(user, "get", arguments); !strings.Contains(got, "does not exist or has expired") {
			t.Errorf("%q: got %s, want the handle unknown", user, got)
		}
	}
	if got := call("ada", "new", `{}`); !strings.Contains(got, "too many handles are in use") {
		t.Errorf("got %s, want the second refused", got)
	}
	call("bob", "new", `{}`)
	for range 3 { // nobody knows how many they are
		if got := call("", "new", `{}`); strings.Contains(got, "too many") {
			t.Errorf("got %s, want a handle", got)
		}
	}
}

func TestHTTPOptionsReachTheBinding(t *testing.T) {
	t.Parallel()
	url := web(t, member(&mcpserver.HTTPOptions{AllowedHosts: []string{"mcp.example.com"}, AllowedOrigins: []string{"https://app.example.com"}}))
	for _, test := range []struct {
		name, header, value string
		status              int
	}{
		{"allowed host", "Host", "mcp.example.com", 200},
		{"another host", "Host", "evil.example.com", 403},
		{"allowed origin", "Origin", "https://app.example.com", 200},
		{"another origin", "Origin", "https://evil.example.com", 403},
		{"method that is another", "Mcp-Method", "tools/call", 400},
		{"version that is another", "Mcp-Protocol-Version", "2025-11-25", 400},
	} {
		response, body := post{url: url, method: "tools/list", header: http.Header{test.header: {test.value}}}.send(t)
		if response.StatusCode != test.status {
			t.Errorf("%s: got %d %s, want %d", test.name, response.StatusCode, body, test.status)
		}
	}
	response, _ := post{url: url, method: "unknown"}.send(t)
	if response.StatusCode != http.StatusNotFound {
		t.Errorf("unknown method: got %d, want 404", response.StatusCode)
	}
}

func TestFormOfAnswersCanBeForced(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		answer mcpserver.ResponseMode
		form   string
	}{{mcpserver.ResponseAuto, "application/json"}, {mcpserver.ResponseJSON, "application/json"}, {mcpserver.ResponseStream, "text/event-stream"}} {
		url := web(t, member(&mcpserver.HTTPOptions{ResponseMode: test.answer}))
		response, body := post{url: url, method: "tools/list"}.send(t)
		if got := response.Header.Get("Content-Type"); got != test.form || !strings.Contains(body, `"who"`) {
			t.Errorf("%v: got %s %s, want %s", test.answer, got, body, test.form)
		}
	}
}

func TestBodyIsBounded(t *testing.T) {
	t.Parallel()
	srv := newServer(&mcpserver.Options{MaxBody: 1000})
	srv.Tool("a", "", nothing)
	response, body := post{url: web(t, srv), method: "tools/list", params: `{"x":"` + strings.Repeat("x", 1000) + `"}`}.send(t)
	if response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("got %d %s, want 413", response.StatusCode, body)
	}
}

func TestOneHandlerServesEveryRevisionAtOnce(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-063", "D-03")
	srv := member(nil)
	url := web(t, srv)
	var clients []*mcpclient.Client
	for _, v := range revisions[1:] {
		c, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{Revisions: []mcp.Revision{v}})
		if err != nil {
			t.Fatal(err)
		}
		clients = append(clients, c)
	}
	for i, c := range clients {
		if got, err := c.Call[string](t.Context(), "who", nil); err != nil || got != "anonymous  "+revisions[i+1].String() {
			t.Errorf("got %s, %v, want anonymous and %s", got, err, revisions[i+1])
		}
	}
	for _, c := range clients {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

func TestListenAndServeUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-089")
	srv := newServer(nil)
	running, ended := make(chan struct{}, 2), make(chan struct{})
	srv.Tool("sleep", "", func(context.Context, struct{}) (string, error) {
		running <- struct{}{}
		<-ended
		return "rested", nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	addr, served := make(chan net.Addr, 1), make(chan error, 1)
	go func() { served <- srv.ListenAndServe(ctx, "127.0.0.1:0", func(a net.Addr) { addr <- a }) }()
	base := "http://" + (<-addr).String()
	modern, err := mcpclient.Connect(t.Context(), mcpclient.URL(base+"/mcp"), nil)
	if err != nil {
		t.Fatal(err)
	}
	old, err := mcpclient.Connect(t.Context(), mcpclient.EventStream(base+"/sse"), &mcpclient.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan error, 2)
	for _, c := range []*mcpclient.Client{modern, old} {
		go func() {
			got, err := c.Call[string](t.Context(), "sleep", nil)
			if err == nil && got != "rested" {
				err = fmt.Errorf("got %s", got)
			}
			answers <- err
		}()
	}
	for range 2 {
		<-running
	}
	cancel()
	time.AfterFunc(200*time.Millisecond, func() { close(ended) }) // it drains by then, or is about to
	for range 2 {
		if err := <-answers; err != nil {
			t.Errorf("got %v, want the running call finished", err)
		}
	}
	if err := <-served; err != nil {
		t.Errorf("got %v, want nil", err)
	}
	for _, c := range []*mcpclient.Client{modern, old} {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if err := newServer(nil).ListenAndServe(t.Context(), "no address", nil); err == nil || !strings.HasPrefix(err.Error(), "serve no address: ") {
		t.Errorf("got %v, want what cannot be served", err)
	}
}

// A listen has its own stream, and a call that asks has no request on its.
func TestStatelessStreamsCarryOnlyMessagesOfTheirRequest(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-134a", "R-134b")
	srv, _ := asks(&mcpserver.Options{HTTP: &mcpserver.HTTPOptions{ResponseMode: mcpserver.ResponseStream}})
	srv.Tool("talk", "", func(ctx context.Context, _ struct{}) (string, error) {
		mcpserver.Progress(ctx, 1, 2, "")
		mcpserver.Log(ctx).Error("heard")
		return "", nil
	})
	url := web(t, srv)
	listen := post{url: url, method: "subscriptions/listen", params: `{"notifications":{"resourceSubscriptions":["ask://colour"]}}`}.open(t)
	defer listen.Body.Close()
	events := bufio.NewScanner(listen.Body)
	if got := nextMessage(t, events); got.Method != "notifications/subscriptions/acknowledged" {
		t.Errorf("got %s, want the acknowledgement", got.Raw)
	}
	_, body := post{url: url, method: "tools/call", name: "talk", params: `{"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"debug"},"name":"talk"}`}.send(t)
	if !strings.Contains(body, "notifications/progress") || !strings.Contains(body, "notifications/message") {
		t.Errorf("got %s, want progress and log on the stream of the call", body)
	}
	asking := post{url: url, method: "tools/call", name: "ask", can: canAll, params: `{"name":"ask"}`}.open(t)
	defer asking.Body.Close()
	if got := nextMessage(t, bufio.NewScanner(asking.Body)); got.Method != "" || at(t, got.Result, "/resultType") != `"input_required"` {
		t.Errorf("got %s, want the question in the result", got.Raw)
	}
	srv.Updated("ask://colour")
	if got := nextMessage(t, events); got.Method != "notifications/resources/updated" {
		t.Errorf("got %s, want the update and nothing before", got.Raw)
	}
}

// nextMessage returns the next message of an event stream.
func nextMessage(t *testing.T, events *bufio.Scanner) message {
	t.Helper()
	for events.Scan() {
		if data, ok := strings.CutPrefix(events.Text(), "data: "); ok {
			m := decoded[message](t, jsontext.Value(data))
			m.Raw = data
			return m
		}
	}
	t.Fatalf("the stream ended: %v", events.Err())
	return message{}
}
