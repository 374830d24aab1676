package mcpware_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMain(m *testing.M) { leak.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

type number struct {
	N int `json:"n"`
}

// server returns one with a tool.
func server[Out any](tool func(context.Context, number) (Out, error), opts ...mcpserver.ToolOption) *mcpserver.Server {
	s := mcpserver.New("s", "1", &mcpserver.Options{Logger: quiet})
	s.Tool("tool", "A tool", tool, opts...)
	return s
}

func connect(t *testing.T, s *mcpserver.Server) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), &mcpclient.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// failing returns middleware of a client that fails with the errors, one after the
// other, in place of sending tools/call, and counts.
func failing(count *int, errs ...error) mcpclient.Middleware {
	return func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (any, error) {
			if r.Method != "tools/call" {
				return next(ctx, r)
			}
			*count++
			if len(errs) >= *count && errs[*count-1] != nil {
				return nil, errs[*count-1]
			}
			return next(ctx, r)
		}
	}
}
