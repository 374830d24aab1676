package gateway_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// serveMalformed is a server of 2025-11-25 whose tool answers with what is not JSON.
func serveMalformed(ctx context.Context, conn mcp.Conn) error {
	return serveRaw(ctx, conn, func(_ rawConn, m rawMessage) string {
		switch m.Method {
		case mcp.MethodToolsList:
			return oneRawTool
		case mcp.MethodToolsCall:
			return `"result":{"structuredContent":{"value":NaN}}`
		}
		return ""
	})
}

func TestMalformedResultOfAnUpstreamFailsItsCallAndIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		log := slog.New(slog.NewTextHandler(&lines, nil))
		g := gateway.New([]host.Upstream{{Key: "broken", Target: mcpclient.InProcess(serverFunc(serveMalformed))}}, &gateway.Options{Logger: log})
		g.Start(t.Context())
		c := mcptest.Connect(t, g.Server(), &mcpclient.Options{Logger: quiet})
		began := time.Now()
		result, err := c.CallTool(t.Context(), "broken__go", nil)
		if err != nil || !result.IsError || !strings.Contains(result.Content.Text(), "invalid response (incident ") {
			t.Errorf("got %+v, %v, want an error that says what is wrong", result, err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the call took %v", took)
		}
		g.Close()
		synctest.Wait()
		if got := lines.String(); !strings.Contains(got, "violates the protocol") || !strings.Contains(got, "upstream=broken") || !strings.Contains(got, "not strict JSON") {
			t.Errorf("got the log %s, want the upstream and what it has sent", got)
		}
	})
}
