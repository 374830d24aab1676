package mcptest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// NewServer returns a small server that has every feature once, for tests of clients and
// transports. The options may be nil. Its tools are
//
//	add      {a, b} → {sum}        structured content
//	echo     {text}                the text
//	fail     {}                    a tool error
//	panics   {}                    a handler that panics
//	steps    {n}                   n progress notifications, then "done"
//	wait     {}                    progress 0 as soon as it runs, then nothing until it is cancelled
//	log      {text}                one log message, level info
//	media    {}                    one block of every kind of content
//	touch    {}                    updates the resource note://counter
//	grow     {name}                registers the tool of that name
//	ask      {}                    elicits a name
//	roots    {}                    the URIs of the client's roots
//
// its resources note://hello and note://counter, its template note://by/{name},
// and its prompt greet {name}, which completes Ada, Alan and Grace. Its responses depend
// only on the requests, except for the incident in the error of panics.
func NewServer(o *mcpserver.Options) *mcpserver.Server {
	f := &fixture{Server: mcpserver.New("fixture", "1.0.0", o)}
	f.tools()
	f.resources()
	f.prompts()
	return f.Server
}

type fixture struct {
	*mcpserver.Server
	counter atomic.Int64
}

// addends are the arguments of the tool add.
type addends struct {
	A int `json:"a" doc:"first addend"`
	B int `json:"b" doc:"second addend"`
}

// sum is the result of the tool add.
type sum struct {
	Sum int `json:"sum"`
}

type nothing struct{}

type text struct {
	Text string `json:"text"`
}

type named struct {
	Name string `json:"name" doc:"a name"`
}

type count struct {
	N int `json:"n" min:"0" max:"1000"`
}

func (f *fixture) tools() {
	f.Tool("add", "Adds two numbers", func(_ context.Context, in addends) (sum, error) {
		return sum{in.A + in.B}, nil
	}, mcpserver.ReadOnly(), mcpserver.Title("Add"))
	f.Tool("echo", "Returns the text", func(_ context.Context, in text) (string, error) { return in.Text, nil })
	f.Tool("fail", "Always fails", func(context.Context, nothing) (string, error) {
		return "", errors.New("it did not work")
	})
	f.Tool("panics", "Has a mistake", func(context.Context, nothing) (string, error) { panic("a mistake") })
	f.Tool("steps", "Reports progress", steps)
	f.Tool("wait", "Waits until it is cancelled", wait)
	f.Tool("log", "Logs to the client", func(ctx context.Context, in text) (string, error) {
		mcpserver.Log(ctx).Info(in.Text)
		return "logged", nil
	})
	f.Tool("media", "Shows every kind of content", media)
	f.Tool("touch", "Updates a resource", func(context.Context, nothing) (string, error) {
		n := f.counter.Add(1)
		f.Updated("note://counter")
		return fmt.Sprint(n), nil
	})
	f.Tool("grow", "Registers a tool", f.grow)
	f.Tool("ask", "Asks for a name", ask)
	f.Tool("roots", "Asks for the roots", roots)
}

func wait(ctx context.Context, _ nothing) (string, error) {
	mcpserver.Progress(ctx, 0, 0, "waiting")
	<-ctx.Done()
	return "", context.Cause(ctx)
}

// stepTime is long enough for a peer to see each step by itself.
const stepTime = 10 * time.Millisecond

func steps(ctx context.Context, in count) (string, error) {
	for i := range in.N {
		mcpserver.Progress(ctx, float64(i+1), float64(in.N), fmt.Sprintf("step %d", i+1))
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(stepTime):
		}
	}
	return "done", nil
}

func media(context.Context, nothing) (mcp.Contents, error) {
	return mcp.Contents{
		mcp.Text("words"),
		mcp.Image([]byte("\x89PNG\r\n\x1a\n"), "image/png"),
		mcp.Audio([]byte("RIFF"), "audio/wav"),
		mcp.Link("note://hello", "hello"),
		mcp.Embed(mcp.ResourceContents{URI: "note://hello", MIMEType: "text/plain", Text: "hello"}),
	}, nil
}

func (f *fixture) grow(_ context.Context, in named) (string, error) {
	def := mcp.Tool{Name: in.Name, Description: "Grown"}
	return "grown", f.SetTool(def, func(context.Context, *mcp.CallToolParams) (mcp.Result, error) {
		return &mcp.CallToolResult{Content: mcp.Contents{mcp.Text("I am " + in.Name)}}, nil
	})
}

func ask(ctx context.Context, _ nothing) (string, error) {
	answer, err := mcpserver.Ask[named](ctx, "name", "Your name?")
	if errors.Is(err, mcpserver.ErrDeclined) || errors.Is(err, mcpserver.ErrDismissed) {
		return "no name", nil
	}
	return "Hello, " + answer.Name, err
}

func roots(ctx context.Context, _ nothing) (string, error) {
	var answer []mcp.Root
	if err := mcpserver.AskAll(ctx, mcpserver.ListRoots("roots", &answer)); err != nil {
		return "", err
	}
	var uris []string
	for _, r := range answer {
		uris = append(uris, r.URI)
	}
	return strings.Join(uris, " "), nil
}

func (f *fixture) resources() {
	f.Resource("note://hello", "hello", "text/plain", func(context.Context) ([]byte, error) {
		return []byte("hello"), nil
	})
	f.Resource("note://counter", "counter", "text/plain", func(context.Context) ([]byte, error) {
		return fmt.Append(nil, f.counter.Load()), nil
	})
	f.Template("note://by/{name}", "by name", "text/plain", func(_ context.Context, v named) ([]byte, error) {
		if v.Name == "nobody" {
			return nil, mcpserver.ErrNotFound
		}
		return []byte("a note by " + v.Name), nil
	}, mcpserver.CompleteArg("name", mcpserver.Prefix("Ada", "Alan", "Grace")))
}

func (f *fixture) prompts() {
	f.Prompt("greet", "Greets somebody", func(_ context.Context, in named) ([]mcp.PromptMessage, error) {
		return []mcp.PromptMessage{mcpserver.UserMessage("Greet " + strings.TrimSpace(in.Name))}, nil
	}, mcpserver.CompleteArg("name", mcpserver.Prefix("Ada", "Alan", "Grace")))
}
