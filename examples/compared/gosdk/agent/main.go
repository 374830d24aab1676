// Agent has a model use the tools of several servers, NAME=COMMAND each, until it answers.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/examples/compared/app/model"
)

func decline(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: "decline"}, nil
}

// text returns contents as the text for the model.
func text(contents []mcp.Content) string {
	var all []string
	for _, c := range contents {
		switch c := c.(type) {
		case *mcp.TextContent:
			all = append(all, c.Text)
		case *mcp.EmbeddedResource:
			all = append(all, c.Resource.Text)
		case *mcp.ResourceLink:
			all = append(all, c.URI)
		}
	}
	return strings.Join(all, "\n")
}

// tool is a tool of a server.
type tool struct {
	session *mcp.ClientSession
	name    string
}

// agent has sessions with servers, and their tools by names that are unique.
type agent struct {
	sessions []*mcp.ClientSession
	byName   map[string]tool
	tools    []model.Tool
}

func (a *agent) connect(ctx context.Context, name, command string) error {
	c := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1.0.0"}, &mcp.ClientOptions{ElicitationHandler: decline})
	session, err := c.Connect(ctx, &mcp.CommandTransport{Command: exec.Command(command)}, nil)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	a.sessions = append(a.sessions, session)
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		unique := name + "__" + t.Name
		a.byName[unique] = tool{session, t.Name}
		a.tools = append(a.tools, model.Tool{Name: unique, Description: t.Description, InputSchema: t.InputSchema})
	}
	return nil
}

func (a *agent) close() {
	for _, s := range a.sessions {
		s.Close()
	}
}

func (a *agent) call(ctx context.Context, use model.Block) model.Block {
	t, ok := a.byName[use.Name]
	if !ok {
		return use.Result("there is no such tool", true)
	}
	r, err := t.session.CallTool(ctx, &mcp.CallToolParams{Name: t.name, Arguments: use.Input})
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
