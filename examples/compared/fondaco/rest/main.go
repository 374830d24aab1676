// Rest is a server whose tools call a REST API.
package main

import (
	"context"
	"os"

	"github.com/fondaco/fondaco/examples/compared/app/tickets"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type one struct {
	ID int `json:"id" doc:"number of a ticket" min:"1"`
}

type many struct {
	State string `json:"state,omitzero" enum:"open|closed" default:"open"`
	Limit int    `json:"limit,omitzero" doc:"how many at most" min:"1" max:"50" default:"10"`
}

type draft struct {
	Title string `json:"title" doc:"a title of one line" minlen:"1"`
}

type list struct {
	Tickets []tickets.Ticket `json:"tickets"`
}

func main() {
	api := &tickets.Client{Base: os.Getenv("TICKETS_URL"), Token: os.Getenv("TICKETS_TOKEN")}
	srv := mcpserver.New("tickets", "1.0.0", nil)
	srv.Tool("get_ticket", "Shows a ticket", func(ctx context.Context, in one) (tickets.Ticket, error) {
		return api.Get(ctx, in.ID)
	}, mcpserver.ReadOnly())
	srv.Tool("list_tickets", "Lists tickets", func(ctx context.Context, in many) (list, error) {
		all, err := api.List(ctx, in.State, in.Limit)
		return list{all}, err
	}, mcpserver.ReadOnly())
	srv.Tool("create_ticket", "Makes a ticket", func(ctx context.Context, in draft) (tickets.Ticket, error) {
		return api.Create(ctx, in.Title)
	}, mcpserver.NonDestructive())
	mcpserver.Main(srv)
}
