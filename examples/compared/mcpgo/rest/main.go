// Rest is a server whose tools call a REST API.
package main

import (
	"context"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/fondaco/fondaco/examples/compared/app/tickets"
)

type one struct {
	ID int `json:"id"`
}

type draft struct {
	Title string `json:"title"`
}

type list struct {
	Tickets []tickets.Ticket `json:"tickets"`
}

func main() {
	api := &tickets.Client{Base: os.Getenv("TICKETS_URL"), Token: os.Getenv("TICKETS_TOKEN")}
	srv := server.NewMCPServer("tickets", "1.0.0", server.WithInputSchemaValidation())
	srv.AddTool(mcp.NewTool("get_ticket", mcp.WithDescription("Shows a ticket"), mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithInteger("id", mcp.Required(), mcp.Description("number of a ticket"), mcp.Min(1)),
		mcp.WithOutputSchema[tickets.Ticket](),
	), mcp.NewStructuredToolHandler(func(ctx context.Context, _ mcp.CallToolRequest, in one) (tickets.Ticket, error) {
		return api.Get(ctx, in.ID)
	}))
	srv.AddTool(mcp.NewTool("list_tickets", mcp.WithDescription("Lists tickets"), mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithString("state", mcp.Enum("open", "closed"), mcp.DefaultString("open")),
		mcp.WithInteger("limit", mcp.Description("how many at most"), mcp.Min(1), mcp.Max(50), mcp.DefaultNumber(10)),
		mcp.WithOutputSchema[list](),
	), mcp.NewStructuredToolHandler(func(ctx context.Context, req mcp.CallToolRequest, _ struct{}) (list, error) {
		all, err := api.List(ctx, req.GetString("state", "open"), req.GetInt("limit", 10))
		return list{all}, err
	}))
	srv.AddTool(mcp.NewTool("create_ticket", mcp.WithDescription("Makes a ticket"), mcp.WithDestructiveHintAnnotation(false),
		mcp.WithString("title", mcp.Required(), mcp.Description("a title of one line"), mcp.MinLength(1)),
		mcp.WithOutputSchema[tickets.Ticket](),
	), mcp.NewStructuredToolHandler(func(ctx context.Context, _ mcp.CallToolRequest, in draft) (tickets.Ticket, error) {
		return api.Create(ctx, in.Title)
	}))
	if err := server.ServeStdio(srv); err != nil {
		log.Fatal(err)
	}
}
