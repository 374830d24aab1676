package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// library is a server with a tool, a tool whose name has to be truncated, a prompt, resources
// and a template, all of which answer with the name of the server.
func library(name string, uris ...string) *mcpserver.Server {
	s := mcpserver.New(name, "1.0.0", nil)
	s.Tool("who", "Names the server", func(context.Context, struct{}) (string, error) { return name, nil })
	s.Tool("long."+strings.Repeat("x", 70), "Names the server, too", func(context.Context, struct{}) (string, error) { return name + " long", nil })
	s.Tool("link", "Names a resource that is not listed", func(context.Context, struct{}) (mcp.Contents, error) {
		return mcp.Contents{mcp.Link("secret://"+name, "secret")}, nil
	})
	s.Prompt("greet", "Greets", func(context.Context, struct{}) ([]mcp.PromptMessage, error) {
		return []mcp.PromptMessage{mcpserver.UserMessage("hello from " + name)}, nil
	})
	for _, uri := range uris {
		s.Resource(uri, uri, "text/plain", func(context.Context) ([]byte, error) { return []byte(name), nil })
	}
	s.Template(name+"://{id}", "by id", "text/plain", func(_ context.Context, v struct {
		ID string `json:"id"`
	},
	) ([]byte, error) {
		return []byte(name + " " + v.ID), nil
	})
	s.Template("secret://{id}", "secrets", "text/plain", func(context.Context, struct {
		ID string `json:"id"`
	},
	) ([]byte, error) {
		return []byte(name + " secret"), nil
	})
	return s
}

func group(t *testing.T, members ...mcpclient.Member) *mcpclient.Group {
	t.Helper()
	g := new(mcpclient.Group)
	if err := g.Connect(t.Context(), members...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return g
}

func libraries(t *testing.T) *mcpclient.Group {
	t.Helper()
	return group(t,
		mcpclient.Member{Name: "north", Target: mcpclient.InProcess(library("north", "note://a", "note://both"))},
		mcpclient.Member{Name: "south", Target: mcpclient.InProcess(library("south", "note://b", "note://both"))})
}

func TestAGroupListsAllUnderUniqueNamesAndRoutesByName(t *testing.T) {
	t.Parallel()
	g := libraries(t)
	tools, err := g.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, tool := range tools {
		server, _, _ := strings.Cut(tool.Name, "__")
		if seen[tool.Name] || len(tool.Name) > 64 || strings.Contains(tool.Name, ".") {
			t.Errorf("got the name %q, want a unique one that is valid for models", tool.Name)
		}
		seen[tool.Name] = true
		origin, name, ok := g.Origin(tool.Name)
		if !ok || origin != server || name == tool.Name {
			t.Errorf("%s: got the origin %q, %q, %v", tool.Name, origin, name, ok)
		}
		if name == "link" {
			continue
		}
		if got, err := g.Call[string](t.Context(), tool.Name, nil); err != nil || !strings.HasPrefix(got, server) {
			t.Errorf("%s: got %q, %v, want %s", tool.Name, got, err, server)
		}
	}
	if len(tools) != 6 {
		t.Errorf("got %d tools, want those of both servers", len(tools))
	}
	prompts, err := g.Prompts(t.Context())
	if err != nil || len(prompts) != 2 {
		t.Fatalf("got %+v, %v, want two prompts", prompts, err)
	}
	p, err := g.GetPrompt(t.Context(), prompts[1].Name, nil)
	if err != nil || p.Messages[0].Content.(mcp.TextContent).Text != "hello from south" {
		t.Errorf("got %+v, %v, want the prompt of south", p, err)
	}
}

func TestATruncatedNameIsRoutedWithoutAListOfTheCaller(t *testing.T) {
	t.Parallel()
	g := libraries(t)
	name := mcp.QualifiedName("south", "long."+strings.Repeat("x", 70))
	if _, _, ok := g.Origin(name); ok {
		t.Error("Origin knows a truncated name before any list")
	}
	if got, err := g.Call[string](t.Context(), name, nil); err != nil || got != "south long" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAURILeadsToTheServerThatOffersIt(t *testing.T) {
	t.Parallel()
	g := libraries(t)
	read := func(uri string) string {
		t.Helper()
		r, err := g.ReadResource(t.Context(), uri)
		if err != nil {
			return err.Error()
		}
		return r.Contents[0].Text
	}
	for uri, want := range map[string]string{
		"note://a": "north", "note://b": "south", "note://both": "north",
		"north://7": "north 7", "south://7": "south 7",
		"secret://south": "north secret",
	} {
		if got := read(uri); got != want {
			t.Errorf("%s: got %q, want %q", uri, got, want)
		}
	}
	if _, err := g.CallTool(t.Context(), "south__link", nil); err != nil {
		t.Fatal(err)
	}
	if got := read("secret://south"); got != "south secret" {
		t.Errorf("a link of south: got %q, want it read from south", got)
	}
	if got := read("other://x"); !strings.HasPrefix(got, `read "other://x": no server of the group lists it or has a template for it`) {
		t.Errorf("got %q, want an error that says why", got)
	}
	resources, err := g.Resources(t.Context())
	if err != nil || len(resources) != 3 {
		t.Errorf("got %+v, %v, want each URI once", resources, err)
	}
	templates, err := g.Templates(t.Context())
	if err != nil || len(templates) != 3 {
		t.Errorf("got %+v, %v, want each template once", templates, err)
	}
}

// A server cannot get the requests for the resources of another one by naming them first.
func TestAURIOfAListThatWasNotReadLeadsToItsServer(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-209a")
	for _, listed := range []bool{false, true} {
		spoof := mcpserver.New("spoof", "1.0.0", nil)
		spoof.Tool("link", "Names the resource of another server", func(context.Context, struct{}) (mcp.Contents, error) {
			return mcp.Contents{mcp.Link("note://a", "note")}, nil
		})
		if listed {
			spoof.Resource("note://a", "note", "text/plain", func(context.Context) ([]byte, error) { return []byte("spoof"), nil })
		}
		g := group(t,
			mcpclient.Member{Name: "north", Target: mcpclient.InProcess(library("north", "note://a"))},
			mcpclient.Member{Name: "spoof", Target: mcpclient.InProcess(spoof)})
		if _, err := g.CallTool(t.Context(), "spoof__link", nil); err != nil {
			t.Fatal(err)
		}
		if r, err := g.ReadResource(t.Context(), "note://a"); err != nil || r.Contents[0].Text != "north" {
			t.Errorf("listed by both: %t: got %+v, %v, want the server that lists it", listed, r, err)
		}
	}
}

func TestAServerWhoseListsFailIsNotAskedForEachURI(t *testing.T) {
	t.Parallel()
	servers, noLists := serve(t, stateless(func(_ *script, m message) string {
		if m.Method == mcp.MethodResourcesList {
			return m.fail(-32603, "no lists", "")
		}
		return m.result(`{}`)
	}))
	g := group(t,
		mcpclient.Member{Name: "mute", Target: noLists, Options: &mcpclient.Options{Logger: quiet()}},
		mcpclient.Member{Name: "north", Target: mcpclient.InProcess(library("north", "note://a"))})
	for range 3 {
		if r, err := g.ReadResource(t.Context(), "note://a"); err != nil || r.Contents[0].Text != "north" {
			t.Errorf("got %+v, %v, want the resource of north", r, err)
		}
	}
	if got := len(servers.nth(0).messages(mcp.MethodResourcesList)); got != 1 {
		t.Errorf("asked %d times for a list that fails, want once", got)
	}
}

func TestAServerThatFailsDoesNotFailTheOthers(t *testing.T) {
	t.Parallel()
	var g mcpclient.Group
	defer g.Close()
	broken := errors.New("broken")
	fails := mcpclient.Dial(func(context.Context) (mcp.Conn, error) { return nil, broken })
	_, noLists := serve(t, stateless(func(_ *script, m message) string { return m.fail(-32603, "no lists", "") }))
	quietly := &mcpclient.Options{Logger: quiet()}
	err := g.Connect(t.Context(),
		mcpclient.Member{Name: "north", Target: mcpclient.InProcess(library("north"))},
		mcpclient.Member{Name: "gone", Target: fails, Options: quietly},
		mcpclient.Member{Name: "mute", Target: noLists, Options: quietly},
		mcpclient.Member{Name: "north", Target: fails},
		mcpclient.Member{Name: "No", Target: fails})
	e, ok := errors.AsType[*mcpclient.GroupError](err)
	if !ok || len(e.Servers) != 3 || !errors.Is(e.Servers["gone"], broken) || !errors.Is(err, broken) || e.Servers["No"] == nil {
		t.Fatalf("got %v, want the errors of three members", err)
	}
	if got := strings.Join(g.Servers(), " "); got != "north mute" {
		t.Errorf("got servers %q", got)
	}
	tools, err := g.Tools(t.Context())
	e, ok = errors.AsType[*mcpclient.GroupError](err)
	if !ok || len(e.Servers) != 1 || e.Servers["mute"] == nil || len(tools) != 3 {
		t.Errorf("got %d tools and %v, want those of north and the error of mute", len(tools), err)
	}
	if got, err := g.Call[string](t.Context(), "north__who", nil); err != nil || got != "north" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := g.Call[string](t.Context(), "gone__who", nil); err == nil || !strings.Contains(err.Error(), `want a name that begins with one of ["north" "mute"]`) {
		t.Errorf("got %v, want the servers of the group", err)
	}
	if err := g.Connect(t.Context(), mcpclient.Member{Name: "gone", Target: mcpclient.InProcess(library("gone"))}); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := g.Remove("mute"); err != nil || g.Client("mute") != nil {
		t.Errorf("remove: %v, %v", err, g.Client("mute"))
	}
}

// meeting is a tool that returns when all calls have arrived.
func TestCallAllMakesCallsAtTheSameTime(t *testing.T) {
	t.Parallel()
	const n = 4
	var arrived sync.WaitGroup
	arrived.Add(n)
	meeting := func(name string) mcpclient.Member {
		s := mcpserver.New(name, "1", nil)
		s.Tool("meet", "Returns when all are there", func(context.Context, struct{}) (string, error) {
			arrived.Done()
			arrived.Wait()
			return name, nil
		})
		return mcpclient.Member{Name: name, Target: mcpclient.InProcess(s)}
	}
	g := group(t, meeting("a"), meeting("b"))
	results := g.CallAll(t.Context(), []mcpclient.GroupCall{
		{Tool: "a__meet"}, {Tool: "b__meet"}, {Tool: "c__meet"}, {Tool: "a__meet"}, {Tool: "b__meet"}, {Tool: "a__meet", Args: panicking{}},
	})
	for i, want := range []string{"a", "b", "", "a", "b", ""} {
		r := results[i]
		if want == "" && r.Err == nil || want != "" && (r.Err != nil || r.Result.Content.Text() != want) {
			t.Errorf("call %d: got %+v, %v, want %q", i, r.Result, r.Err, want)
		}
	}
}

type panicking struct{}

func (panicking) MarshalJSON() ([]byte, error) { panic("a mistake") }

func TestAClosedGroupRefusesMembers(t *testing.T) {
	t.Parallel()
	var g mcpclient.Group
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	err := g.Connect(t.Context(), mcpclient.Member{Name: "north", Target: mcpclient.InProcess(library("north"))})
	if !errors.Is(err, mcpclient.ErrClosed) {
		t.Errorf("got %v, want %v", err, mcpclient.ErrClosed)
	}
}

// Two servers as one list of tools for a model, and two calls of one turn of the model.
func ExampleGroup() {
	ctx := context.Background()
	var g mcpclient.Group
	defer g.Close()
	err := g.Connect(ctx,
		mcpclient.Member{Name: "north", Target: mcpclient.InProcess(library("north"))},
		mcpclient.Member{Name: "south", Target: mcpclient.InProcess(library("south"))})
	if err != nil {
		log.Print(err) // the servers that failed; the others work
	}
	tools, err := g.Tools(ctx)
	if err != nil {
		log.Print(err)
	}
	fmt.Println(len(tools), "tools")
	for _, r := range g.CallAll(ctx, []mcpclient.GroupCall{{Tool: "north__who"}, {Tool: "south__who"}}) {
		if r.Err != nil {
			log.Print(r.Err)
			continue
		}
		fmt.Println(r.Result.Content.Text())
	}
	// Output:
	// 6 tools
	// north
	// south
}

// An agent reads the tools of its servers again when those of one have changed.
func ExampleGroup_onToolsChanged() {
	ctx := context.Background()
	tools := make(chan int, 1)
	g := &mcpclient.Group{OnToolsChanged: func(ctx context.Context, g *mcpclient.Group) {
		all, err := g.Tools(ctx)
		if err != nil {
			log.Print(err) // the servers that failed; the others are listed
		}
		tools <- len(all)
	}}
	defer g.Close()
	north := library("north")
	if err := g.Connect(ctx, mcpclient.Member{Name: "north", Target: mcpclient.InProcess(north)}); err != nil {
		log.Fatal(err)
	}
	north.RemoveTool("link")
	fmt.Println(<-tools, "tools")
	// Output: 2 tools
}

func TestAGroupReportsChangesOfTheListsOfItsServers(t *testing.T) {
	t.Parallel()
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { groupReportsChanges(t, v) })
		})
	}
}

func groupReportsChanges(t *testing.T, v mcp.Revision) {
	own, tools, prompts, resources := make(chan string, 8), make(chan int, 8), make(chan bool, 8), make(chan bool, 8)
	g := &mcpclient.Group{
		OnToolsChanged: func(ctx context.Context, g *mcpclient.Group) {
			all, err := g.Tools(ctx)
			if err != nil {
				t.Error(err)
			}
			tools <- len(all)
		},
		OnPromptsChanged:   func(context.Context, *mcpclient.Group) { prompts <- true },
		OnResourcesChanged: func(context.Context, *mcpclient.Group) { resources <- true },
	}
	defer g.Close()
	north, south := library("north"), library("south")
	options := mcpclient.Options{Revisions: []mcp.Revision{v}}
	withOwn := options
	withOwn.OnToolsChanged = func(_ context.Context, c *mcpclient.Client) { own <- c.Server().Name }
	err := g.Connect(
		t.Context(),
		mcpclient.Member{Name: "north", Target: mcpclient.InProcess(north), Options: &withOwn},
		mcpclient.Member{Name: "south", Target: mcpclient.InProcess(south), Options: &options},
	)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	add := func(s *mcpserver.Server) {
		s.Tool("new", "", func(context.Context, struct{}) (string, error) { return "", nil })
	}
	add(north)
	if name, n := next(t, own), next(t, tools); name != "north" || n != 7 {
		t.Errorf("north: its own handler got %q, that of the group %d tools; want both called, with 7", name, n)
	}
	add(south)
	if n := next(t, tools); n != 8 {
		t.Errorf("south: got %d tools, want 8", n)
	}
	south.RemovePrompt("greet")
	next(t, prompts)
	south.Resource("note://new", "new", "text/plain", func(context.Context) ([]byte, error) { return nil, nil })
	next(t, resources)
	if len(own) != 0 {
		t.Error("a change of south was reported to the handler of north")
	}
}

// next returns what a handler sends. It runs in a bubble, so its minute takes no time.
func next[T any](t *testing.T, sent <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-sent:
	case <-time.After(time.Minute):
		t.Error("a handler was not called")
	}
	return v
}
