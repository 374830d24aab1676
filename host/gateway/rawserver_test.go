package gateway_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// rawMessage is a message that a server in raw messages has read.
type rawMessage struct {
	ID     jsontext.Value `json:"id"`
	Method string         `json:"method"`
	Params jsontext.Value `json:"params"`
	text   string
}

// rawConn is the connection of a server in raw messages.
type rawConn struct {
	ctx context.Context
	mcp.Conn
}

// send writes a message. A connection that has ended takes none.
func (c rawConn) send(message string) { _ = c.Write(c.ctx, []byte(message)) }

// respond writes the response to a request: its member "result" or "error".
func (c rawConn) respond(id jsontext.Value, answer string) {
	c.send(`{"jsonrpc":"2.0","id":` + string(id) + `,` + answer + `}`)
}

// ask writes a question with a form and no fields.
func (c rawConn) ask(id string) {
	c.send(`{"jsonrpc":"2.0","id":"` + id + `","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}`)
}

// serveRaw runs a server in raw messages. handle returns the member "result" or "error" of the
// response, or "" if it responds otherwise. Requests for which it returns "" before the client
// is initialized are answered as by a server of 2025-11-25 with tools.
func serveRaw(ctx context.Context, conn mcp.Conn, handle func(rawConn, rawMessage) string) error {
	c := rawConn{ctx, conn}
	for {
		raw, err := conn.Read(ctx)
		if err != nil {
			return nil
		}
		m := rawMessage{text: string(raw)}
		if err := json.Unmarshal(raw, &m); err != nil {
			return err
		}
		answer := handle(c, m)
		switch {
		case answer != "":
		case m.Method == mcp.MethodDiscover:
			answer = `"error":{"code":-32601,"message":"no"}`
		case m.Method == mcp.MethodInitialize:
			answer = `"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		}
		if answer != "" && m.ID != nil {
			c.respond(m.ID, answer)
		}
	}
}

const (
	oneRawTool  = `"result":{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`
	emptyResult = `"result":{}`
)

// serveLate is a server of 2025-11-25 that never answers its first call, asks in it
// when there is a second one, and answers that one when it has its answer.
func serveLate(ctx context.Context, conn mcp.Conn) error {
	calls, second := 0, jsontext.Value(nil)
	return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
		switch m.Method {
		case mcp.MethodToolsList:
			return oneRawTool
		case mcp.MethodToolsCall:
			if calls++; calls > 1 {
				second = m.ID
				c.ask("late")
			}
		case "":
			c.respond(second, `"result":{"content":[{"type":"text","text":"gone"}]}`)
		}
		return ""
	})
}

type jsonValue = jsontext.Value

// serveRoots is a server of 2025-11-25 that asks for the roots as soon as it was
// told that it may, and does not wait for the answer before it answers itself. It
// tells what it gets. Its tool "enter" requires a visit, whatever its client can.
func serveRoots(ctx context.Context, conn mcp.Conn, answers chan<- string) error {
	offered := false
	return serveRaw(ctx, conn, func(c rawConn, m rawMessage) string {
		switch m.Method {
		case mcp.MethodInitialize:
			offered = strings.Contains(string(m.Params), `"roots"`)
		case mcp.NotificationInitialized:
			if offered {
				c.send(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`)
			}
		case mcp.MethodToolsList:
			return `"result":{"tools":[{"name":"go","inputSchema":{"type":"object"}},{"name":"enter","inputSchema":{"type":"object"}}]}`
		case mcp.MethodToolsCall:
			if strings.Contains(string(m.Params), `"enter"`) {
				return `"error":{"code":-32042,"message":"sign in",` +
					`"data":{"elicitations":[{"mode":"url","elicitationId":"id-1","message":"Please sign in.","url":"` + signInURL + `"}]}}`
			}
			return `"result":{"content":[{"type":"text","text":"gone"}]}`
		case mcp.NotificationRootsListChanged:
			answers <- "changed"
		case "":
			answers <- m.text
		}
		return ""
	})
}
