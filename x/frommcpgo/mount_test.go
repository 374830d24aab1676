package frommcpgo_test

import (
	"context"
	jsonv1 "encoding/json"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/x/frommcpgo"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

func newOther(opts ...mcpgo.ServerOption) *mcpgo.MCPServer {
	return mcpgo.NewMCPServer("notes", "2.1.0", append([]mcpgo.ServerOption{mcpgo.WithToolCapabilities(true)}, opts...)...)
}

// mounted returns a server that has mounted another.
func mounted(t *testing.T, other *mcpgo.MCPServer) *mcpserver.Server {
	t.Helper()
	server := mcpserver.New("ours", "1.0.0", nil)
	unmount, err := frommcpgo.Mount(server, other, &frommcpgo.Options{OnError: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unmount)
	return server
}

func echo(_ context.Context, r mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
	return mcpgotypes.NewToolResultText(r.GetString("text", "none")), nil
}

var echoTool = mcpgotypes.NewTool("echo", mcpgotypes.WithDescription("Returns a text"), mcpgotypes.WithString("text", mcpgotypes.Description("what to return")))

func TestToolIsListedAndCalledInEveryRevision(t *testing.T) {
	other := newOther()
	other.AddTool(echoTool, echo)
	mcptest.EachRevision(t, mounted(t, other), func(t *testing.T, c *mcpclient.Client) {
		var names []string
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, tool.Name+": "+tool.Description)
			if !strings.Contains(string(tool.InputSchema), "what to return") {
				t.Errorf("got input schema %s, want the one of the tool", tool.InputSchema)
			}
		}
		if got, want := strings.Join(names, ","), "echo: Returns a text"; got != want {
			t.Errorf("got tools %q, want %q", got, want)
		}
		result, err := c.CallTool(t.Context(), "echo", map[string]string{"text": "hello"})
		if got := text(result, err); got != "hello" {
			t.Errorf("got %q, want hello", got)
		}
	})
}

func text(result *mcp.CallToolResult, err error) string {
	if err != nil {
		return err.Error()
	}
	return result.Content.Text()
}

// TestContentPassesUnchanged compares the content of each kind, with annotations and
// metadata, with the JSON of mcp-go.
func TestContentPassesUnchanged(t *testing.T) {
	priority := 0.5
	annotated := mcpgotypes.Annotated{Annotations: &mcpgotypes.Annotations{Audience: []mcpgotypes.Role{"user"}, Priority: &priority}}
	meta := &mcpgotypes.Meta{AdditionalFields: map[string]any{"example.com/key": map[string]any{"n": 1}}}
	for name, content := range map[string]mcpgotypes.Content{
		"text":          mcpgotypes.TextContent{Type: "text", Text: "a \u2028 <b> \"c\"", Annotated: annotated, Meta: meta},
		"image":         mcpgotypes.ImageContent{Type: "image", Data: "AAH/", MIMEType: "image/png", Annotated: annotated, Meta: meta},
		"audio":         mcpgotypes.AudioContent{Type: "audio", Data: "Bw==", MIMEType: "audio/wav", Annotated: annotated, Meta: meta},
		"resource link": mcpgotypes.NewResourceLink("file:///a", "a", "the a", "text/plain"),
		"embedded text": mcpgotypes.NewEmbeddedResource(mcpgotypes.TextResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "hello"}),
		"embedded blob": mcpgotypes.NewEmbeddedResource(mcpgotypes.BlobResourceContents{URI: "file:///b", Blob: "YmxvYg=="}),
		"empty text":    mcpgotypes.NewTextContent(""),
	} {
		t.Run(name, func(t *testing.T) {
			other := newOther()
			want := &mcpgotypes.CallToolResult{
				Result:            mcpgotypes.Result{Meta: &mcpgotypes.Meta{AdditionalFields: map[string]any{"example.com/result": true}}},
				Content:           []mcpgotypes.Content{content, mcpgotypes.NewTextContent(`{"big":12345678901234567890,"f":1.50}`)},
				StructuredContent: jsonv1.RawMessage(`{"big":12345678901234567890,"f":1.50}`),
			}
			other.AddTool(mcpgotypes.NewTool("get"), func(context.Context, mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
				return want, nil
			})
			result, err := mcptest.Connect(t, mounted(t, other), nil).CallTool(t.Context(), "get", nil)
			if err != nil {
				t.Fatal(err)
			}
			result.ResultType = "" // of the stateless era, like the server's name
			delete(result.Meta, mcp.MetaServerInfo)
			got, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := jsonv1.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			if canonical(t, got) != canonical(t, theirs) {
				t.Errorf("got  %s\nwant %s", got, theirs)
			}
		})
	}
}

// canonical returns JSON with its members sorted, and its numbers as they are written.
func canonical(t *testing.T, raw []byte) string {
	t.Helper()
	var v any
	d := jsonv1.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	text, err := jsonv1.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestErrorsOfHandlersPass(t *testing.T) {
	other := newOther()
	other.AddTool(mcpgotypes.NewTool("fail"), func(context.Context, mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
		return mcpgotypes.NewToolResultError("no such note"), nil
	})
	other.AddTool(mcpgotypes.NewTool("panic"), func(context.Context, mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
		panic("secret of the handler")
	})
	other.AddTool(mcpgotypes.NewTool("error"), func(context.Context, mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
		return nil, errors.New("broken")
	})
	mcptest.EachRevision(t, mounted(t, other), func(t *testing.T, c *mcpclient.Client) {
		result, err := c.CallTool(t.Context(), "fail", nil)
		if err != nil || !result.IsError || result.Content.Text() != "no such note" {
			t.Errorf("error result: got %+v, %v, want it unchanged", result, err)
		}
		result, err = c.CallTool(t.Context(), "panic", nil)
		if err == nil && !result.IsError || strings.Contains(text(result, err), "secret") {
			t.Errorf("panic: got %s, want an error without the value of the panic", text(result, err))
		}
		if result, err = c.CallTool(t.Context(), "error", nil); !strings.Contains(text(result, err), "broken") {
			t.Errorf("error of a handler: got %s, want its text", text(result, err))
		}
	})
}

// TestHandlerAsksThroughItsServer has a handler of mcp-go use every request that its server
// can send, in both eras.
func TestHandlerAsksThroughItsServer(t *testing.T) {
	other := newOther(mcpgo.WithElicitation(), mcpgo.WithRoots())
	other.EnableSampling()
	other.AddTool(mcpgotypes.NewTool("ask"), func(ctx context.Context, _ mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
		who, err := other.RequestElicitation(ctx, mcpgotypes.ElicitationRequest{Params: mcpgotypes.ElicitationParams{
			Message: "Your name?", RequestedSchema: jsonv1.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		}})
		if err != nil {
			return nil, err
		}
		roots, err := other.RequestRoots(ctx, mcpgotypes.ListRootsRequest{})
		if err != nil {
			return nil, err
		}
		answer, err := other.RequestSampling(ctx, mcpgotypes.CreateMessageRequest{CreateMessageParams: mcpgotypes.CreateMessageParams{
			MaxTokens: 10, Messages: []mcpgotypes.SamplingMessage{{Role: "user", Content: mcpgotypes.NewTextContent("Hello")}},
		}})
		if err != nil {
			return nil, err
		}
		name := who.Content.(map[string]any)["name"].(string)
		return mcpgotypes.NewToolResultText(name + " " + roots.Roots[0].URI + " " + answer.Content.(mcpgotypes.TextContent).Text), nil
	})
	server := mounted(t, other)
	for _, v := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			result, err := mcptest.Connect(t, server, &mcpclient.Options{
				Revisions: []mcp.Revision{v},
				ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
				},
				Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///home"}}, nil },
				Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
					return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("hi")}}, nil
				},
			}).CallTool(t.Context(), "ask", nil)
			if got, want := text(result, err), "Ada file:///home hi"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestProgressAndLogReachTheCaller(t *testing.T) {
	other := newOther(mcpgo.WithLogging())
	other.AddTool(mcpgotypes.NewTool("work"), func(ctx context.Context, r mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
		err := other.SendNotificationToClient(ctx, "notifications/progress", map[string]any{
			"progressToken": r.Params.Meta.ProgressToken, "progress": 1, "total": 2, "message": "half",
		})
		return mcpgotypes.NewToolResultText("done"), errors.Join(err, other.SendLogMessageToClient(ctx, mcpgotypes.NewLoggingMessageNotification("warning", "l", "careful")))
	})
	server := mounted(t, other)
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			var mu sync.Mutex
			var got []string
			logged := make(chan string, 1)
			c := mcptest.Connect(t, server, &mcpclient.Options{
				Revisions: []mcp.Revision{v}, LogLevel: mcp.LevelInfo,
				OnLog: func(_ context.Context, m *mcp.LoggingMessageParams) { logged <- string(m.Data) },
			})
			result, err := c.CallTool(t.Context(), "work", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, p.Message)
			}))
			mu.Lock()
			defer mu.Unlock()
			if text(result, err) != "done" || strings.Join(got, ",") != "half" {
				t.Errorf("got %q, progress %q, want done after half", text(result, err), got)
			}
			select {
			case data := <-logged:
				if data != `"careful"` {
					t.Errorf("got log message %s", data)
				}
			case <-time.After(5 * time.Second):
				t.Error("got no log message")
			}
		})
	}
}

func TestMiddlewareHooksAndSessionsRunUnchanged(t *testing.T) {
	var mu sync.Mutex
	seen, registered, ended := make(map[string]string), 0, make(chan struct{}, 4)
	hooks := new(mcpgo.Hooks)
	hooks.AddOnRegisterSession(func(context.Context, mcpgo.ClientSession) {
		mu.Lock()
		defer mu.Unlock()
		registered++
	})
	hooks.AddOnUnregisterSession(func(context.Context, mcpgo.ClientSession) { ended <- struct{}{} })
	other := newOther(mcpgo.WithHooks(hooks), mcpgo.WithToolHandlerMiddleware(func(next mcpgo.ToolHandlerFunc) mcpgo.ToolHandlerFunc {
		return func(ctx context.Context, r mcpgotypes.CallToolRequest) (*mcpgotypes.CallToolResult, error) {
			s := mcpgo.ClientSessionFromContext(ctx)
			mu.Lock()
			seen[s.SessionID()] = s.(mcpgo.SessionWithClientInfo).GetClientInfo().Name
			mu.Unlock()
			return next(ctx, r)
		}
	}))
	other.AddTool(echoTool, echo)
	server := mounted(t, other)
	for range 2 {
		c := mcptest.Connect(t, server, &mcpclient.Options{Info: mcp.Implementation{Name: "editor", Version: "1"}, Revisions: []mcp.Revision{mcp.V20251125}})
		for range 3 {
			if _, err := c.CallTool(t.Context(), "echo", nil); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
	}
	for range 2 {
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			t.Fatal("a session of mcp-go outlives the client's")
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 2 || registered != 3 {
		t.Errorf("two sessions of three calls: got %d sessions in the middleware and %d in the hook, want 2, and 3 with the adapter's own", len(seen), registered)
	}
	for _, name := range seen {
		if name != "editor" {
			t.Errorf("got client %q, want the real one", name)
		}
	}
}

func TestPromptsResourcesAndTemplates(t *testing.T) {
	other := newOther(mcpgo.WithPromptCapabilities(true), mcpgo.WithResourceCapabilities(true, true))
	other.AddPrompt(mcpgotypes.NewPrompt("greet", mcpgotypes.WithArgument("who", mcpgotypes.RequiredArgument())), func(_ context.Context, r mcpgotypes.GetPromptRequest) (*mcpgotypes.GetPromptResult, error) {
		return mcpgotypes.NewGetPromptResult("", []mcpgotypes.PromptMessage{mcpgotypes.NewPromptMessage("user", mcpgotypes.NewTextContent("Greet "+r.Params.Arguments["who"]))}), nil
	})
	read := func(_ context.Context, r mcpgotypes.ReadResourceRequest) ([]mcpgotypes.ResourceContents, error) {
		return []mcpgotypes.ResourceContents{mcpgotypes.TextResourceContents{URI: r.Params.URI, Text: "at " + r.Params.URI}}, nil
	}
	other.AddResource(mcpgotypes.NewResource("note:///index", "index"), read)
	other.AddResourceTemplate(mcpgotypes.NewResourceTemplate("note:///n/{id}", "note"), read)
	mcptest.EachRevision(t, mounted(t, other), func(t *testing.T, c *mcpclient.Client) {
		prompt, err := c.GetPrompt(t.Context(), "greet", map[string]string{"who": "Ada"})
		if err != nil || prompt.Messages[0].Content.(mcp.TextContent).Text != "Greet Ada" {
			t.Errorf("prompt: got %+v, %v", prompt, err)
		}
		for _, uri := range []string{"note:///index", "note:///n/7"} {
			result, err := c.ReadResource(t.Context(), uri)
			if err != nil || result.Contents[0].Text != "at "+uri {
				t.Errorf("resource %s: got %+v, %v", uri, result, err)
			}
		}
	})
}

func TestChangesOfTheOtherServerAreFollowed(t *testing.T) {
	other := newOther(mcpgo.WithResourceCapabilities(true, true))
	other.AddTool(echoTool, echo)
	other.AddResource(mcpgotypes.NewResource("note:///1", "1"), func(context.Context, mcpgotypes.ReadResourceRequest) ([]mcpgotypes.ResourceContents, error) {
		return nil, nil
	})
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			changed := make(chan struct{}, 8)
			c := mcptest.Connect(t, mounted(t, other), &mcpclient.Options{
				Revisions: []mcp.Revision{v}, OnToolsChanged: func(context.Context, *mcpclient.Client) { changed <- struct{}{} },
			})
			for notified, there := false, false; !notified || !there; there = !there { // the client may not have subscribed yet
				if there {
					other.DeleteTools("more")
				} else {
					other.AddTool(mcpgotypes.NewTool("more"), echo)
				}
				select {
				case <-changed:
					notified = true
				case <-time.After(400 * time.Millisecond):
				}
			}
			if _, err := c.CallTool(t.Context(), "more", nil); err != nil {
				t.Error(err)
			}
			other.DeleteTools("more")
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			updates := make(chan struct{})
			go func() {
				defer close(updates)
				for range c.Watch(ctx, "note:///1") {
					return
				}
			}()
			for {
				other.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": "note:///1"})
				select {
				case <-updates:
					if ctx.Err() != nil {
						t.Error("got no update of the resource")
					}
					return
				case <-time.After(20 * time.Millisecond):
				}
			}
		})
	}
}
