// Fondaco connects MCP clients to many MCP servers through one endpoint. Run it with
// "help" for its commands.
package main

import (
	"os"

	"github.com/fondaco/fondaco/host/cli"
)

func main() { os.Exit(cli.RunProcess()) }
