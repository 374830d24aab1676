//go:build load

package mcpserver_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// The last word of a subscription would take a second, each time.
func TestLoadSubscriptionDoesNotDelayTheEndOfTheProcess(t *testing.T) {
	shortest := time.Hour
	for range 3 {
		target := mcpclient.Command(os.Args[0])
		target.Env = map[string]string{mainEnv: "1", "GORACE": "atexit_sleep_ms=0"}
		c, err := mcpclient.Connect(t.Context(), target, &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20260728}, OnToolsChanged: func(context.Context, *mcpclient.Client) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		shortest = min(shortest, time.Since(begun))
	}
	if shortest > 900*time.Millisecond {
		t.Errorf("closing took %v at least, want no wait for the last word of a subscription", shortest)
	}
}
