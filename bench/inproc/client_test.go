// Package inproc measures the client alone.
package inproc

import (
	"testing"

	"github.com/fondaco/fondaco/bench/internal/micro"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func BenchmarkClient(b *testing.B) {
	c, err := mcpclient.Connect(b.Context(), mcpclient.Stream(micro.NewCanned()), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	type echo struct {
		Text string `json:"text"`
	}
	micro.Client(b, "fondaco", func() (string, error) {
		return c.Call[string](b.Context(), "echo", echo{micro.Text})
	})
}
