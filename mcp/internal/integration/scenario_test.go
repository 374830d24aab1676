package integration_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// testTimeout is how long a test waits for a message or a result that must come.
const testTimeout = 3 * time.Minute

// scenario is what our client does with the fixture. Its transcripts, one per
// revision, are in testdata under its name.
type scenario struct {
	name  string
	about string
	// server and client prepare the two ends; nil leaves the defaults.
	server func(*mcpserver.Options)
	client func(*mcpclient.Options, *stage)
	// serve returns another server than the fixture; nil is the fixture.
	serve func() *mcpserver.Server
	run   func(*stage)
}

var scenarios = []scenario{
	{
		name:  "lifecycle",
		about: "How client and server get to know each other.",
		run:   lifecycle,
	},
	{
		name:  "tools",
		about: "Tools are listed, called, called wrongly, and one is registered while the client listens.",
		client: func(o *mcpclient.Options, s *stage) {
			o.OnToolsChanged = func(context.Context, *mcpclient.Client) { s.changed <- struct{}{} }
		},
		run: tools,
	},
	{
		name:  "resources",
		about: "Resources and templates are listed and read, and one is watched while it changes.",
		run:   resources,
	},
	{
		name:  "prompts",
		about: "Prompts are listed, and got with their arguments and without.",
		run:   prompts,
	},
	{
		name:  "completion",
		about: "Arguments of a prompt and of a resource template are completed.",
		run:   completion,
	},
	{
		name:  "logging",
		about: "A tool logs to its client, which chooses the level.",
		run:   logging,
	},
	{
		name:  "progress",
		about: "A call reports progress to a client that asked for it, and only then.",
		run:   progress,
	},
	{
		name:  "cancellation",
		about: "A running call is cancelled. It has no reply, and the next call works.",
		run:   cancellation,
	},
	{
		name:  "caching",
		about: "A list and a resource may be kept for an hour. Only the stateless era says so.",
		server: func(o *mcpserver.Options) {
			o.ListCache = mcpserver.Cache{TTL: time.Hour, Public: true}
			o.MethodCache = map[string]mcpserver.Cache{mcp.MethodResourcesRead: {TTL: time.Hour}}
		},
		run: caching,
	},
	{
		name:  "ping",
		about: "A client asks whether the server is there. The stateless era has no ping.",
		run:   ping,
	},
	{
		name:   "pagination",
		about:  "A list comes in pages of five. A cursor that the server did not make is refused.",
		server: func(o *mcpserver.Options) { o.PageSize = 5 },
		run:    pagination,
	},
	{
		name:  "asking",
		about: "A tool asks by form, reserves, asks by form again, and asks the model. Another asks the model alone.",
		client: func(o *mcpclient.Options, s *stage) {
			p := passenger(s.T, s.revision)
			o.ElicitForm, o.Sample = p.ElicitForm, p.Sample
		},
		serve: func() *mcpserver.Server { return newAirline().Server },
		run:   asking,
	},
}

// newServer returns a new fixture for the scenario.
func (sc scenario) newServer() *mcpserver.Server {
	if sc.serve != nil {
		return sc.serve()
	}
	o := &mcpserver.Options{Instructions: "Try every feature once."}
	if sc.server != nil {
		sc.server(o)
	}
	return newFixture(o)
}

// perform does the scenario over conn with a client that speaks the revision.
// Remarks go to note. At the end, with the client still there, it calls done.
func (sc scenario) perform(t *testing.T, conn mcp.Conn, v mcp.Revision, note func(string), done func()) {
	t.Helper()
	s := &stage{T: t, note: note, changed: make(chan struct{}, 1), unwatched: make(chan struct{}, 1), revision: v}
	o := &mcpclient.Options{
		NoOutputCheck: true, // so that no list comes between the messages of the scenario
		Info:          mcp.Implementation{Name: "transcript", Version: "1.0.0"},
		Revisions:     []mcp.Revision{v},
		Logger:        slog.New(slog.DiscardHandler),
	}
	if sc.client != nil {
		sc.client(o, s)
	}
	c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(goodbyes{conn, s.unwatched}), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s.c = c
	sc.run(s)
	done()
}

// stage is where a scenario is performed.
type stage struct {
	*testing.T
	c         *mcpclient.Client
	revision  mcp.Revision
	note      func(string)
	changed   chan struct{} // the list of tools has changed
	unwatched chan struct{} // the server was told that nobody watches any more
}

// goodbyes is a connection that tells when the end of a subscription was sent, which
// a client does in the background.
type goodbyes struct {
	mcp.Conn
	sent chan<- struct{}
}

func (g goodbyes) Write(ctx context.Context, msg []byte) error {
	err := g.Conn.Write(ctx, msg)
	if bytes.Contains(msg, []byte(`"method":"`+mcp.MethodResourcesUnsubscribe)) || bytes.Contains(msg, []byte(`"method":"`+mcp.NotificationCancelled)) {
		select {
		case g.sent <- struct{}{}:
		default:
		}
	}
	return err
}

func (s *stage) stateless() bool { return s.revision == mcp.V20260728 }

// ok takes the error of a step that has to succeed.
func (s *stage) ok(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// refused takes the error of a step that the server has to refuse.
func (s *stage) refused(err error, want mcp.Code) {
	s.Helper()
	if e, ok := errors.AsType[*mcp.Error](err); !ok || !e.Remote || e.Code != want {
		s.Fatalf("got %v, want the server's %s", err, want)
	}
}

// call calls a tool that has to answer.
func (s *stage) call(tool string, args any, opts ...mcpclient.CallOption) *mcp.CallToolResult {
	s.Helper()
	r, err := s.c.CallTool(s.Context(), tool, args, opts...)
	s.ok(err)
	return r
}

func count[T any](s *stage, list iter.Seq2[T, error]) (n int) {
	s.Helper()
	for _, err := range list {
		s.ok(err)
		n++
	}
	return n
}

type object = map[string]any

func lifecycle(s *stage) {
	if got := s.c.Server(); got.Name != "fixture" || s.c.Instructions() == "" || s.c.Revision() != s.revision {
		s.Errorf("got server %+v, instructions %q, revision %s", got, s.c.Instructions(), s.c.Revision())
	}
	s.note("Clients that share a connection initialize it again; in the stateless era there are no sessions.")
	err := s.c.Request(s.Context(), mcp.MethodInitialize, &mcp.InitializeParams{
		ProtocolVersion: s.revision.String(),
		ClientInfo:      mcp.Implementation{Name: "transcript", Version: "1.0.0"},
	}, nil)
	if s.stateless() {
		s.refused(err, mcp.CodeMethodNotFound)
	} else {
		s.ok(err)
	}
	s.note("A method that no revision has.")
	s.refused(s.c.Request(s.Context(), "no/such", nil, nil), mcp.CodeMethodNotFound)
}

func tools(s *stage) {
	s.note("The list is sorted by name.")
	if n := count(s, s.c.Tools(s.Context())); n < 10 {
		s.Errorf("got %d tools", n)
	}
	s.note("Structured content comes as text too.")
	s.call("add", object{"a": 40, "b": 2})
	s.note("Text that is not ASCII stays as it is.")
	s.call("echo", object{"text": "caffè <&>"})
	s.note("Every kind of content.")
	s.call("media", nil)
	s.note("The failure of a tool is a result, for a model to read.")
	if !s.call("fail", nil).IsError {
		s.Error("fail: got no error")
	}
	s.note("So are arguments that do not fit the schema.")
	if !s.call("add", object{"a": "x"}).IsError {
		s.Error("add: got no error")
	}
	s.note("An unknown tool is an error of the protocol.")
	_, err := s.c.CallTool(s.Context(), "nosuch", nil)
	s.refused(err, mcp.CodeInvalidParams)

	s.note("A tool registers another, which the client is told of.")
	s.call("grow", object{"name": "grown"})
	select {
	case <-s.changed:
	case <-time.After(testTimeout):
		s.Fatal("not told that the list of tools has changed")
	}
	s.call("grown", nil)
}

func resources(s *stage) {
	count(s, s.c.Resources(s.Context()))
	count(s, s.c.Templates(s.Context()))
	s.note("One that is listed.")
	_, err := s.c.ReadResource(s.Context(), "note://hello")
	s.ok(err)
	s.note("One that a template covers.")
	_, err = s.c.ReadResource(s.Context(), "note://by/Ada%20L")
	s.ok(err)
	s.note("One that there is not.")
	_, err = s.c.ReadResource(s.Context(), "note://nosuch")
	s.refused(err, mcp.CodeResourceNotFound)

	s.note("The client watches a resource, changes it, and watches no more.")
	told := 0
	for _, err := range s.c.Watch(s.Context(), "note://counter") {
		s.ok(err)
		if told++; told == 2 {
			break
		}
		s.call("touch", nil)
	}
	select {
	case <-s.unwatched:
	case <-time.After(testTimeout):
		s.Fatal("the server was not told that nobody watches any more")
	}
	_, err = s.c.ReadResource(s.Context(), "note://counter")
	s.ok(err)
}

func prompts(s *stage) {
	count(s, s.c.Prompts(s.Context()))
	_, err := s.c.GetPrompt(s.Context(), "greet", map[string]string{"name": "Ada"})
	s.ok(err)
	s.note("Without the argument that it needs.")
	_, err = s.c.GetPrompt(s.Context(), "greet", nil)
	s.refused(err, mcp.CodeInvalidParams)
	s.note("One that there is not.")
	_, err = s.c.GetPrompt(s.Context(), "nosuch", nil)
	s.refused(err, mcp.CodeInvalidParams)
}

func completion(s *stage) {
	complete := func(ref mcp.Reference, typed string) error {
		_, err := s.c.Complete(s.Context(), &mcp.CompleteParams{
			Ref: ref, Argument: mcp.CompleteArgument{Name: "name", Value: typed},
		})
		return err
	}
	s.note("The argument of a prompt.")
	s.ok(complete(mcp.PromptRef("greet"), "a"))
	s.note("The variable of a template. Nothing fits.")
	s.ok(complete(mcp.ResourceRef("note://by/{name}"), "z"))
	s.note("A prompt that there is not.")
	s.refused(complete(mcp.PromptRef("nosuch"), "a"), mcp.CodeInvalidParams)
}

func logging(s *stage) {
	s.note("Before the client has said anything.")
	s.call("log", object{"text": "unasked"})
	s.note("The tool logs at level info, which is less urgent than warning.")
	s.ok(s.c.SetLogLevel(s.Context(), mcp.LevelWarning))
	s.call("log", object{"text": "too quiet"})
	s.ok(s.c.SetLogLevel(s.Context(), mcp.LevelDebug))
	s.call("log", object{"text": "loud enough"})
	s.note("A level that there is not.")
	if s.stateless() {
		_, err := s.c.CallTool(s.Context(), "log", object{"text": "x"}, mcpclient.WithLogLevel("loud"))
		s.refused(err, mcp.CodeInvalidParams)
		return
	}
	s.refused(s.c.Request(s.Context(), mcp.MethodSetLevel, object{"level": "loud"}, nil), mcp.CodeInvalidParams)
}

func progress(s *stage) {
	seen := 0
	s.call("steps", object{"n": 3}, mcpclient.WithProgress(func(mcp.ProgressParams) { seen++ }))
	if seen != 3 {
		s.Errorf("got %d steps, want 3", seen)
	}
	s.note("Nobody asked.")
	s.call("steps", object{"n": 3})
}

func cancellation(s *stage) {
	ctx, cancel := context.WithCancelCause(s.Context())
	enough := errors.New("enough")
	_, err := s.c.CallTool(ctx, "wait", nil, mcpclient.WithProgress(func(mcp.ProgressParams) { cancel(enough) }))
	if !errors.Is(err, enough) {
		s.Fatalf("got %v, want %v", err, enough)
	}
	s.call("echo", object{"text": "still here"})
}

func caching(s *stage) {
	templates := func(opts ...mcpclient.CallOption) { count(s, s.c.Templates(s.Context(), opts...)) }
	read := func() {
		_, err := s.c.ReadResource(s.Context(), "note://hello")
		s.ok(err)
	}
	s.note("The client wants them twice each.")
	templates()
	templates()
	read()
	read()
	s.note("It wants what is new, whatever it has.")
	templates(mcpclient.NoCache())
}

func ping(s *stage) {
	if s.stateless() {
		s.refused(s.c.Request(s.Context(), mcp.MethodPing, nil, nil), mcp.CodeMethodNotFound)
		return
	}
	s.ok(s.c.Ping(s.Context()))
}

func pagination(s *stage) {
	if n := count(s, s.c.Tools(s.Context())); n <= 10 {
		s.Errorf("got %d tools, want more than two pages", n)
	}
	s.note("A cursor of the client's own making.")
	s.refused(s.c.Request(s.Context(), mcp.MethodToolsList, object{"cursor": "page 2"}, nil), mcp.CodeInvalidParams)
}

func asking(s *stage) {
	if !forms(s.revision) {
		s.note("The revision has no forms: nothing is sent, and the tool does without.")
	}
	if got, err := s.c.Call[booking](s.Context(), "book", nil); err != nil || got != booked(s.revision) {
		s.Errorf("got %+v, %v, want %+v", got, err, booked(s.revision))
	}
	s.note("Only the model.")
	s.call("summarise", nil)
}
