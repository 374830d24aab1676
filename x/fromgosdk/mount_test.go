package fromgosdk_test

import (
	"context"
	"encoding/json"
	"encoding/json/jsontext"
	jsonv2 "encoding/json/v2"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
	"github.com/fondaco/fondaco/x/fromgosdk"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func newOther(o *gosdk.ServerOptions) *gosdk.Server {
	return gosdk.NewServer(&gosdk.Implementation{Name: "notes", Title: "Notes", Version: "2.1.0"}, o)
}

type textArgs struct {
	Text string `json:"text" jsonschema:"what to return"`
}

type textResult struct {
	Text string `json:"text"`
}

func echo(_ context.Context, _ *gosdk.CallToolRequest, in textArgs) (*gosdk.CallToolResult, textResult, error) {
	return nil, textResult(in), nil
}

// mounted returns a server that has mounted another.
func mounted(t *testing.T, other *gosdk.Server) *mcpserver.Server {
	t.Helper()
	server := mcpserver.New("ours", "1.0.0", nil)
	unmount, err := fromgosdk.Mount(server, other, &fromgosdk.Options{OnError: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(unmount)
	return server
}

func TestTypedToolIsListedAndCalledInEveryRevision(t *testing.T) {
	other := newOther(nil)
	gosdk.AddTool(other, &gosdk.Tool{Name: "echo", Description: "Returns a text", Annotations: &gosdk.ToolAnnotations{ReadOnlyHint: true}}, echo)
	mcptest.EachRevision(t, mounted(t, other), func(t *testing.T, c *mcpclient.Client) {
		var names []string
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, tool.Name+": "+tool.Description)
			if !strings.Contains(string(tool.InputSchema), "what to return") {
				t.Errorf("got input schema %s, want the one of the struct tag", tool.InputSchema)
			}
		}
		if got, want := strings.Join(names, ","), "echo: Returns a text"; got != want {
			t.Errorf("got tools %q, want %q", got, want)
		}
		result, err := c.CallTool(t.Context(), "echo", textArgs{"hello"})
		if err != nil || result.IsError || !strings.Contains(result.Content.Text(), `"text":"hello"`) {
			t.Errorf("got %+v, %v", result, err)
		}
	})
}

// TestContentPassesUnchanged compares the content of each kind, with annotations and
// metadata, with the JSON of go-sdk.
func TestContentPassesUnchanged(t *testing.T) {
	priority := &gosdk.Annotations{Audience: []gosdk.Role{"user"}, Priority: 0.5, LastModified: "2025-01-02T03:04:05Z"}
	meta := gosdk.Meta{"example.com/key": map[string]any{"n": 1.0}}
	size := int64(12)
	for name, content := range map[string]gosdk.Content{
		"text":              &gosdk.TextContent{Text: "a \u2028 <b> \"c\"", Meta: meta, Annotations: priority},
		"image":             &gosdk.ImageContent{Data: []byte{0, 1, 255}, MIMEType: "image/png", Meta: meta, Annotations: priority},
		"audio":             &gosdk.AudioContent{Data: []byte{7}, MIMEType: "audio/wav", Meta: meta, Annotations: priority},
		"resource link":     &gosdk.ResourceLink{URI: "file:///a", Name: "a", Title: "A", Description: "the a", MIMEType: "text/plain", Size: &size, Meta: meta, Annotations: priority},
		"embedded text":     &gosdk.EmbeddedResource{Resource: &gosdk.ResourceContents{URI: "file:///a", MIMEType: "text/plain", Text: "hello", Meta: meta}, Meta: meta, Annotations: priority},
		"embedded blob":     &gosdk.EmbeddedResource{Resource: &gosdk.ResourceContents{URI: "file:///b", Blob: []byte("blob")}},
		"empty text":        &gosdk.TextContent{},
		"embedded no bytes": &gosdk.EmbeddedResource{Resource: &gosdk.ResourceContents{URI: "file:///c", Blob: []byte{}}},
	} {
		t.Run(name, func(t *testing.T) {
			other := newOther(nil)
			want := &gosdk.CallToolResult{
				Meta: gosdk.Meta{"example.com/result": true}, Content: []gosdk.Content{content, &gosdk.TextContent{Text: `{"big":12345678901234567890,"f":1.50}`}},
				StructuredContent: json.RawMessage(`{"big":12345678901234567890,"f":1.50}`),
			}
			other.AddTool(&gosdk.Tool{Name: "get", InputSchema: json.RawMessage(`{"type":"object"}`)},
				func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) { return want, nil })
			result, err := mcptest.Connect(t, mounted(t, other), nil).CallTool(t.Context(), "get", nil)
			if err != nil {
				t.Fatal(err)
			}
			result.ResultType = "" // of the stateless era, like the server's name
			delete(result.Meta, mcp.MetaServerInfo)
			got, err := jsonv2.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := json.Marshal(want)
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
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestErrorsOfHandlersPass(t *testing.T) {
	other := newOther(nil)
	gosdk.AddTool(other, &gosdk.Tool{Name: "fail"}, func(context.Context, *gosdk.CallToolRequest, struct{}) (*gosdk.CallToolResult, any, error) {
		return nil, nil, errors.New("no such note")
	})
	gosdk.AddTool(other, &gosdk.Tool{Name: "panic"}, func(context.Context, *gosdk.CallToolRequest, struct{}) (*gosdk.CallToolResult, any, error) {
		panic("secret of the handler")
	})
	other.AddTool(&gosdk.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) {
		return nil, errors.New("broken")
	})
	other.AddResource(&gosdk.Resource{URI: "note:///1", Name: "1"}, func(_ context.Context, r *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult, error) {
		return nil, gosdk.ResourceNotFoundError(r.Params.URI)
	})
	mcptest.EachRevision(t, mounted(t, other), func(t *testing.T, c *mcpclient.Client) {
		result, err := c.CallTool(t.Context(), "fail", nil)
		if err != nil || !result.IsError || result.Content.Text() != "no such note" {
			t.Errorf("error of a typed handler: got %+v, %v, want it as a result that the model can read", result, err)
		}
		result, err = c.CallTool(t.Context(), "panic", nil)
		if err == nil && !result.IsError || strings.Contains(text(result, err), "secret") {
			t.Errorf("panic: got %s, want an error without the value of the panic", text(result, err))
		}
		if result, err = c.CallTool(t.Context(), "raw", nil); !strings.Contains(text(result, err), "broken") {
			t.Errorf("error of a raw handler: got %s, want its text", text(result, err))
		}
		if _, err := c.ReadResource(t.Context(), "note:///1"); mcp.CodeOf(err) != mcp.CodeResourceNotFound && mcp.CodeOf(err) != mcp.CodeInvalidParams {
			t.Errorf("missing resource: got %v", err)
		}
	})
}

func text(result *mcp.CallToolResult, err error) string {
	if err != nil {
		return err.Error()
	}
	return result.Content.Text()
}

// TestHandlerAsksThroughItsSession has a handler of go-sdk use every request that its session
// can send, in both eras.
func TestHandlerAsksThroughItsSession(t *testing.T) {
	other := newOther(nil)
	gosdk.AddTool(other, &gosdk.Tool{Name: "ask"}, func(ctx context.Context, r *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		who, err := r.Session.Elicit(ctx, &gosdk.ElicitParams{
			Message: "Your name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`),
		})
		if err != nil {
			return nil, nil, err
		}
		roots, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, nil, err
		}
		answer, err := r.Session.CreateMessage(ctx, &gosdk.CreateMessageParams{
			MaxTokens: 10, Messages: []*gosdk.SamplingMessage{{Role: "user", Content: &gosdk.TextContent{Text: "Hello"}}},
		})
		if err != nil {
			return nil, nil, err
		}
		said := answer.Content.(*gosdk.TextContent).Text
		return &gosdk.CallToolResult{Content: []gosdk.Content{&gosdk.TextContent{Text: who.Content["name"].(string) + " " + roots.Roots[0].URI + " " + said}}}, nil, nil
	})
	options := &mcpclient.Options{
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"name":"Ada"}`)}, nil
		},
		Roots: func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: "file:///home"}}, nil },
		Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Model: "m", Content: mcp.Contents{mcp.Text("hi")}}, nil
		},
	}
	for _, v := range []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			o := *options
			o.Revisions = []mcp.Revision{v}
			result, err := mcptest.Connect(t, mounted(t, other), &o).CallTool(t.Context(), "ask", nil)
			if got, want := text(result, err), "Ada file:///home hi"; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestProgressAndLogReachTheCaller(t *testing.T) {
	other := newOther(nil)
	gosdk.AddTool(other, &gosdk.Tool{Name: "work"}, func(ctx context.Context, r *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		err := r.Session.NotifyProgress(ctx, &gosdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "half"})
		return nil, nil, errors.Join(err, r.Session.Log(ctx, &gosdk.LoggingMessageParams{Level: "warning", Logger: "l", Data: "careful"}))
	})
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			var mu sync.Mutex
			var got []string
			logged := make(chan string, 1)
			add := func(s string) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, s)
			}
			c := mcptest.Connect(t, mounted(t, other), &mcpclient.Options{
				Revisions: []mcp.Revision{v}, LogLevel: mcp.LevelInfo,
				OnLog: func(_ context.Context, m *mcp.LoggingMessageParams) { logged <- string(m.Data) },
			})
			_, err := c.CallTool(t.Context(), "work", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) { add(p.Message) }))
			select {
			case data := <-logged:
				add(data)
			case <-time.After(5 * time.Second):
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil || strings.Join(got, ",") != `half,"careful"` {
				t.Errorf("got %q, %v, want the progress and the message", got, err)
			}
		})
	}
}

func TestHandlersOfOneSessionShareTheirSession(t *testing.T) {
	other := newOther(nil)
	var mu sync.Mutex
	seen := make(map[*gosdk.ServerSession]string)
	gosdk.AddTool(other, &gosdk.Tool{Name: "who"}, func(_ context.Context, r *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Session] = r.Session.InitializeParams().ClientInfo.Name
		return nil, nil, nil
	})
	server := mounted(t, other)
	for range 2 {
		c := mcptest.Connect(t, server, &mcpclient.Options{Info: mcp.Implementation{Name: "editor", Version: "1"}, Revisions: []mcp.Revision{mcp.V20251125}})
		for range 3 {
			if _, err := c.CallTool(t.Context(), "who", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(seen) != 2 {
		t.Errorf("two sessions of three calls: got %d sessions of go-sdk, want 2", len(seen))
	}
	for _, name := range seen {
		if name != "editor" {
			t.Errorf("got client %q, want the real one", name)
		}
	}
}

func TestSessionEndsWithTheClients(t *testing.T) {
	other := newOther(nil)
	gosdk.AddTool(other, &gosdk.Tool{Name: "echo"}, echo)
	server := mounted(t, other)
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		c := mcptest.Connect(t, server, &mcpclient.Options{Revisions: []mcp.Revision{v}})
		if _, err := c.CallTool(t.Context(), "echo", textArgs{"a"}); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		left := 0
		for range other.Sessions() {
			left++
		}
		if left == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %d sessions of go-sdk, want the adapter's own", left)
		}
	}
}

func TestCancelledCallCancelsTheHandler(t *testing.T) {
	other := newOther(nil)
	started, ended := make(chan struct{}), make(chan error, 1)
	gosdk.AddTool(other, &gosdk.Tool{Name: "wait"}, func(ctx context.Context, _ *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, nil, ctx.Err()
	})
	c := mcptest.Connect(t, mounted(t, other), nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	if _, err := c.CallTool(ctx, "wait", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v in the handler, want %v", err, context.Canceled)
		}
	case <-time.After(5 * time.Second):
		t.Error("the handler was not told")
	}
}

func TestPromptsResourcesTemplatesAndCompletions(t *testing.T) {
	other := newOther(&gosdk.ServerOptions{
		CompletionHandler: func(_ context.Context, r *gosdk.CompleteRequest) (*gosdk.CompleteResult, error) {
			return &gosdk.CompleteResult{Completion: gosdk.CompletionResultDetails{Values: []string{r.Params.Argument.Value + "da"}}}, nil
		},
	})
	other.AddPrompt(&gosdk.Prompt{Name: "greet", Arguments: []*gosdk.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, r *gosdk.GetPromptRequest) (*gosdk.GetPromptResult, error) {
			return &gosdk.GetPromptResult{Messages: []*gosdk.PromptMessage{{Role: "user", Content: &gosdk.TextContent{Text: "Greet " + r.Params.Arguments["who"]}}}}, nil
		})
	read := func(_ context.Context, r *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult, error) {
		return &gosdk.ReadResourceResult{Contents: []*gosdk.ResourceContents{{URI: r.Params.URI, Text: "at " + r.Params.URI}}}, nil
	}
	other.AddResource(&gosdk.Resource{URI: "note:///index", Name: "index"}, read)
	other.AddResourceTemplate(&gosdk.ResourceTemplate{URITemplate: "note:///n/{id}", Name: "note"}, read)
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
		completion, err := c.Complete(t.Context(), &mcp.CompleteParams{Ref: mcp.PromptRef("greet"), Argument: mcp.CompleteArgument{Name: "who", Value: "A"}})
		if err != nil || len(completion.Values) != 1 || completion.Values[0] != "Ada" {
			t.Errorf("completion: got %+v, %v", completion, err)
		}
	})
}

func TestChangesOfTheOtherServerAreFollowed(t *testing.T) {
	other := newOther(&gosdk.ServerOptions{
		SubscribeHandler:   func(context.Context, *gosdk.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *gosdk.UnsubscribeRequest) error { return nil },
	})
	gosdk.AddTool(other, &gosdk.Tool{Name: "echo"}, echo)
	other.AddResource(&gosdk.Resource{URI: "note:///1", Name: "1"}, func(context.Context, *gosdk.ReadResourceRequest) (*gosdk.ReadResourceResult, error) {
		return &gosdk.ReadResourceResult{}, nil
	})
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		t.Run(v.String(), func(t *testing.T) {
			changed := make(chan struct{}, 8)
			c := mcptest.Connect(t, mounted(t, other), &mcpclient.Options{
				Revisions: []mcp.Revision{v}, OnToolsChanged: func(context.Context, *mcpclient.Client) { changed <- struct{}{} },
			})
			for notified, there := false, false; !notified || !there; there = !there { // the client may not have subscribed yet
				if there {
					other.RemoveTools("more")
				} else {
					gosdk.AddTool(other, &gosdk.Tool{Name: "more"}, echo)
				}
				select {
				case <-changed:
					notified = true
				case <-time.After(400 * time.Millisecond):
				}
			}
			if _, err := c.CallTool(t.Context(), "more", textArgs{"a"}); err != nil {
				t.Error(err)
			}
			other.RemoveTools("more")
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
				_ = other.ResourceUpdated(ctx, &gosdk.ResourceUpdatedNotificationParams{URI: "note:///1"})
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
