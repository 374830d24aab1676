package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/wire"
)

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

const (
	initialize  = `-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	initialized = `<- {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
	call        = `-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`
	modernCall  = `-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",` + meta + `}}`
)

// check has a conversation and returns the first fault.
func check(lines ...string) error {
	c := wire.NewConversation(wire.Strict)
	for _, line := range lines {
		arrow, message, _ := strings.Cut(line, " ")
		from := wire.Client
		if arrow == "<-" {
			from = wire.Server
		}
		for _, f := range c.Check(from, []byte(message)) {
			return fmt.Errorf("%s: %w", f.From, f.Err)
		}
	}
	for _, f := range c.Unanswered() {
		return fmt.Errorf("%s: %w", f.From, f.Err)
	}
	return nil
}

func TestInvalidMessagesAreFound(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		lines []string
		want  string
	}{
		{"no JSON", []string{`-> {`}, "not a message"},
		{"no JSON-RPC", []string{`-> {"id":1,"method":"ping"}`}, "not a message"},
		{"params", []string{initialize, initialized, `-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}`}, "/name: want string, got number"},
		{"params are missing", []string{initialize, initialized, `-> {"jsonrpc":"2.0","id":1,"method":"tools/call"}`}, "params of tools/call: missing"},
		{"metadata of a stateless request", []string{`-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`}, "clientCapabilities"},
		{"a result", []string{initialize, initialized, call, `<- {"jsonrpc":"2.0","id":1,"result":{}}`}, `missing "content"`},
		{"a stateless result", []string{modernCall, `<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`}, `missing "resultType"`},
		{"the result of another method", []string{initialize, initialized, call, `<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}`}, `missing "content"`},
		{"a member of another revision", []string{initialize, initialized, call, `<- {"jsonrpc":"2.0","id":1,"result":{"content":[],"resultType":"complete"}}`}, "resultType"},
		{"a notification", []string{initialize, initialized, `<- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"loud","data":1}}`}, "/level"},
		{"a notification without a session", []string{`<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}`}, `missing "progress"`},
		{"a request of the server", []string{initialize, initialized, `<- {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"Who?"}}`}, "requestedSchema"},
		{"an answer of the client", []string{initialize, initialized, `<- {"jsonrpc":"2.0","id":1,"method":"roots/list"}`, `-> {"jsonrpc":"2.0","id":1,"result":{"roots":[{}]}}`}, "uri"},
		{"a question inside of a result", []string{modernCall, `<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/lost"}}}}`}, "fits no alternative"},
		{"a method of another revision", []string{initialize, initialized, `-> {"jsonrpc":"2.0","id":1,"method":"server/discover"}`}, "2025-06-18 defines no such request of a client"},
		{"a method of the other side", []string{initialize, initialized, `-> {"jsonrpc":"2.0","id":1,"method":"roots/list"}`}, "no such request of a client"},
		{"a request as a notification", []string{initialize, initialized, `-> {"jsonrpc":"2.0","method":"tools/list"}`}, "no such notification"},
		{"an error's number", []string{initialize, initialized, call, `<- {"jsonrpc":"2.0","id":1,"error":{"code":-32050,"message":"x"}}`}, "error -32050"},
		{"the number of another revision", []string{initialize, initialized, call, `<- {"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"x","data":{"elicitations":[]}}}`}, "error -32042"},
		{"an error's data", []string{modernCall, `<- {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"x","data":{"supported":[]}}}`}, `missing "requested"`},
		{"an error without its data", []string{modernCall, `<- {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"x"}}`}, "/data"},
		{"an answer to nothing", []string{initialize, initialized, `<- {"jsonrpc":"2.0","id":9,"result":{}}`}, "without a request"},
		{"a second answer", []string{initialize, initialized, `-> {"jsonrpc":"2.0","id":1,"method":"ping"}`, `<- {"jsonrpc":"2.0","id":1,"result":{}}`, `<- {"jsonrpc":"2.0","id":1,"result":{}}`}, "without a request"},
		{"an id in use", []string{initialize, initialized, call, call}, "in use by a request"},
		{"an id that was used", []string{initialize, initialized, `-> {"jsonrpc":"2.0","id":1,"method":"ping"}`, `<- {"jsonrpc":"2.0","id":1,"result":{}}`, `-> {"jsonrpc":"2.0","id":1,"method":"ping"}`}, "was used before"},
		{"a batch", []string{initialize, initialized, `-> [{"jsonrpc":"2.0","id":1,"method":"ping"}]`}, "a batch"},
		{"a result that no extension has declared", []string{modernCall, `<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"1"}}`}, `missing "content"`},
		{"no server's request in the stateless era", []string{modernCall, `<- {"jsonrpc":"2.0","id":1,"method":"roots/list"}`}, "no such request of a server"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if err := check(test.lines...); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
			if err := check(test.lines[:len(test.lines)-1]...); err != nil {
				t.Errorf("got %v before the last line, want nothing", err)
			}
		})
	}
}

func TestValidMessagesPass(t *testing.T) {
	t.Parallel()
	for _, lines := range [][]string{
		{initialize, initialized, `-> {"jsonrpc":"2.0","method":"notifications/initialized"}`, call, `<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`},
		{modernCall, `<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}`},
		{modernCall, `<- {"jsonrpc":"2.0","id":1,"error":{"code":7,"message":"an application's own"}}`},
		// Unknown members, and methods that no revision has.
		{modernCall, `<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"x":[]}}`},
		{initialize, initialized, `-> {"jsonrpc":"2.0","id":1,"method":"own/method","params":{"x":1}}`, `<- {"jsonrpc":"2.0","id":1,"result":{"y":1}}`},
		// What extensions bring that the client has declared.
		{
			`-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",` + strings.Replace(meta, `{}`, `{"extensions":{"acme/x":{}}}`, 1) + `}}`,
			`<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"task","taskId":"1"}}`,
			`-> {"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"taskId":"1",` + meta + `}}`,
		},
		// What is wrong on purpose is refused.
		{initialize, initialized, `-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`, `<- {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no name"}}`},
	} {
		if err := check(lines...); err != nil {
			t.Errorf("%v", err)
		}
	}
}
