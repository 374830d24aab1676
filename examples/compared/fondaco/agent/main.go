// Agent has a model use the tools of several servers, NAME=COMMAND each, until it answers.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/fondaco/fondaco/examples/compared/app/model"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func decline(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
}

// text returns contents as the text for the model.
func text(contents mcp.Contents) string {
	var all []string
	for _, c := range contents {
		switch c := c.(type) {
		case mcp.TextContent:
			all = append(all, c.Text)
		case mcp.EmbeddedResource:
			all = append(all, c.Resource.Text)
		case mcp.ResourceLink:
			all = append(all, c.URI)
		}
	}
	return strings.Join(all, "\n")
}

// call calls the tools that the model uses, at the same time.
func call(ctx context.Context, g *mcpclient.Group, uses []model.Block) model.Message {
	calls := make([]mcpclient.GroupCall, len(uses))
	for i, u := range uses {
		calls[i] = mcpclient.GroupCall{Tool: u.Name, Args: u.Input}
	}
	results := model.Message{Role: "user"}
	for i, r := range g.CallAll(ctx, calls) {
		if r.Err != nil {
			results.Content = append(results.Content, uses[i].Result(r.Err.Error(), true))
			continue
		}
		results.Content = append(results.Content, uses[i].Result(text(r.Result.Content), r.Result.IsError))
	}
	return results
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
	var tools []model.Tool
	for _, t := range listed {
		tools = append(tools, model.Tool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema})
	}
	messages := []model.Message{model.Text(question)}
	for range 10 {
		next, uses, err := model.Ask(ctx, tools, messages)
		if err != nil {
			return err
		}
		if len(uses) == 0 {
			fmt.Println(next.Content[0].Text)
			return nil
		}
		messages = append(messages, next, call(ctx, g, uses))
	}
	return fmt.Errorf("no answer after 10 turns")
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}
