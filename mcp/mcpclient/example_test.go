package mcpclient_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// airline is a server for the examples.
func airline() *mcpserver.Server {
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Resource("flights://AZ612", "AZ612", "text/plain", func(context.Context) ([]byte, error) { return []byte("A1"), nil })
	srv.Tool("board", "Boards a flight", func(ctx context.Context, _ struct{}) (string, error) {
		mcpserver.Log(ctx).Warn("a passenger is late", "seat", "4A")
		return "boarded", nil
	})
	return srv
}

// A client that answers the questions of tools. The form is checked against its schema before it is sent.
func ExampleConnect() {
	type seat struct {
		Row int `json:"row" min:"1" max:"40"`
	}
	srv := mcpserver.New("airline", "1.0.0", nil)
	srv.Tool("book", "Books a seat", func(ctx context.Context, _ struct{}) (string, error) {
		s, err := mcpserver.Ask[seat](ctx, "seat", "Which row?")
		return fmt.Sprintf("row %d is yours", s.Row), err
	})
	ctx := context.Background()
	// For other servers mcpclient.URL("https://…") or mcpclient.Command("program", "argument").
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), &mcpclient.Options{
		ElicitForm: func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			fmt.Println(p.Message) // a user would fill in p.RequestedSchema
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: jsontext.Value(`{"row": 4}`)}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	text, err := c.Call[string](ctx, "book", nil)
	fmt.Println(text, err)
	// Output:
	// Which row?
	// row 4 is yours <nil>
}

// What a user has filled in does not fit the form at first.
func ExampleCheckForm() {
	form := jsontext.Value(`{
		"type": "object",
		"properties": {"row": {"type": "integer", "maximum": 40}, "meal": {"type": "string", "default": "none"}},
		"required": ["row", "meal"]
	}`)
	fmt.Println(mcpclient.CheckForm(form, jsontext.Value(`{"row": 400}`)))
	fmt.Println(mcpclient.CheckForm(form, jsontext.Value(`{"row": 4}`)))
	// Output:
	// /row: want at most 40, got 400
	// <nil>
}

func ExampleClient_Watch() {
	ctx, srv := context.Background(), airline()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	times := 0
	for uri, err := range c.Watch(ctx, "flights://AZ612") {
		if err != nil {
			log.Fatal(err)
		}
		if times++; times == 2 {
			fmt.Println(uri, "has changed")
			break
		}
		srv.Updated("flights://AZ612")
	}
	// Output: flights://AZ612 has changed
}

// The server's messages in the program's own log: here those of one call, and with
// Options.OnLog those of all.
func ExampleLogTo() {
	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(airline()), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	write := mcpclient.LogTo(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: withoutTime})))
	text, err := c.Call[string](ctx, "board", nil, mcpclient.WithLog(func(m *mcp.LoggingMessageParams) { write(ctx, m) }))
	fmt.Println(text, err)
	// Output:
	// level=WARN msg="a passenger is late" seat=4A logger=airline
	// boarded <nil>
}

func withoutTime(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}

// The messages of one call, before the call returns.
func ExampleWithLog() {
	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(airline()), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	text, err := c.Call[string](ctx, "board", nil, mcpclient.WithLog(func(m *mcp.LoggingMessageParams) {
		fmt.Println(m.Level, string(m.Data))
	}))
	fmt.Println(text, err)
	// Output:
	// warning {"msg":"a passenger is late","seat":"4A"}
	// boarded <nil>
}
