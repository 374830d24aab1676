// Command gosdk is a server of github.com/modelcontextprotocol/go-sdk to be measured.
package main

import (
	"context"
	"flag"
	"log"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/bench/internal/contest"
	"github.com/fondaco/fondaco/bench/peers/sdks"
)

func main() {
	c := contest.Flags()
	maxMessage := flag.Int64("max-message", 0, "the limit of one message, in bytes, where a cell exceeds the default")
	flag.Parse()
	s := sdks.GoSDK(c.Tools)
	if c.Mode == "stdio" {
		log.Fatal(s.Run(context.Background(), &mcp.StdioTransport{}))
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		Stateless:           c.Era == "26",
		JSONResponse:        c.Resp == "json",
		MaxRequestBodyBytes: *maxMessage,
	})
	log.Fatal(contest.Serve(c, h, func() {
		s.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: contest.Item})
	}))
}
