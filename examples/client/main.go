// Client lists the features of a server, or calls one of its tools.
//
//	client [-tool NAME [-args JSON]] URL|COMMAND [ARG...]
package main

import (
	"context"
	"encoding/json/jsontext"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func main() {
	log.SetFlags(0)
	tool := flag.String("tool", "", "call the tool of this `name`")
	args := flag.String("args", "{}", "its arguments, as `JSON`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, flag.Args(), *tool, jsontext.Value(*args)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, server []string, tool string, args jsontext.Value) error {
	if len(server) == 0 {
		return fmt.Errorf("want the URL of a server, or a command that starts one")
	}
	c, err := mcpclient.Connect(ctx, target(server), &mcpclient.Options{OnLog: showLog})
	if err != nil {
		return err
	}
	defer c.Close()
	if tool == "" {
		return show(ctx, c)
	}
	return call(ctx, c, tool, args)
}

func target(server []string) mcpclient.Target {
	if strings.HasPrefix(server[0], "http://") || strings.HasPrefix(server[0], "https://") {
		return mcpclient.URL(server[0])
	}
	return mcpclient.Command(server[0], server[1:]...)
}

func show(ctx context.Context, c *mcpclient.Client) error {
	fmt.Printf("%s %s speaks %s\n", c.Server().DisplayName(), c.Server().Version, c.Revision())
	for t, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("tool      %s: %s\n", t.Name, t.Description)
	}
	for r, err := range c.Resources(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("resource  %s: %s\n", r.URI, r.DisplayName())
	}
	for p, err := range c.Prompts(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("prompt    %s: %s\n", p.Name, p.Description)
	}
	return nil
}

func call(ctx context.Context, c *mcpclient.Client, tool string, args jsontext.Value) error {
	text, err := c.Call[string](ctx, tool, args, mcpclient.WithProgress(showProgress))
	if err != nil {
		return err
	}
	fmt.Println(text)
	return nil
}

func showProgress(p mcp.ProgressParams) {
	fmt.Fprintf(os.Stderr, "%v of %v %s\n", p.Progress, p.Total, p.Message)
}

func showLog(_ context.Context, m *mcp.LoggingMessageParams) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", m.Level, m.Data)
}
