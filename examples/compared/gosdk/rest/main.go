// Rest is a server whose tools call a REST API.
package main

import (
	"context"
	"encoding/json/jsontext"
	"log"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/examples/compared/app/tickets"
)

type one struct {
	ID int `json:"id" jsonschema:"number of a ticket"`
}

type many struct {
	State string `json:"state,omitempty"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many at most"`
}

type draft struct {
	Title string `json:"title" jsonschema:"a title of one line"`
}

type list struct {
	Tickets []tickets.Ticket `json:"tickets"`
}

// schema infers a schema and adds what tags cannot say.
func schema[T any](add func(properties map[string]*jsonschema.Schema)) *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		log.Fatal(err)
	}
	add(s.Properties)
	return s
}

func main() {
	api := &tickets.Client{Base: os.Getenv("TICKETS_URL"), Token: os.Getenv("TICKETS_TOKEN")}
	srv := mcp.NewServer(&mcp.Implementation{Name: "tickets", Version: "1.0.0"}, nil)
	readOnly, destructive := &mcp.ToolAnnotations{ReadOnlyHint: true}, false
	mcp.AddTool(srv, &mcp.Tool{
		Name: "get_ticket", Description: "Shows a ticket", Annotations: readOnly,
		InputSchema: schema[one](func(p map[string]*jsonschema.Schema) { p["id"].Minimum = jsonschema.Ptr(1.0) }),
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in one) (*mcp.CallToolResult, tickets.Ticket, error) {
		t, err := api.Get(ctx, in.ID)
		return nil, t, err
	})
	mcp.AddTool(srv, &mcp.Tool{
		Name: "list_tickets", Description: "Lists tickets", Annotations: readOnly,
		InputSchema: schema[many](func(p map[string]*jsonschema.Schema) {
			p["state"].Enum, p["state"].Default = []any{"open", "closed"}, jsontext.Value(`"open"`)
			p["limit"].Minimum, p["limit"].Maximum, p["limit"].Default = jsonschema.Ptr(1.0), jsonschema.Ptr(50.0), jsontext.Value("10")
		}),
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in many) (*mcp.CallToolResult, list, error) {
		all, err := api.List(ctx, in.State, in.Limit)
		return nil, list{all}, err
	})
	mcp.AddTool(srv, &mcp.Tool{
		Name: "create_ticket", Description: "Makes a ticket", Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive},
		InputSchema: schema[draft](func(p map[string]*jsonschema.Schema) { p["title"].MinLength = jsonschema.Ptr(1) }),
	}, func(ctx context.Context, _ *mcp.CallToolRequest, in draft) (*mcp.CallToolResult, tickets.Ticket, error) {
		t, err := api.Create(ctx, in.Title)
		return nil, t, err
	})
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
