package cli_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type sum struct {
	A int `json:"a" doc:"the first number" min:"0"`
	B int `json:"b,omitzero" doc:"the second number"`
}

type seat struct {
	Row    int    `json:"row" title:"Row"`
	Window bool   `json:"window" title:"At the window"`
	Class  string `json:"class" enum:"first|second"`
}

type person struct {
	Name string `json:"name" doc:"who is greeted"`
}

// newScriptServer is the server of the sessions: the command "server". With the variable SHOW_ROOTS it has one tool
// more, and with ASK_MORE three.
func newScriptServer() *mcpserver.Server {
	srv := mcpserver.New("script", "1.0.0", &mcpserver.Options{Logger: quiet})
	srv.Tool("add", "Add two numbers\nexactly", func(_ context.Context, in sum) (int, error) { return in.A + in.B, nil }, mcpserver.ReadOnly())
	srv.Tool("describe", "Describe a sum", func(_ context.Context, in sum) (sum, error) { return in, nil })
	srv.Tool("fail", "Fail", func(context.Context, struct{}) (string, error) { return "", errors.New("the disk is full") })
	srv.Tool("media", "Return all kinds of content", func(context.Context, struct{}) (mcp.Contents, error) {
		return mcp.Contents{
			mcp.Text("a text"), mcp.Image([]byte("png"), "image/png"), mcp.Audio([]byte("wav"), "audio/wav"), mcp.Link("note://a", "a note"),
		}, nil
	})
	srv.Tool("book", "Book a seat", func(ctx context.Context, _ struct{}) (string, error) {
		s, err := mcpserver.Ask[seat](ctx, "seat", "Which seat would you like?")
		if err != nil {
			return "", err
		}
		return "booked " + s.Class, nil
	})
	srv.Tool("slow", "Take a second", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 5 {
			time.Sleep(200 * time.Millisecond)
			mcpserver.Progress(ctx, float64(i+1), 5, "working")
		}
		return "done", nil
	})
	srv.Tool("hold", "Hold the line", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	if os.Getenv("ASK_MORE") != "" {
		srv.Tool("praise", "Praise", func(ctx context.Context, _ struct{}) (string, error) {
			var said mcp.CreateMessageResult
			err := mcpserver.AskAll(ctx, mcpserver.SampleQuestion("praise", &mcp.CreateMessageParams{
				SystemPrompt: "Be kind", MaxTokens: 100, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Text("Praise the sea")}}},
			}, &said))
			return said.Content.Text(), err
		})
		srv.Tool("caption", "Name an image", func(ctx context.Context, _ struct{}) (string, error) {
			var said mcp.CreateMessageResult
			err := mcpserver.AskAll(ctx, mcpserver.SampleQuestion("caption", &mcp.CreateMessageParams{
				MaxTokens: 100, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.Contents{mcp.Image([]byte("an image"), "image/png")}}},
			}, &said))
			return said.Content.Text(), err
		})
		srv.Tool("pay", "Pay", func(ctx context.Context, _ struct{}) (string, error) {
			return "paid", mcpserver.AskAll(ctx, mcpserver.ElicitURL("pay", "Please pay.", "https://xn--80ak6aa92e.com/pay"))
		})
	}
	if os.Getenv("SHOW_ROOTS") != "" {
		srv.Tool("where", "Show the roots", func(ctx context.Context, _ struct{}) (string, error) {
			var roots []mcp.Root
			err := mcpserver.AskAll(ctx, mcpserver.ListRoots("roots", &roots))
			var all []string
			for _, root := range roots {
				all = append(all, root.URI)
			}
			return strings.Join(all, " "), err
		})
	}
	srv.Resource("note://a", "A note", "text/plain", func(context.Context) ([]byte, error) { return []byte("a note\n"), nil })
	srv.Resource("note://bytes", "Bytes", "application/octet-stream", func(context.Context) ([]byte, error) { return []byte{0xff, 0x00}, nil })
	srv.Prompt("greet", "Greet somebody", func(_ context.Context, p person) ([]mcp.PromptMessage, error) {
		return []mcp.PromptMessage{mcpserver.UserMessage("Greet " + p.Name + ".")}, nil
	}, mcpserver.CompleteArg("name", func(context.Context, mcpserver.CompletionRequest) ([]string, error) {
		return []string{"Ada", "Alan"}, nil
	}))
	return srv
}
