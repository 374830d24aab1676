// Command contestant is a Fondaco server for the benchmarks: tools with plain Go
// types, default options, and in addition the HTTP hooks by which the benchmarks
// measure the process.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/fondaco/fondaco/bench/internal/contest"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func main() {
	c := contest.Flags() // the era is ignored: the server serves both
	maxMessage := flag.Int("max-message", 0, "the limit of one message, in bytes, where a cell exceeds the default")
	flag.Parse()
	log.SetPrefix("contestant: ")
	s := newServer(c.Tools, *maxMessage, c.Resp)
	if err := s.serve(c); err != nil {
		log.Fatal(err)
	}
}

type server struct{ *mcpserver.Server }

func newServer(tools, maxMessage int, resp string) server {
	o := &mcpserver.Options{
		PageSize:  max(1000, tools+10),
		MaxBody:   int64(maxMessage),
		MaxFrame:  maxMessage,
		MaxResult: maxMessage,
		HTTP:      new(mcpserver.HTTPOptions),
	}
	if resp == "sse" {
		o.HTTP.ResponseMode = mcpserver.ResponseStream
	}
	s := mcpserver.New("contestant", "1.0.0", o)
	s.Tool("echo", "Returns its argument.", echo)
	s.Tool("add", "Adds two numbers.", add)
	s.Tool("big", "Returns 100 KiB of text.", big)
	for i := range tools {
		s.Tool(contest.ToolName(i), contest.ToolDescription(i), look)
	}
	s.Resource(contest.Item, "item", "text/plain", func(context.Context) ([]byte, error) { return []byte("x"), nil })
	return server{s}
}

type text struct {
	Text string `json:"text"`
}

func echo(_ context.Context, in text) (string, error) { return in.Text, nil }

type pair struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

type total struct {
	Sum float64 `json:"sum"`
}

func add(_ context.Context, in pair) (total, error) { return total{in.A + in.B}, nil }

func big(context.Context, struct{}) (mcp.Content, error) {
	return mcp.Text(contest.Big()), nil
}

type query struct {
	Query string `json:"query" doc:"The text to look for."`
	Limit int    `json:"limit,omitzero" doc:"At most this many records." min:"1" max:"100"`
	Exact bool   `json:"exact,omitzero" doc:"Whether to match exactly."`
}

func look(context.Context, query) (string, error) { return "ok", nil }

func (s server) serve(c *contest.Config) error {
	if c.Mode == "stdio" {
		return s.Run(context.Background())
	}
	l, err := contest.Listen(c)
	if err != nil {
		return err
	}
	h := contest.Handler(s.HTTPHandler(), func() { s.Updated(contest.Item) })
	return s.ServeListener(context.Background(), l, h)
}
