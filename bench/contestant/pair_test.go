package main

import (
	"testing"

	"github.com/fondaco/fondaco/bench/internal/micro"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// BenchmarkPair measures client and server together, in memory.
func BenchmarkPair(b *testing.B) {
	c, err := mcpclient.Connect(b.Context(), mcpclient.InProcess(newServer(0, 0, "json")), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	micro.Client(b, "fondaco", func() (string, error) {
		return c.Call[string](b.Context(), "echo", text{micro.Text})
	})
}
