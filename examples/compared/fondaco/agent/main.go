// Agent has a model use the tools of several servers, NAME=COMMAND each, until it answers.
package main

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/fondaco/fondaco/examples/compared/app/model"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpmodel"
)

// api is the format of the model's API.
var api = mcpmodel.Anthropic

func decline(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
}

// call calls the tools that the model uses, at the same time.
func call(ctx context.Context, g *mcpclient.Group, uses []mcpmodel.Call) []jsontext.Value {
	var calls []mcpclient.GroupCall
	for _, u := range uses {
		calls = append(calls, mcpclient.GroupCall{Tool: u.Name, Args: u.Arguments})
	}
	var results []mcpmodel.Result
	for i, r := range g.CallAll(ctx, calls) {
		results = append(results, uses[i].Result(r.Result, r.Err))
	}
	return api.Results(results...)
}

func run(ctx context.Context, question string, servers []string) error {
	g := new(mcpclient.Group)
	defer g.Close()
	for _, s := range servers {
		name, command, _ := strings.Cut(s, "=")
		m := mcpclient.Member{Name: name, Target: mcpclient.Command(command), Options: &mcpclient.Options{ElicitForm: decline}}
		if err := g.Connect(ctx, m); err != nil {
			return err
		}
	}
	listed, err := g.Tools(ctx)
	if err != nil {
		return err
	}
	tools, err := api.Tools(listed)
	if err != nil {
		return err
	}
	messages := []jsontext.Value{api.User(mcp.Text(question))}
	for range 10 {
		response, err := model.Post(ctx, tools, messages)
		if err != nil {
			return err
		}
		turn, err := tools.Turn(response)
		if err != nil {
			return err
		}
		if len(turn.Calls) == 0 {
			fmt.Println(turn.Text)
			return nil
		}
		messages = append(messages, turn.Messages...)
		messages = append(messages, call(ctx, g, turn.Calls)...)
	}
	return fmt.Errorf("no answer after 10 turns")
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}
