package mirrortest

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// Run tests an adapter.
func Run(t *testing.T, a Adapter) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Adapter)
	}{
		{"ToolsAreListedAndCalled", testTools},
		{"PromptsResourcesAndTemplatesAreServed", testOtherFeatures},
		{"ErrorsOfHandlersPass", testErrors},
		{"ArgumentsAreLeftToTheOtherServer", testArguments},
		{"HandlersAskTheirClient", testQuestions},
		{"ProgressAndLogReachTheCaller", testNotifications},
		{"LogMessagesOfTheSessionReachItsClient", testSessionLog},
		{"CallsOfASessionShareASession", testSharedSession},
		{"SessionsEndWithThoseOfTheirClients", testSessionEnds},
		{"CancelledCallCancelsTheHandler", testCancelled},
		{"ChangesAreFollowed", testChanges},
		{"ErrorsOfLaterChangesAreReported", testLaterError},
		{"UnmountRemovesFeaturesAndSessions", testUnmount},
		{"MountFailsForANameThatIsTaken", testTakenName},
		{"OptionsAreThoseOfEachFeature", testOptions},
		{"NewServerTakesNameAndInstructions", testNewServer},
		{"SingleFeaturesAreServedBesideOurs", testSingles},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, a) })
	}
}

// Mounted returns a server that has mounted another until the test ends.
func Mounted(t *testing.T, other Other) *mcpserver.Server {
	t.Helper()
	server := mcpserver.New("ours", "1.0.0", &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
	unmount, err := other.Mount(server, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unmount)
	return server
}

// Said returns the text of a result, or that of its error.
func Said(result *mcp.CallToolResult, err error) string {
	if err != nil {
		return err.Error()
	}
	return result.Content.Text()
}

// Echo is a Handler that returns its argument.
func Echo(_ context.Context, _ Caller, text string) (string, error) { return text, nil }

func at(uri string) string { return "at " + uri }

func args(text string) any { return map[string]string{"text": text} }

// bothEras are a revision of each era.
var bothEras = []mcp.Revision{mcp.V20251125, mcp.V20260728}

// inFakeTime runs a test once for each era, in a bubble of package synctest.
func inFakeTime(t *testing.T, test func(t *testing.T, v mcp.Revision)) {
	for _, v := range bothEras {
		t.Run(v.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, v) })
		})
	}
}

func toolNames(t *testing.T, c *mcpclient.Client) (names []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	return names
}

func testTools(t *testing.T, a Adapter) {
	other := a.New()
	other.AddTool("echo", Echo)
	mcptest.EachRevision(t, Mounted(t, other), func(t *testing.T, c *mcpclient.Client) {
		var listed []string
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			listed = append(listed, tool.Name+": "+tool.Description)
			if !strings.Contains(string(tool.InputSchema), `"text"`) {
				t.Errorf("got input schema %s, want the one of the tool", tool.InputSchema)
			}
		}
		if want := []string{"echo: Returns a text"}; !slices.Equal(listed, want) {
			t.Errorf("got tools %q, want %q", listed, want)
		}
		if got := Said(c.CallTool(t.Context(), "echo", args("hello"))); got != "hello" {
			t.Errorf("got %q, want hello", got)
		}
	})
}

func testOtherFeatures(t *testing.T, a Adapter) {
	other := a.New()
	other.AddPrompt("greet", func(who string) string { return "Greet " + who })
	other.AddResource("note:///index", at)
	other.AddTemplate("note:///n/{id}", at)
	mcptest.EachRevision(t, Mounted(t, other), checkOtherFeatures)
}

func checkOtherFeatures(t *testing.T, c *mcpclient.Client) {
	prompt, err := c.GetPrompt(t.Context(), "greet", map[string]string{"who": "Ada"})
	if err != nil || prompt.Messages[0].Content.(mcp.TextContent).Text != "Greet Ada" {
		t.Errorf("prompt: got %+v, %v", prompt, err)
	}
	for _, uri := range []string{"note:///index", "note:///n/7"} {
		result, err := c.ReadResource(t.Context(), uri)
		if err != nil || result.Contents[0].Text != at(uri) {
			t.Errorf("resource %s: got %+v, %v", uri, result, err)
		}
	}
}

func testErrors(t *testing.T, a Adapter) {
	other := a.New()
	other.AddTool("fail", func(context.Context, Caller, string) (string, error) { return "", errors.New("broken") })
	other.AddTool("panic", func(context.Context, Caller, string) (string, error) { panic("secret of the handler") })
	mcptest.EachRevision(t, Mounted(t, other), func(t *testing.T, c *mcpclient.Client) {
		result, err := c.CallTool(t.Context(), "fail", nil)
		if got := Said(result, err); err == nil && !result.IsError || !strings.Contains(got, "broken") {
			t.Errorf("got %q, want an error with the text of the handler's", got)
		}
		result, err = c.CallTool(t.Context(), "panic", nil)
		if got := Said(result, err); err == nil && !result.IsError || strings.Contains(got, "secret") {
			t.Errorf("got %q, want an error without the value of the panic", got)
		}
	})
}

func testArguments(t *testing.T, a Adapter) {
	mounted, single := a.New(), mcpserver.New("ours", "1.0.0", nil)
	mounted.AddTool("echo", Echo)
	a.Tool(single, "echo", Echo)
	const ours = "invalid arguments for tool" // the text for arguments that are not valid
	for name, test := range map[string]struct {
		server *mcpserver.Server
		ours   bool
	}{"mounted": {Mounted(t, mounted), false}, "single": {single, true}} {
		got := Said(mcptest.Connect(t, test.server, nil).CallTool(t.Context(), "echo", map[string]any{"text": 5}))
		if strings.Contains(got, ours) != test.ours {
			t.Errorf("%s: got %q, want the text of the adapter's server: %v", name, got, test.ours)
		}
	}
}

func testQuestions(t *testing.T, a Adapter) {
	other := a.New()
	other.AddTool("ask", func(ctx context.Context, c Caller, _ string) (string, error) {
		name, err := c.Name(ctx, "Your name?")
		if err != nil {
			return "", err
		}
		root, err := c.Root(ctx)
		if err != nil {
			return "", err
		}
		text, err := c.Sample(ctx, "Hello")
		return name + " " + root + " " + text, err
	})
	server := Mounted(t, other)
	for _, v := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			c := mcptest.Connect(t, server, &mcpclient.Options{
				Revisions: []mcp.Revision{v},
				ElicitForm: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
				},
				Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///home"}}, nil },
				Sample: func(_ context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
					if p.Temperature != nil {
						return nil, fmt.Errorf("got temperature %v, want none", *p.Temperature)
					}
					return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("hi")}}, nil
				},
			})
			if got, want := Said(c.CallTool(t.Context(), "ask", nil)), "Ada file:///home hi"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func testNotifications(t *testing.T, a Adapter) {
	inFakeTime(t, func(t *testing.T, v mcp.Revision) {
		other := a.New()
		other.AddTool("work", func(ctx context.Context, c Caller, _ string) (string, error) {
			return "done", errors.Join(c.Progress(ctx, "half"), c.Log(ctx, "careful"))
		})
		var got record
		c := mcptest.Connect(t, Mounted(t, other), &mcpclient.Options{
			Revisions: []mcp.Revision{v}, LogLevel: mcp.LevelInfo, OnLog: got.log,
		})
		said := Said(c.CallTool(t.Context(), "work", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) { got.add(p.Message) })))
		synctest.Wait()
		if want := []string{`"careful"`, "half"}; said != "done" || !slices.Equal(got.sorted(), want) {
			t.Errorf("got %q and %q, want done and %q", said, got.sorted(), want)
		}
	})
}

// record collects texts of several goroutines.
type record struct {
	mu    sync.Mutex
	texts []string
}

func (r *record) add(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.texts = append(r.texts, text)
}

func (r *record) log(_ context.Context, m *mcp.LoggingMessageParams) { r.add(string(m.Data)) }

func (r *record) sorted() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.texts))
}

func testSessionLog(t *testing.T, a Adapter) {
	synctest.Test(t, func(t *testing.T) {
		other := a.New()
		other.AddTool("work", func(ctx context.Context, c Caller, _ string) (string, error) {
			return "done", c.LogToSession(ctx, "careful")
		})
		server := Mounted(t, other)
		var got, others record
		options := mcpclient.Options{Revisions: []mcp.Revision{mcp.V20251125}, LogLevel: mcp.LevelInfo, OnLog: others.log}
		mcptest.Connect(t, server, &options)
		options.OnLog = got.log
		said := Said(mcptest.Connect(t, server, &options).CallTool(t.Context(), "work", nil))
		synctest.Wait()
		if want := []string{`"careful"`}; said != "done" || !slices.Equal(got.sorted(), want) || len(others.sorted()) > 0 {
			t.Errorf("got %q, %q, and %q in another session, want done and %q", said, got.sorted(), others.sorted(), want)
		}
	})
}

func testSharedSession(t *testing.T, a Adapter) {
	other := a.New()
	var mu sync.Mutex
	seen := make(map[string]string)
	other.AddTool("who", func(ctx context.Context, c Caller, _ string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		id, client := c.Session(ctx)
		seen[id] = client
		return "", nil
	})
	server := Mounted(t, other)
	for range 2 {
		c := mcptest.Connect(t, server, &mcpclient.Options{Info: mcp.Implementation{Name: "editor", Version: "1"}, Revisions: []mcp.Revision{mcp.V20251125}})
		for range 3 {
			if _, err := c.CallTool(t.Context(), "who", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("two sessions of three calls: got %d sessions of the other server, want 2", len(seen))
	}
	for _, name := range seen {
		if name != "editor" {
			t.Errorf("got client %q, want the real one", name)
		}
	}
}

func testSessionEnds(t *testing.T, a Adapter) {
	inFakeTime(t, func(t *testing.T, v mcp.Revision) {
		other := a.New()
		open := 0
		other.AddTool("count", func(context.Context, Caller, string) (string, error) {
			open = other.Sessions()
			return "", nil
		})
		c := mcptest.Connect(t, Mounted(t, other), &mcpclient.Options{Revisions: []mcp.Revision{v}})
		if _, err := c.CallTool(t.Context(), "count", nil); err != nil {
			t.Fatal(err)
		}
		if !v.Stateless() && open != 2 {
			t.Errorf("got %d sessions during a call, want the adapter's own and one for the client", open)
		}
		c.Close()
		synctest.Wait()
		if got := other.Sessions(); got != 1 {
			t.Errorf("got %d sessions when the client has gone, want the adapter's own", got)
		}
	})
}

func testCancelled(t *testing.T, a Adapter) {
	inFakeTime(t, func(t *testing.T, v mcp.Revision) {
		other := a.New()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		other.AddTool("wait", func(ctx context.Context, _ Caller, _ string) (string, error) {
			cancel() // of the client
			<-ctx.Done()
			ended <- ctx.Err()
			return "", ctx.Err()
		})
		c := mcptest.Connect(t, Mounted(t, other), &mcpclient.Options{Revisions: []mcp.Revision{v}})
		if _, err := c.CallTool(ctx, "wait", nil); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v in the handler, want %v", err, context.Canceled)
		}
	})
}
