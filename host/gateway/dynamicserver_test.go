package gateway_test

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// dynamicServer is a server of 2025-11-25 in raw messages. Its tool "login" adds tools to the
// list of its connection, "logout" removes them. Clients with elicitation get the tool "form".
type dynamicServer struct {
	silent    bool // it announces no changes
	everybody bool // "login" adds the tools for all connections, and announces them on its own, as does "logout"
	adds      []string
	// kinds makes the server have a prompt, a resource and a template for each tool, too.
	kinds bool
	// broken is a list method that fails after a login.
	broken      string
	description string // of each tool

	mu     sync.Mutex
	later  []string // tools of all connections, added later
	lists  int      // requests for the tools
	opened int
}

// dynamicSession is one connection to a dynamicServer.
type dynamicSession struct {
	*dynamicServer
	names []string
	name  string // of the user if the client has logged in: user1 is that of the first connection
	user  string // is logged in
	// watched is the resource that changes with each call.
	watched string
}

func (d *dynamicServer) Serve(ctx context.Context, conn mcp.Conn) error {
	d.mu.Lock()
	d.opened++
	s := &dynamicSession{dynamicServer: d, names: []string{"login", "logout", "whoami"}, name: fmt.Sprint("user", d.opened)}
	d.mu.Unlock()
	return serveRaw(ctx, conn, s.handle)
}

func (s *dynamicSession) handle(c rawConn, m rawMessage) string {
	var p struct {
		Name         string        `json:"name"`
		URI          string        `json:"uri"`
		Ref          mcp.Reference `json:"ref"`
		Capabilities struct {
			Elicitation *struct{} `json:"elicitation"`
		} `json:"capabilities"`
	}
	_ = json.Unmarshal(m.Params, &p)
	if s.user != "" && m.Method == s.broken {
		return `"error":{"code":-32603,"message":"broken"}`
	}
	switch m.Method {
	case mcp.MethodDiscover:
		return ""
	case mcp.MethodInitialize:
		if p.Capabilities.Elicitation != nil {
			s.names = append(s.names, "form")
		}
		capabilities := fmt.Sprintf(`"tools":{"listChanged":%t}`, !s.silent)
		if s.kinds {
			capabilities += fmt.Sprintf(`,"prompts":{"listChanged":%t},"resources":{"listChanged":%[1]t,"subscribe":true},"completions":{}`, !s.silent)
		}
		return `"result":{"protocolVersion":"2025-11-25","capabilities":{` + capabilities + `},"serverInfo":{"name":"raw","version":"1"}}`
	case mcp.MethodToolsList:
		s.mu.Lock()
		s.lists++
		s.mu.Unlock()
		if s.everybody && s.name == "user1" {
			time.Sleep(100 * time.Millisecond) // the shared connection gets its list last
		}
		return s.list("tools", `{"name":%q,"inputSchema":{"type":"object"},"description":"`+s.description+`"}`)
	case mcp.MethodToolsCall:
		return s.call(c, p.Name)
	}
	if !s.kinds {
		return emptyResult
	}
	switch m.Method {
	case mcp.MethodPromptsList:
		return s.list("prompts", `{"name":%q}`)
	case mcp.MethodResourcesList:
		return s.list("resources", `{"uri":"r://%s","name":"of all"}`)
	case mcp.MethodResourceTemplatesList:
		return s.list("resourceTemplates", `{"uriTemplate":"t://%s/{id}","name":"of all"}`)
	case mcp.MethodPromptsGet:
		return s.known(p.Name, `"result":{"messages":[{"role":"user","content":{"type":"text","text":%q}}]}`)
	case mcp.MethodResourcesRead:
		return s.known(nameInURI(p.URI), `"result":{"contents":[{"uri":"`+p.URI+`","text":%q}]}`)
	case mcp.MethodComplete:
		return s.known(p.Ref.Name+nameInURI(p.Ref.URI), `"result":{"completion":{"values":[%q]}}`)
	case mcp.MethodResourcesSubscribe:
		s.watched = p.URI
		return s.known(nameInURI(p.URI), `"result":{"_meta":{"for":%q}}`)
	}
	return emptyResult
}

// nameInURI returns the name in r://name or t://name/1.
func nameInURI(uri string) string {
	_, name, _ := strings.Cut(uri, "://")
	name, _, _ = strings.Cut(name, "/")
	return name
}

// list returns the result of a list, with one feature for each tool.
func (s *dynamicSession) list(member, feature string) string {
	var all []string
	for _, name := range s.all() {
		all = append(all, fmt.Sprintf(feature, name))
	}
	return `"result":{"` + member + `":[` + strings.Join(all, ",") + `]}`
}

// known returns the result with the name and the user, or an error for a name that is unknown.
func (s *dynamicSession) known(name, result string) string {
	if !slices.Contains(s.all(), name) {
		return `"error":{"code":-32602,"message":"Unknown"}`
	}
	return fmt.Sprintf(result, name+" "+s.user)
}

func (s *dynamicSession) call(c rawConn, name string) string {
	if s.watched != "" {
		c.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"` + s.watched + `"}}`)
	}
	switch {
	case name == "login":
		s.user = s.name
		if s.everybody {
			s.add(s.adds...)
		} else {
			s.names = append(s.names, s.adds...)
		}
	case name == "logout":
		s.user = ""
		s.names = slices.DeleteFunc(s.names, func(name string) bool { return slices.Contains(s.adds, name) })
		s.mu.Lock()
		s.later = nil
		s.mu.Unlock()
	}
	if strings.HasPrefix(name, "log") && !s.silent {
		c.send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		if s.kinds {
			c.send(`{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`)
			c.send(`{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}`)
		}
	}
	return s.known(name, `"result":{"content":[{"type":"text","text":%q}]}`)
}

// all returns the names of the features of the connection.
func (s *dynamicSession) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Concat(s.names, s.later)
}

func (d *dynamicServer) add(names ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.later = slices.Concat(d.later, names)
}

func (d *dynamicServer) counts() (lists, opened int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.lists, d.opened
}

func (d *dynamicServer) count() int {
	lists, _ := d.counts()
	return lists
}

// listingClient is a client that counts notifications of changed lists. It declares no
// capabilities but those of its options.
type listingClient struct {
	*mcpclient.Client

	mu      sync.Mutex
	changes map[string]int // by list
}

func newListingClient(t *testing.T, s mcpclient.Server, o mcpclient.Options) *listingClient {
	t.Helper()
	l := &listingClient{changes: make(map[string]int)}
	count := func(list string) func(context.Context, *mcpclient.Client) {
		return func(context.Context, *mcpclient.Client) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.changes[list]++
		}
	}
	o.Logger = quiet
	o.OnToolsChanged, o.OnPromptsChanged, o.OnResourcesChanged = count("tools"), count("prompts"), count("resources")
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(mcptest.Dial(t, s)), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	l.Client = c
	return l
}

// notified returns the number of notifications of changed tools, after all that are due were
// sent.
func (l *listingClient) notified() int { return l.notifiedOf("tools") }

func (l *listingClient) notifiedOf(list string) int {
	time.Sleep(2 * time.Second)
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes[list]
}

// names returns the listed tools, without the key of the upstream.
func (l *listingClient) names(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(strings.Join(toolNames(t, l.Client), " "), "d__", "")
}

// namesOfAll returns the names in the lists of all kinds, which have to be the same.
func (l *listingClient) namesOfAll(t *testing.T) string {
	t.Helper()
	tools := l.names(t)
	lists := make(map[string][]string)
	note := func(kind, name string, err error) {
		if err != nil {
			t.Error(err)
		}
		lists[kind] = append(lists[kind], name)
	}
	for p, err := range l.Prompts(t.Context(), mcpclient.NoCache()) {
		note("prompts", strings.TrimPrefix(p.Name, "d__"), err)
	}
	for r, err := range l.Resources(t.Context(), mcpclient.NoCache()) {
		note("resources", nameInURI(r.URI), err)
	}
	for r, err := range l.Templates(t.Context(), mcpclient.NoCache()) {
		note("templates", nameInURI(r.URITemplate), err)
	}
	for _, kind := range []string{"prompts", "resources", "templates"} {
		if got := strings.Join(lists[kind], " "); got != tools {
			t.Errorf("got %s %q, want those of the tools, %q", kind, got, tools)
		}
	}
	return tools
}

// call returns the text of a result, or the error.
func (l *listingClient) call(t *testing.T, name string) string {
	t.Helper()
	result, err := l.CallTool(t.Context(), "d__"+name, nil)
	if err != nil {
		return strings.TrimPrefix(err.Error(), `call "d__`+name+`": `)
	}
	return result.Content.Text()
}

// useAll uses the features of all kinds of a name. It returns the text of their results, which
// have to be the same, or "unknown" if they are all unknown.
func (l *listingClient) useAll(t *testing.T, name string) string {
	t.Helper()
	got := make(map[string]string)
	note := func(what, text string, err error) {
		if err != nil {
			text = err.Error()
			if strings.Contains(text, "unknown") || mcp.CodeOf(err) == mcp.CodeResourceNotFound {
				text = "unknown"
			}
		}
		got[what] = text
	}
	text := func(r *mcp.ReadResourceResult) string {
		if r == nil {
			return ""
		}
		return r.Contents[0].Text
	}
	prompt, err := l.GetPrompt(t.Context(), "d__"+name, nil)
	if err == nil {
		note("prompt", prompt.Messages[0].Content.(mcp.TextContent).Text, nil)
	} else {
		note("prompt", "", err)
	}
	resource, err := l.ReadResource(t.Context(), "r://"+name)
	note("resource", text(resource), err)
	resource, err = l.ReadResource(t.Context(), "t://"+name+"/1")
	note("resource of the template", text(resource), err)
	for what, ref := range map[string]mcp.Reference{"completed prompt": mcp.PromptRef("d__" + name), "completed template": mcp.ResourceRef("t://" + name + "/{id}")} {
		found, err := l.Complete(t.Context(), &mcp.CompleteParams{Ref: ref, Argument: mcp.CompleteArgument{Name: "id"}})
		if err == nil {
			note(what, strings.Join(found.Values, " "), nil)
		} else {
			note(what, "", err)
		}
	}
	called := l.call(t, name)
	if strings.Contains(called, "unknown") {
		called = "unknown"
	}
	for what, text := range got {
		if text != called {
			t.Errorf("%s: %s: got %q, want that of the tool, %q", name, what, text, called)
		}
	}
	return called
}

func elicits(r mcp.Revision) mcpclient.Options {
	return mcpclient.Options{Revisions: []mcp.Revision{r}, ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}}
}
