package main

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"iter"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// scenarios has the actions of each of the suite's scenarios.
var scenarios = map[string]func(context.Context, *mcpclient.Client) error{
	"initialize":                          listTools,
	"tools_call":                          addNumbers,
	"elicitation-sep1034-client-defaults": callEach("test_client_elicitation_defaults"),
	"sse-retry":                           callEach("test_reconnection"),
	"request-metadata":                    listTools,
	"sep-2322-client-request-state": callEach(
		"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"),
	"http-standard-headers":            useEverything,
	"http-custom-headers":              callAsGiven,
	"http-invalid-tool-headers":        callAllListed,
	"json-schema-ref-no-deref":         listTools,
	"json-schema-2020-12-preservation": echoSchema,

	"sep-2640-client-no-prefetch":        listSkills,
	"sep-2640-client-verify-digest":      useSkills,
	"sep-2640-client-verify-size":        useSkills,
	"sep-2640-client-verify-frontmatter": useSkills,
}

func listTools(ctx context.Context, c *mcpclient.Client) error {
	_, err := collect(c.Tools(ctx))
	return err
}

func addNumbers(ctx context.Context, c *mcpclient.Client) error {
	if err := listTools(ctx, c); err != nil {
		return err
	}
	return call(ctx, c, "add_numbers", map[string]any{"a": 5, "b": 3})
}

// callEach calls tools one after the other, without arguments.
func callEach(names ...string) func(context.Context, *mcpclient.Client) error {
	return func(ctx context.Context, c *mcpclient.Client) error {
		if err := listTools(ctx, c); err != nil {
			return err
		}
		for _, name := range names {
			if err := call(ctx, c, name, nil); err != nil {
				return err
			}
		}
		return nil
	}
}

// useProtected uses a server that requires authorization.
func useProtected(ctx context.Context, c *mcpclient.Client) error {
	return callEach("test-tool")(ctx, c)
}

// useEverything lists all features and uses the first of each kind.
func useEverything(ctx context.Context, c *mcpclient.Client) error {
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		if err := call(ctx, c, tool.Name, nil); err != nil {
			return err
		}
		break
	}
	for resource, err := range c.Resources(ctx) {
		if err != nil {
			return err
		}
		if _, err := c.ReadResource(ctx, resource.URI); err != nil {
			return err
		}
		break
	}
	for prompt, err := range c.Prompts(ctx) {
		if err != nil {
			return err
		}
		if _, err := c.GetPrompt(ctx, prompt.Name, nil); err != nil {
			return err
		}
		break
	}
	return nil
}

// callAsGiven makes the calls in the suite's data.
func callAsGiven(ctx context.Context, c *mcpclient.Client) error {
	var wanted struct {
		ToolCalls []struct {
			Name      string         `json:"name"`
			Arguments jsontext.Value `json:"arguments"`
		} `json:"toolCalls"`
	}
	if err := json.Unmarshal(given(), &wanted); err != nil {
		return fmt.Errorf("context of the scenario: %w", err)
	}
	if err := listTools(ctx, c); err != nil {
		return err
	}
	for _, w := range wanted.ToolCalls {
		if err := call(ctx, c, w.Name, w.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// callAllListed calls every tool of the list.
func callAllListed(ctx context.Context, c *mcpclient.Client) error {
	tools, err := collect(c.Tools(ctx))
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if err := call(ctx, c, tool.Name, map[string]any{"region": "us-west1"}); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema sends the received input schema of one tool to another.
func echoSchema(ctx context.Context, c *mcpclient.Client) error {
	tools, err := collect(c.Tools(ctx))
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if tool.Name == "json_schema_2020_12_tool" {
			return call(ctx, c, "json_schema_echo", map[string]any{"schema": tool.InputSchema})
		}
	}
	return fmt.Errorf("json_schema_2020_12_tool is not among the %d tools", len(tools))
}

// call calls a tool. A result with isError is an error.
func call(ctx context.Context, c *mcpclient.Client, name string, args any) error {
	_, err := c.Call[mcp.Contents](ctx, name, args)
	return err
}

// collect returns all items of a list.
func collect[T any](list iter.Seq2[T, error]) (all []T, err error) {
	for item, err := range list {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}
