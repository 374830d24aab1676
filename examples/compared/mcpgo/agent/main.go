// Agent has a model use the tools of several servers, NAME=COMMAND each, until it answers.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/fondaco/fondaco/examples/compared/app/model"
)

type user struct{}

func (user) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionDecline}}, nil
}

// text returns contents as the text for the model.
func text(contents []mcp.Content) string {
	var all []string
	for _, c := range contents {
		switch c := c.(type) {
		case mcp.TextContent:
			all = append(all, c.Text)
		case mcp.EmbeddedResource:
			if r, ok := c.Resource.(mcp.TextResourceContents); ok {
				all = append(all, r.Text)
			}
		case mcp.ResourceLink:
			all = append(all, c.URI)
		}
	}
	return strings.Join(all, "\n")
}

// tool is a tool of a server.
type tool struct {
	client *client.Client
	name   string
}

// agent has clients of servers, and their tools by names that are unique.
type agent struct {
	clients []*client.Client
	byName  map[string]tool
	tools   []model.Tool
}

func (a *agent) connect(ctx context.Context, name, command string) error {
	c := client.NewClient(transport.NewStdio(command, nil), client.WithElicitationHandler(user{}))
	if err := c.Start(ctx); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.clients = append(a.clients, c)
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "agent", Version: "1.0.0"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	listed, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, t := range listed.Tools {
		unique := name + "__" + t.Name
		a.byName[unique] = tool{c, t.Name}
		a.tools = append(a.tools, model.Tool{Name: unique, Description: t.Description, InputSchema: t.InputSchema})
	}
	return nil
}

func (a *agent) close() {
	for _, c := range a.clients {
		c.Close()
	}
}

func (a *agent) call(ctx context.Context, use model.Block) model.Block {
	t, ok := a.byName[use.Name]
	if !ok {
		return use.Result("there is no such tool", true)
	}
	req := mcp.CallToolRequest{}
	req.Params.Name, req.Params.Arguments = t.name, use.Input
	r, err := t.client.CallTool(ctx, req)
	if err != nil {
		return use.Result(err.Error(), true)
	}
	return use.Result(text(r.Content), r.IsError)
}

// callAll calls the tools that the model uses, at the same time.
func (a *agent) callAll(ctx context.Context, uses []model.Block) model.Message {
	results := make([]model.Block, len(uses))
	var calls sync.WaitGroup
	for i, u := range uses {
		calls.Go(func() { results[i] = a.call(ctx, u) })
	}
	calls.Wait()
	return model.Message{Role: "user", Content: results}
}

func run(ctx context.Context, question string, servers []string) error {
	a := &agent{byName: map[string]tool{}}
	defer a.close()
	for _, s := range servers {
		name, command, _ := strings.Cut(s, "=")
		if err := a.connect(ctx, name, command); err != nil {
			return err
		}
	}
	messages := []model.Message{model.Text(question)}
	for range 10 {
		next, uses, err := model.Ask(ctx, a.tools, messages)
		if err != nil {
			return err
		}
		if len(uses) == 0 {
			fmt.Println(next.Content[0].Text)
			return nil
		}
		messages = append(messages, next, a.callAll(ctx, uses))
	}
	return fmt.Errorf("no answer after 10 turns")
}

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2:]); err != nil {
		log.Fatal(err)
	}
}
