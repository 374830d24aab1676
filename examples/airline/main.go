// Airline is an example server with most features: tools with structured results,
// resources that change, a resource template and a prompt, both with completion.
package main

import (
	"context"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func main() {
	line := newAirline()
	srv := mcpserver.New("airline", "1.0.0", &mcpserver.Options{Instructions: "Look a flight up before you book it."})
	srv.Tool("status", "Status of a flight", line.status, mcpserver.ReadOnly(), mcpserver.ClosedWorld())
	srv.Tool("book", "Book seats on a flight", func(ctx context.Context, in booking) (receipt, error) {
		r, err := line.book(ctx, in)
		if err == nil {
			srv.Updated("flights://" + in.Number)
		}
		return r, err
	}, mcpserver.NonDestructive(), mcpserver.ClosedWorld())
	srv.Resource("flights://all", "All flights", "application/json", line.all)
	srv.Template("flights://{number}", "A flight", "application/json", line.one,
		mcpserver.CompleteArg("number", mcpserver.Prefix(line.numbers()...)))
	srv.Prompt("plan", "Plan a trip", plan,
		mcpserver.CompleteArg("from", mcpserver.Fuzzy(airports...)), mcpserver.CompleteArg("to", mcpserver.Fuzzy(airports...)))
	mcpserver.Main(srv)
}

var airports = []string{"Bergen", "Oslo", "Palermo", "Turin", "Venice"}

type flight struct {
	Number string `json:"number" doc:"flight number such as AZ612" pattern:"^[A-Z]{2}[0-9]{1,4}$"`
}

type booking struct {
	Number string `json:"number" doc:"flight number such as AZ612" pattern:"^[A-Z]{2}[0-9]{1,4}$"`
	Seats  int    `json:"seats" doc:"how many" min:"1" max:"9" default:"1"`
	Class  string `json:"class" enum:"economy|business" default:"economy"`
}

type receipt struct {
	Reference string `json:"reference"`
	Class     string `json:"class"`
	Flight    status `json:"flight" doc:"the flight after the booking"`
}

func (a *airline) status(_ context.Context, in flight) (status, error) { return a.find(in.Number) }

func (a *airline) book(_ context.Context, in booking) (receipt, error) {
	s, err := a.take(in.Number, in.Seats)
	return receipt{fmt.Sprintf("%s-%d", in.Number, s.Seats), in.Class, s}, err
}

func (a *airline) all(context.Context) ([]byte, error) { return json.Marshal(a.list()) }

// one reads a flight. Its URI is the one that a booking updates.
func (a *airline) one(_ context.Context, in flight) ([]byte, error) {
	s, err := a.find(in.Number)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", mcpserver.ErrNotFound, err)
	}
	return json.Marshal(s)
}

type trip struct {
	From string `json:"from" doc:"where it begins"`
	To   string `json:"to" doc:"where it leads"`
	Days int    `json:"days,omitzero" min:"1"`
}

func plan(_ context.Context, in trip) ([]mcp.PromptMessage, error) {
	text := fmt.Sprintf("Plan a trip from %s to %s. Use the tool status for flights.", in.From, in.To)
	if in.Days > 0 {
		text += fmt.Sprintf(" It may take %d days.", in.Days)
	}
	return []mcp.PromptMessage{mcpserver.UserMessage(text)}, nil
}
