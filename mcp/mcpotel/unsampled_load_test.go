//go:build load && !race

package mcpotel_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpotel"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// maxUnsampled is what the telemetry of one side may add to a call that is not sampled.
const maxUnsampled = time.Microsecond

// fastest returns what one run takes in the fastest of many turns.
func fastest(run func()) time.Duration {
	const turns, runs = 100, 1000
	shortest := time.Hour
	for range turns {
		begun := time.Now()
		for range runs {
			run()
		}
		shortest = min(shortest, time.Since(begun)/runs)
	}
	return shortest
}

// A failure here means that calls of servers and clients with telemetry cost more than docs/telemetry.md says.
func TestLoadUnsampledCall(t *testing.T) {
	took := make(map[string]time.Duration)
	for name, options := range map[string]func() *mcpotel.Options{"not sampled": unsampled, "without an SDK": none} {
		atServer := mcpotel.Server(&mcpserver.Options{Logger: quiet}, options())
		wrapServer := atServer.Middleware[0]
		atServer.Middleware = []mcpserver.Middleware{func(next mcpserver.Handler) mcpserver.Handler {
			alone := wrapServer(func(context.Context, *mcpserver.Request) (any, error) { return (*mcp.CallToolResult)(nil), nil })
			return func(ctx context.Context, r *mcpserver.Request) (any, error) {
				if r.Method() == mcp.MethodToolsCall {
					took["server, "+name] = fastest(func() { _, _ = alone(ctx, r) })
				}
				return next(ctx, r)
			}
		}}
		atClient := mcpotel.Client(&mcpclient.Options{Logger: quiet}, options())
		wrapClient := atClient.Middleware[0]
		atClient.Middleware = []mcpclient.Middleware{func(next mcpclient.Handler) mcpclient.Handler {
			alone := wrapClient(func(context.Context, *mcpclient.Request) (any, error) { return (*mcp.CallToolResult)(nil), nil })
			return func(ctx context.Context, r *mcpclient.Request) (any, error) {
				if r.Method == mcp.MethodToolsCall {
					took["client, "+name] = fastest(func() { _, _ = alone(ctx, r) })
				}
				return next(ctx, r)
			}
		}}
		s := mcpserver.New("weather", "1.0.0", atServer)
		s.Tool("forecast", "Forecast for a city.", func(_ context.Context, in city) (string, error) { return in.City, nil })
		c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), atClient)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.CallTool(t.Context(), "forecast", city{"Rome"}); err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	t.Attr("verdict", fmt.Sprintf("load: telemetry adds to a call: %v", took))
	for name, d := range took {
		t.Logf("%s: %v", name, d)
		if d > maxUnsampled {
			t.Errorf("%s: got %v, want at most %v", name, d, maxUnsampled)
		}
	}
	if len(took) != 4 {
		t.Errorf("got %v, want both sides", took)
	}
}
