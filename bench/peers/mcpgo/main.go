// Command mcpgo is a server of github.com/mark3labs/mcp-go to be measured.
package main

import (
	"flag"
	"log"

	"github.com/mark3labs/mcp-go/server"

	"github.com/fondaco/fondaco/bench/internal/contest"
	"github.com/fondaco/fondaco/bench/peers/sdks"
)

func main() {
	c := contest.Flags()
	flag.Parse()
	s := sdks.MCPGo(c.Tools)
	if c.Mode == "stdio" {
		log.Fatal(server.ServeStdio(s))
	}
	h := server.NewStreamableHTTPServer(s, server.WithStateful(c.Era == "25"))
	log.Fatal(contest.Serve(c, h, func() {
		// Over HTTP this library notifies no client of one resource: a stream of the stateless
		// era receives list changes only, and a session receives every notification that is sent to all.
		if c.Era == "26" {
			s.SendNotificationToAllClients("notifications/tools/list_changed", nil)
			return
		}
		s.SendNotificationToAllClients("notifications/resources/updated", map[string]any{"uri": contest.Item})
	}))
}
