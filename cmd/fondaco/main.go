// Fondaco connects MCP clients to many MCP servers through one endpoint. Run it with
// "help" for its commands.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/fondaco/fondaco/host/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so that a second signal ends the process at once
	m := &cli.Main{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Args: os.Args, Env: os.Environ(), Terminal: cli.IsTerminal(os.Stdout),
		Drawing:     cli.IsTerminal(os.Stderr),
		Interactive: cli.IsTerminal(os.Stdin) && cli.IsTerminal(os.Stderr),
	}
	os.Exit(m.Main(ctx))
}
