package mcpclient_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// The code of docs/client.md, and what it is about.

type (
	Route struct{ From, To string }
	Trip  struct {
		To string `json:"to"`
	}
	Flight struct {
		Number string `json:"number"`
		Gate   string `json:"gate"`
	}
)

func newAirline() *mcpserver.Server {
	s := mcpserver.New("airline", "1.0.0", nil)
	s.Tool("status", "Status of a flight", func(_ context.Context, in Route) (Flight, error) {
		if in.From == in.To {
			return Flight{}, errors.New("there is no such flight")
		}
		return Flight{"AZ612", "B7"}, nil
	})
	s.Tool("book", "Books a seat", func(ctx context.Context, _ struct{}) (string, error) {
		seat, err := mcpserver.Ask[struct {
			Row int `json:"row"`
		}](ctx, "seat", "Which row?")
		return fmt.Sprint("row ", seat.Row), err
	})
	s.Tool("rebook", "Rebooks all passengers", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 3 {
			mcpserver.Progress(ctx, float64(i+1), 3, "passengers")
		}
		return "done", nil
	})
	s.Tool("slogan", "Writes a slogan", func(ctx context.Context, _ struct{}) (string, error) {
		r, err := mcpserver.Sample(ctx, "slogan", &mcp.CreateMessageParams{
			Messages:  []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("A slogan for an airline.")}}},
			MaxTokens: 50,
		})
		if err != nil {
			return "", err
		}
		return r.Content.Text(), nil
	})
	s.Prompt("plan", "Plans a trip", func(_ context.Context, in Trip) ([]mcp.PromptMessage, error) {
		return []mcp.PromptMessage{mcpserver.UserMessage("Plan a trip to " + in.To + ".")}, nil
	}, mcpserver.CompleteArg("to", mcpserver.Prefix("Boston", "Rome")))
	s.Resource("flights://AZ612", "AZ612", "text/plain", func(context.Context) ([]byte, error) { return []byte("on time"), nil })
	return s
}

func guideStatus(ctx context.Context, target mcpclient.Target) error {
	c, err := mcpclient.Connect(ctx, target, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		fmt.Println(tool.Name, tool.Description)
	}
	flight, err := c.Call[Flight](ctx, "status", Route{From: "Rome", To: "Boston"})
	if err != nil {
		return err
	}
	fmt.Println(flight.Gate)
	return nil
}

func guideErrors(ctx context.Context, c *mcpclient.Client) string {
	flight, err := c.Call[Flight](ctx, "status", Route{From: "Rome", To: "Rome"})
	if e, ok := errors.AsType[*mcpclient.ToolError](err); ok {
		return "the tool failed: " + e.Result.Content.Text() // for the model
	}
	if _, ok := errors.AsType[*mcpclient.MayHaveRunError](err); ok {
		return "no answer; the call may have been processed"
	}
	if err != nil {
		return "the call failed: " + err.Error()
	}
	return flight.Gate
}

func guideOptions(form func(message string) (fields map[string]any, ok bool)) *mcpclient.Options {
	return &mcpclient.Options{
		ElicitForm: func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			fields, ok := form(p.Message)
			if !ok {
				return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
			}
			content, err := json.Marshal(fields)
			if err != nil {
				return nil, err
			}
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
		},
	}
}

func guideRead(ctx context.Context, c *mcpclient.Client) (prompt, resource string, cities []string, err error) {
	plan, err := c.GetPrompt(ctx, "plan", map[string]string{"to": "Rome"})
	if err != nil {
		return "", "", nil, err
	}
	flight, err := c.ReadResource(ctx, "flights://AZ612")
	if err != nil {
		return "", "", nil, err
	}
	to, err := c.Complete(ctx, &mcp.CompleteParams{
		Ref:      mcp.PromptRef("plan"),
		Argument: mcp.CompleteArgument{Name: "to", Value: "bo"},
	})
	if err != nil {
		return "", "", nil, err
	}
	return plan.Messages[0].Content.(mcp.TextContent).Text, flight.Contents[0].Text, to.Values, nil
}

func guideProgress(ctx context.Context, c *mcpclient.Client, show func(string)) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return c.Call[string](ctx, "rebook", nil, mcpclient.WithProgress(func(p mcp.ProgressParams) {
		show(fmt.Sprintf("%v of %v %s", p.Progress, p.Total, p.Message))
	}))
}

func guideSample(model func(ctx context.Context, prompt string, maxTokens int64) (string, error)) *mcpclient.Options {
	return &mcpclient.Options{
		Sample: func(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			last := p.Messages[len(p.Messages)-1]
			text, err := model(ctx, last.Content.Text(), p.MaxTokens)
			if err != nil {
				return nil, err
			}
			return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.Text(text)}, Model: "ours"}, nil
		},
	}
}

func guideHeader(ctx context.Context, address, key string) (*mcpclient.Client, error) {
	return mcpclient.Connect(ctx, mcpclient.URL(address), &mcpclient.Options{
		HTTP: mcpclient.HTTPOptions{Header: http.Header{"X-Api-Key": {key}}},
	})
}

func guideWatch(ctx context.Context, c *mcpclient.Client, show func(string)) error {
	for uri, err := range c.Watch(ctx, "flights://AZ612") {
		if err != nil {
			return err
		}
		r, err := c.ReadResource(ctx, uri)
		if err != nil {
			return err
		}
		show(r.Contents[0].Text)
	}
	return nil
}

func guidePrior(ctx context.Context, target mcpclient.Target, stored []byte) ([]byte, error) {
	opts := new(mcpclient.Options)
	if stored != nil {
		opts.Prior = new(mcpclient.Prior)
		if err := json.Unmarshal(stored, opts.Prior); err != nil {
			return nil, err
		}
	}
	c, err := mcpclient.Connect(ctx, target, opts)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	// … calls …
	return json.Marshal(c.Prior())
}

func guideGroup(ctx context.Context, targets map[string]mcpclient.Target, choose func([]mcp.Tool) []mcpclient.GroupCall, show func(string)) error {
	var g mcpclient.Group
	defer g.Close()
	var members []mcpclient.Member
	for name, target := range targets {
		members = append(members, mcpclient.Member{Name: name, Target: target})
	}
	if err := g.Connect(ctx, members...); err != nil {
		show(err.Error()) // the servers that failed; the others work
	}
	tools, err := g.Tools(ctx)
	if err != nil {
		show(err.Error()) // likewise
	}
	for _, r := range g.CallAll(ctx, choose(tools)) {
		if r.Err != nil {
			show(r.Err.Error())
			continue
		}
		show(r.Result.Content.Text())
	}
	return nil
}

func guideGroupChanges(offer func([]mcp.Tool, error)) *mcpclient.Group {
	g := &mcpclient.Group{OnToolsChanged: func(ctx context.Context, g *mcpclient.Group) {
		tools, err := g.Tools(ctx)
		offer(tools, err) // to the model, from its next turn on
	}}
	return g
}

func guidePins(ctx context.Context, c *mcpclient.Client) (map[string]mcp.Fingerprint, error) {
	pins := make(map[string]mcp.Fingerprint)
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return nil, err
		}
		if pins[tool.Name], err = tool.Fingerprint(); err != nil {
			return nil, err
		}
	}
	return pins, nil
}

func guidePinned(ctx context.Context, target mcpclient.Target, pins map[string]mcp.Fingerprint) error {
	c, err := mcpclient.Connect(ctx, target, &mcpclient.Options{Pins: mcpclient.PinOptions{Tools: pins}})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Call[Flight](ctx, "status", Route{From: "Rome", To: "Boston"})
	if e, ok := errors.AsType[*mcpclient.PinError](err); ok {
		return fmt.Errorf("tool %q has changed, please review: %w", e.Tool, err)
	}
	return err
}

func guideCache(ctx context.Context, address string, store mcp.Store, key []byte, user string, stale func(string)) (*mcpclient.Client, error) {
	return mcpclient.Connect(ctx, mcpclient.URL(address), &mcpclient.Options{
		Cache: mcpclient.CacheOptions{
			Store:        store, // of any engine
			Key:          key,   // 32 random bytes, the same in each process
			Principal:    user,
			StaleIfError: time.Hour,
			OnStale: func(_ context.Context, r mcpclient.StaleResult) {
				stale(r.Method + " as of " + r.ReceivedAt.String())
			},
		},
	})
}

func TestTheCodeOfTheGuideRuns(t *testing.T) {
	t.Parallel()
	ctx, srv := t.Context(), newAirline()
	target := mcpclient.InProcess(srv)
	if err := guideStatus(ctx, target); err != nil {
		t.Error(err)
	}
	c := mcptest.Connect(t, srv, guideOptions(func(string) (map[string]any, bool) { return map[string]any{"row": 4}, true }))
	if got := guideErrors(ctx, c); got != "the tool failed: there is no such flight" {
		t.Errorf("errors: got %q", got)
	}
	if got, err := c.Call[string](ctx, "book", nil); err != nil || got != "row 4" {
		t.Errorf("elicitation: got %q, %v", got, err)
	}
	if prompt, flight, cities, err := guideRead(ctx, c); err != nil || prompt != "Plan a trip to Rome." || flight != "on time" || len(cities) != 1 {
		t.Errorf("read: got %q, %q, %q, %v", prompt, flight, cities, err)
	}
	var steps []string
	if got, err := guideProgress(ctx, c, func(s string) { steps = append(steps, s) }); err != nil || got != "done" || len(steps) != 3 {
		t.Errorf("progress: got %q, %v after %q", got, err, steps)
	}
	asker := mcptest.Connect(t, srv, guideSample(func(context.Context, string, int64) (string, error) { return "Up, up", nil }))
	if got, err := asker.Call[string](ctx, "slogan", nil); err != nil || got != "Up, up" {
		t.Errorf("sampling: got %q, %v", got, err)
	}
	keys := make(chan string, 100)
	web := newAirline().HTTPHandler()
	address := mcptest.HTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get("X-Api-Key")
		web.ServeHTTP(w, r)
	}))
	keyed, err := guideHeader(ctx, address, "key")
	if err != nil || <-keys != "key" {
		t.Fatalf("header: %v", err)
	}
	t.Cleanup(func() { _ = keyed.Close() })
	caching, err := guideCache(ctx, address, new(mcpserver.MemoryStore), make([]byte, 32), "user", nil)
	if err != nil {
		t.Fatalf("cache: %v", err)
	}
	t.Cleanup(func() { _ = caching.Close() })
	if got, err := names(t, caching); err != nil || len(got) == 0 {
		t.Errorf("cache: got %q, %v", got, err)
	}
	watching, stop := context.WithCancel(ctx)
	if err := guideWatch(watching, c, func(string) { stop() }); err != nil {
		t.Errorf("watch: %v", err)
	}
	var stored []byte
	for range 2 {
		var err error
		if stored, err = guidePrior(ctx, target, stored); err != nil {
			t.Errorf("prior: %v", err)
		}
	}
	var shown []string
	call := func([]mcp.Tool) []mcpclient.GroupCall {
		return []mcpclient.GroupCall{{Tool: "air__status", Args: Route{From: "Rome", To: "Boston"}}}
	}
	if err := guideGroup(ctx, map[string]mcpclient.Target{"air": target}, call, func(s string) { shown = append(shown, s) }); err != nil || len(shown) != 1 {
		t.Errorf("group: got %q, %v", shown, err)
	}
	offered := make(chan int, 1)
	following := guideGroupChanges(func(tools []mcp.Tool, _ error) { offered <- len(tools) })
	defer following.Close()
	growing := mcpserver.New("growing", "1.0.0", &mcpserver.Options{Dynamic: true})
	if err := following.Connect(ctx, mcpclient.Member{Name: "growing", Target: mcpclient.InProcess(growing)}); err != nil {
		t.Fatal(err)
	}
	growing.Tool("new", "", func(context.Context, struct{}) (string, error) { return "", nil })
	if n := <-offered; n != 1 {
		t.Errorf("changes of a group: got %d tools, want the new one", n)
	}
	pins, err := guidePins(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := guidePinned(ctx, target, pins); err != nil {
		t.Errorf("pins: %v", err)
	}
	changed := newAirline()
	def := mcp.Tool{Name: "status", Description: "Other", InputSchema: jsontext.Value(`{"type":"object"}`)}
	if err := changed.SetTool(def, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		return new(mcp.CallToolResult), nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := guidePinned(ctx, mcpclient.InProcess(changed), pins); err == nil {
		t.Error("pins: a changed tool was called")
	}
}

func TestTheGuideShowsCodeThatRuns(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile("guide_test.go")
	if err != nil {
		t.Fatal(err)
	}
	guide, err := os.ReadFile("../../docs/client.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(guide), "```go\n")[1:]
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(unindented(string(code)), unindented(block)) {
			t.Errorf("no test holds\n%s", block)
		}
	}
	if len(blocks) < 7 {
		t.Errorf("got %d blocks of Go, want one for each section", len(blocks))
	}
}

// unindented returns code without indentation, because a block of the guide is a part of a
// function.
func unindented(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}
