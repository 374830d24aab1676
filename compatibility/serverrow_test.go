package compatibility

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A serverRow is a server that deviates from the protocol, and what its client gets.
type serverRow struct {
	name    string // of at most 30 of a-z, 0-9 and '-'
	over    transport
	replies replies // in place of those of plain
	later   replies // in place of those, from the second request of a method on
	first   string  // over stdio: sent before anything else
	// events makes the server one of HTTP+SSE, whose event stream answers any method.
	events   bool
	endpoint string // for POST, if it is not on the server
	// lost makes the server one with sessions. So many of them as losses are lost at their
	// first tools/call, and this is its answer to requests in a lost session.
	lost   *reply
	losses int
	get    int // the status of a GET, if it is not 405
	opens  int // sessions that a client opens without a host, if it is not 0
	// starts is how many processes two connections start in all, if it is not 0.
	starts map[transport]int
	// timeout limits a call: of the client without a host, and unless the server dies of the host.
	timeout time.Duration
	ask     func(context.Context, *mcpclient.Client, names) (string, error)
	want    string // the text that ask returns
	fails   *failure
	behind  *failure // behind a host, if it differs
}

// A failure is the error that a client gets.
type failure struct {
	number int64    // of the *mcp.Error, 0 if the error is none
	texts  []string // in the text of the error
	data   string   // of the *mcp.Error
}

// names are those of one server for its client: a host puts a prefix before the names of
// tools and prompts.
type names struct{ server, prefix string }

// callTool calls the tool "go".
func callTool(ctx context.Context, c *mcpclient.Client, n names) (string, error) {
	r, err := c.CallTool(ctx, n.prefix+"go", map[string]string{})
	if err != nil {
		return "", err
	}
	if r.IsError { // a host reports the failure of an upstream so
		return "", &mcpclient.ToolError{Result: r}
	}
	return r.Content.Text(), nil
}

// listTools returns the names of the listed tools.
func listTools(ctx context.Context, c *mcpclient.Client, n names) (string, error) {
	var listed []string
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return "", err
		}
		if name, ok := strings.CutPrefix(tool.Name, n.prefix); ok {
			listed = append(listed, name)
		}
	}
	return strings.Join(listed, " "), nil
}

// listTemplates returns the names of the listed templates of the server.
func listTemplates(ctx context.Context, c *mcpclient.Client, n names) (string, error) {
	var listed []string
	for template, err := range c.Templates(ctx) {
		if err != nil {
			return "", err
		}
		if strings.Contains(template.URITemplate, n.server+"/") {
			listed = append(listed, template.Name)
		}
	}
	return strings.Join(listed, " "), nil
}

// callFailing calls the tool "go" and returns what its failure says, as JSON.
func callFailing(ctx context.Context, c *mcpclient.Client, n names) (string, error) {
	r, err := c.CallTool(ctx, n.prefix+"go", map[string]string{})
	if err != nil {
		return "", err
	}
	if !r.IsError {
		return "", fmt.Errorf("got %+v, want a failure", r)
	}
	return cmp.Or(string(r.StructuredContent), r.Content.Text()), nil
}

// callUnchecked calls the tool "go" without the check of its output schema.
func callUnchecked(ctx context.Context, c *mcpclient.Client, n names) (string, error) {
	r := new(mcp.CallToolResult)
	if err := c.Request(ctx, mcp.MethodToolsCall, map[string]string{"name": n.prefix + "go"}, r); err != nil {
		return "", err
	}
	if r.IsError {
		return "", &mcpclient.ToolError{Result: r}
	}
	return r.Content.Text(), nil
}

// callForTypes calls the tool "go" and returns the types of what is no text, and the text.
func callForTypes(ctx context.Context, c *mcpclient.Client, n names) (string, error) {
	r, err := c.CallTool(ctx, n.prefix+"go", map[string]string{})
	if err != nil {
		return "", err
	}
	var types []string
	for _, content := range r.Content {
		switch content := content.(type) {
		case mcp.ImageContent:
			types = append(types, "image")
		case mcp.AudioContent:
			types = append(types, "audio")
		case mcp.TextContent:
			types = append(types, content.Text)
		}
	}
	return strings.Join(types, " "), nil
}

// callTwice lists the tools, and calls the tool "go" twice.
func callTwice(ctx context.Context, c *mcpclient.Client, n names) (string, error) {
	if _, err := listTools(ctx, c, n); err != nil {
		return "", err
	}
	if _, err := callTool(ctx, c, n); err != nil {
		return "", err
	}
	return callTool(ctx, c, n)
}

// completePrompt completes the argument "a" of the prompt "ask".
func completePrompt(ctx context.Context, c *mcpclient.Client, n names) (string, error) {
	r, err := c.Complete(ctx, &mcp.CompleteParams{Ref: mcp.PromptRef(n.prefix + "ask"), Argument: mcp.CompleteArgument{Name: "a"}})
	if err != nil {
		return "", err
	}
	return strings.Join(r.Values, " "), nil
}

// readListed reads the resource that the server lists.
func readListed(ctx context.Context, c *mcpclient.Client, n names) (string, error) {
	for r, err := range c.Resources(ctx) {
		if err != nil {
			return "", err
		}
		if r.URI != "raw://"+n.server+"/a" {
			continue
		}
		read, err := c.ReadResource(ctx, r.URI)
		if err != nil {
			return "", err
		}
		return read.Contents[0].Text, nil
	}
	return "", errors.New("the resource is not listed")
}

// getPrompt gets the prompt "ask" without arguments.
func getPrompt(ctx context.Context, c *mcpclient.Client, n names) (string, error) {
	r, err := c.GetPrompt(ctx, n.prefix+"ask", nil)
	if err != nil {
		return "", err
	}
	return mcp.Contents{r.Messages[0].Content}.Text(), nil
}

func TestServersThatDeviate(t *testing.T) {
	t.Parallel()
	servers := startRawServers(t)
	eachServerRow(func(row *serverRow, over transport) {
		s := newRawServer(row, over)
		servers.add(s)
		t.Run(row.name+" over "+over.String(), func(t *testing.T) {
			t.Parallel()
			row.check(t, s, func(ctx context.Context) (string, error) {
				c, err := mcpclient.Connect(ctx, servers.target(t, s.name, over), row.clientOptions())
				if err != nil {
					return "", err
				}
				defer c.Close()
				return row.question()(ctx, c, names{server: s.name})
			})
			if got := s.handshake(); row.replies.probed() && !slices.Equal(got, []string{"server/discover", "initialize"}) {
				t.Errorf("the server got %q, want the probe and then initialize", got)
			}
			if got := s.sessions(); row.opens > 0 && got != row.opens {
				t.Errorf("the client opened %d sessions, want %d", got, row.opens)
			}
			if want := row.starts[over]; want > 0 {
				c, err := mcpclient.Connect(t.Context(), servers.target(t, s.name, over), row.clientOptions())
				if err != nil {
					t.Fatal(err)
				}
				c.Close()
				if got := s.started(); got != want {
					t.Errorf("two connections started %d processes, want %d", got, want)
				}
			}
		})
	})
}

// eachServerRow calls f for each row and each transport over which it is run.
func eachServerRow(f func(*serverRow, transport)) {
	for i := range serverRows {
		for _, over := range serverRows[i].over.transports() {
			f(&serverRows[i], over)
		}
	}
}

// serverName is the name of an upstream, of at most 32 characters.
func serverName(row *serverRow, over transport) string { return over.String()[:1] + "-" + row.name }

func (row *serverRow) question() func(context.Context, *mcpclient.Client, names) (string, error) {
	if row.ask == nil {
		return callTool
	}
	return row.ask
}

// check asks, and compares what comes with the row.
func (row *serverRow) check(t *testing.T, s *rawServer, ask func(context.Context) (string, error)) {
	ctx, cancel := context.WithTimeout(t.Context(), hangTime)
	defer cancel()
	got, err := ask(ctx)
	row.checkOutcome(t, got, err)
	if err := s.notStrict(); err != nil {
		t.Errorf("the server got a message that is not strict JSON: %v", err)
	}
}

func (row *serverRow) checkOutcome(t *testing.T, got string, err error) {
	t.Helper()
	if row.fails == nil {
		if err != nil || got != row.want {
			t.Errorf("got %q, %v, want %q", got, err, row.want)
		}
		return
	}
	if err == nil {
		t.Errorf("got %q, want an error with %q", got, row.fails.texts)
		return
	}
	for _, text := range row.fails.texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got the error %q, want %q in it", err, text)
		}
	}
	if row.fails.number == 0 {
		return
	}
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Number != row.fails.number || string(e.Data) != row.fails.data {
		t.Errorf("got %#v, want an error of the server with number %d and data %s", err, row.fails.number, row.fails.data)
	}
}

func (all *rawServers) upstream(t *testing.T, name string, over transport) upstream {
	if over == overHTTP {
		return upstream{URL: all.web.URL + "/" + name}
	}
	return upstream{Command: self(t), Args: []string{all.listener.Addr().String(), name}, Env: map[string]string{roleVariable: "child"}}
}

func (all *rawServers) target(t *testing.T, name string, over transport) mcpclient.Target {
	u := all.upstream(t, name, over)
	if over == overHTTP {
		return mcpclient.URL(u.URL)
	}
	command := mcpclient.Command(u.Command, u.Args...)
	command.Env = u.Env
	return command
}

// clientOptions returns options whose time limits are far away, so that what the server sends
// is the only reason of an outcome.
func clientOptions() *mcpclient.Options {
	return &mcpclient.Options{
		Timeouts: mcpclient.TimeoutOptions{Probe: farLimit, Connect: farLimit, Call: farLimit, MaxCall: farLimit},
		Logger:   slog.New(slog.DiscardHandler),
	}
}

// clientOptions returns those for a client of the server: if it does not answer the probe, the
// limit of the probe is the only reason to go on.
func (row *serverRow) clientOptions() *mcpclient.Options {
	o := clientOptions()
	if row.replies["server/discover"].none {
		o.Timeouts.Probe = nearLimit
	}
	if row.timeout > 0 {
		o.Timeouts.Call = row.timeout
	}
	return o
}

// connect returns a client for the time of the test, and the changes of its list of tools.
// It fails the test if the server sends a message that is not strict JSON.
func connect(t *testing.T, target mcpclient.Target) (*mcpclient.Client, *listChanges) {
	t.Helper()
	o, lists := clientOptions(), newListChanges()
	o.HTTP.Client = &http.Client{Transport: &strictTransport{Transport: new(http.Transport), t: t}}
	o.OnToolsChanged = func(context.Context, *mcpclient.Client) { lists.publish() }
	c, err := mcpclient.Connect(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, lists
}

// listChanges wakes those who wait for a change of a list.
type listChanges struct {
	mu   sync.Mutex
	next chan struct{} // guarded by mu: closed by the next change
}

func newListChanges() *listChanges { return &listChanges{next: make(chan struct{})} }

func (l *listChanges) publish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.next)
	l.next = make(chan struct{})
}

func (l *listChanges) changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// awaitTool waits until the tool is listed.
func (l *listChanges) awaitTool(ctx context.Context, c *mcpclient.Client, name string) error {
	for {
		changed := l.changed() // before the list is read, so that no change is missed
		for tool, err := range c.Tools(ctx) {
			if err != nil {
				return err
			}
			if tool.Name == name {
				return nil
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("tool %s is not listed: %w", name, ctx.Err())
		}
	}
}
