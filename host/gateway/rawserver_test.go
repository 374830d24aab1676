package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// serveLate is a server of 2025-11-25 that never answers its first call, asks in it
// when there is a second one, and answers that one when it has its answer.
func serveLate(ctx context.Context, conn mcp.Conn) error {
	calls, second := 0, jsontext.Value(nil)
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
		result := `{}`
		switch m.Method {
		case "server/discover":
			err = conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32601,"message":"no"}}`))
			m.ID = nil
		case mcp.MethodInitialize:
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		case mcp.MethodToolsList:
			result = `{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`
		case mcp.MethodToolsCall:
			if calls++; calls == 1 {
				m.ID = nil
				break
			}
			err = conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":"late","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}`))
			m.ID, second = nil, m.ID
		case "":
			m.ID, result = second, `{"content":[{"type":"text","text":"gone"}]}`
		}
		if err == nil && m.ID != nil {
			err = conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`))
		}
		if err != nil {
			return err
		}
	}
}

type jsonValue = jsontext.Value

// serveRoots is a server of 2025-11-25 that asks for the roots as soon as it was
// told that it may, and does not wait for the answer before it answers itself. It
// tells what it gets. Its tool "enter" requires a visit, whatever its client can.
func serveRoots(ctx context.Context, conn mcp.Conn, answers chan<- string) error {
	offered := false
	for {
		raw, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
			Params jsontext.Value `json:"params"`
			Result jsontext.Value `json:"result"`
		}
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		reply := func(result string) error {
			return conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+result+`}`))
		}
		switch m.Method {
		case "server/discover":
			err = conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32601,"message":"no"}}`))
		case mcp.MethodInitialize:
			offered = strings.Contains(string(m.Params), `"roots"`)
			err = reply(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)
		case mcp.NotificationInitialized:
			if offered {
				err = conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`))
			}
		case mcp.MethodToolsList:
			err = reply(`{"tools":[{"name":"go","inputSchema":{"type":"object"}},{"name":"enter","inputSchema":{"type":"object"}}]}`)
		case mcp.MethodToolsCall:
			if strings.Contains(string(m.Params), `"enter"`) {
				err = conn.Write(ctx, []byte(`{"jsonrpc":"2.0","id":`+string(m.ID)+`,"error":{"code":-32042,"message":"sign in",`+
					`"data":{"elicitations":[{"mode":"url","elicitationId":"id-1","message":"Please sign in.","url":"`+signInURL+`"}]}}}`))
				break
			}
			err = reply(`{"content":[{"type":"text","text":"gone"}]}`)
		case mcp.NotificationRootsListChanged:
			answers <- "changed"
		case "":
			answers <- string(raw)
		}
		if err != nil {
			return err
		}
	}
}
