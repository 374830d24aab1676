package gateway_test

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
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
	for {
		raw, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		if m.ID == nil {
			continue
		}
		answer := `"result":{}`
		switch m.Method {
		case mcp.MethodDiscover:
			answer = `"error":{"code":-32601,"message":"no"}`
		case mcp.MethodInitialize:
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		case mcp.MethodToolsList:
			answer = `"result":{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`
		case mcp.MethodToolsCall:
			answer = `"result":{"structuredContent":{"value":NaN}}`
		}
		if err := conn.Write(ctx, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,%s}`, m.ID, answer)); err != nil {
			return err
		}
	}
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
		if err != nil || !result.IsError || !strings.Contains(result.Content.Text(), "not strict JSON") {
			t.Errorf("got %+v, %v, want an error that says what the upstream has sent", result, err)
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
