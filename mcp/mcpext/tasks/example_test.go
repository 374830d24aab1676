package tasks_test

import (
	"context"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type year struct {
	Year int `json:"year"`
}

type confirmed struct {
	Yes bool `json:"yes"`
}

// A tool becomes a task by one option. It may ask, and tells how far it is.
func Example() {
	srv := mcpserver.New("accounts", "1.0.0", nil)
	work := tasks.Enable(srv, &tasks.Options{Poll: 20 * time.Millisecond, Logger: quiet})
	srv.Tool("report", "Makes the yearly report", func(ctx context.Context, in year) (string, error) {
		mcpserver.Progress(ctx, 1, 2, "adding up")
		return fmt.Sprintf("report of %d", in.Year), nil
	}, work.AsTask())

	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), &mcpclient.Options{
		Extensions: []mcpclient.Extension{tasks.Client(nil)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	text, err := c.Call[string](ctx, "report", year{2025}) // polls, if need be
	fmt.Println(text, err)
	// Output: report of 2025 <nil>
}

// A handle can be kept, also by its id alone.
func ExampleCall() {
	srv := mcpserver.New("accounts", "1.0.0", nil)
	work := tasks.Enable(srv, &tasks.Options{Poll: 20 * time.Millisecond, Logger: quiet})
	srv.Tool("close", "Closes a year", func(ctx context.Context, in year) (string, error) {
		answer, err := mcpserver.Ask[confirmed](ctx, "sure", fmt.Sprintf("Close %d for good?", in.Year))
		if err != nil || !answer.Yes {
			return "left open", err
		}
		return "closed", nil
	}, work.AsTask())

	ctx := context.Background()
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(srv), &mcpclient.Options{
		Extensions: []mcpclient.Extension{tasks.Client(nil)},
		ElicitForm: sayYes,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	h, err := tasks.Call(ctx, c, "close", year{2025})
	if err != nil {
		fmt.Println(err)
		return
	}
	id := h.ID() // to be kept until tomorrow
	result, err := tasks.Resume(c, id).Wait(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content.Text())
	// Output: closed
}
