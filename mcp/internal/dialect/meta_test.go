package dialect_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// A user's values for the protocol's keys are not sent; the protocol always
// sets its own.
func TestReservedMetadataIsReplaced(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-024", "R-026", "R-027a", "R-027b", "R-028")
	forged := mcp.Meta{
		"com.example/k": jsontext.Value(`1`), "traceparent": jsontext.Value(`"t"`),
		"progressToken": jsontext.Value(`"forged"`), "com.mcp/x": jsontext.Value(`1`), "a.modelcontextprotocol.b/x": jsontext.Value(`1`),
		mcp.MetaProtocolVersion: jsontext.Value(`"forged"`), mcp.MetaClientInfo: jsontext.Value(`"forged"`),
		mcp.MetaClientCapabilities: jsontext.Value(`"forged"`), mcp.MetaLogLevel: jsontext.Value(`"debug"`),
	}
	const user = `"com.example/k":1,"traceparent":"t"`
	for v, want := range map[mcp.Revision]string{
		mcp.V20241105: `{"_meta":{` + user + `},"name":"t"}`,
		mcp.V20251125: `{"_meta":{` + user + `},"name":"t"}`,
		mcp.V20260728: `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},` + user + `},"name":"t"}`,
	} {
		c, err := dialect.NewClient(dialect.Of(v), mcp.Implementation{Name: "c", Version: "1"}, mcp.ClientCapabilities{})
		if err != nil {
			t.Fatal(err)
		}
		for where, p := range map[string]dialect.RequestParams{
			"in the params":   {Method: mcp.MethodToolsCall, Params: &mcp.CallToolParams{Name: "t", Meta: forged}},
			"beside them":     {Method: mcp.MethodToolsCall, Params: &mcp.CallToolParams{Name: "t"}, Meta: forged},
			"in raw params":   {Method: mcp.MethodToolsCall, Params: map[string]any{"_meta": forged, "name": "t"}},
			"nothing of them": {Method: mcp.MethodToolsCall, Params: &mcp.CallToolParams{Name: "t", Meta: mcp.Meta{"com.example/k": jsontext.Value(`1`), "traceparent": jsontext.Value(`"t"`)}}},
		} {
			r, err := c.Request(p)
			if err != nil {
				t.Fatalf("%s: %s: %v", v, where, err)
			}
			m, err := jsonrpc.Decode(r.Encode(numberID(1)), jsonrpc.Limits{})
			if err != nil || string(m.Params) != want {
				t.Errorf("%s: %s\ngot  %s, %v\nwant %s", v, where, m.Params, err, want)
			}
		}
		for _, key := range []string{"a b", "1.x/y", "-/x", "/x", "x-", "é", "com.example./x"} {
			_, err := c.Request(dialect.RequestParams{Method: mcp.MethodToolsCall, Meta: mcp.Meta{key: jsontext.Value(`1`)}})
			if err == nil || !strings.Contains(err.Error(), "_meta key") {
				t.Errorf("%s: key %q: got %v, want that it is refused", v, key, err)
			}
		}
	}
}

// What another server has put into a result does not make the result unusable.
func TestResultsAreEncodedWithoutKeysOffTheGrammar(t *testing.T) {
	t.Parallel()
	const odd = `"_meta":{"my key":1,"_x":2,"a/b/c":3,"io.modelcontextprotocol/serverInfo":4,"com.example/k":5}`
	meta := mcp.Meta{}
	if err := json.Unmarshal([]byte(odd[len(`"_meta":`):]), &meta); err != nil {
		t.Fatal(err)
	}
	text := mcp.TextContent{Text: "x", Meta: meta}
	contents := mcp.ResourceContents{URI: "a://b", Text: "x", Meta: meta}
	base := mcp.ResultBase{Meta: meta}
	for name, result := range map[string]any{
		"tool":   &mcp.CallToolResult{ResultBase: base, Content: mcp.Contents{text, mcp.UnknownContent{Type: "hologram", Raw: jsontext.Value(`{"type":"hologram",` + odd + `}`)}}},
		"read":   &mcp.ReadResourceResult{ResultBase: base, Contents: []mcp.ResourceContents{contents}},
		"prompt": &mcp.GetPromptResult{ResultBase: base, Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.EmbeddedResource{Resource: contents, Meta: meta}}}},
		"tools":  &mcp.ListToolsResult{ResultBase: base, Tools: []mcp.Tool{{Name: "t", InputSchema: jsontext.Value(`{}`), Meta: meta}}},
		"empty":  &mcp.EmptyResult{ResultBase: base},
	} {
		for _, v := range []mcp.Revision{mcp.V20241105, mcp.V20250618, mcp.V20260728} {
			encoded, err := dialect.Of(v).Encode(result)
			if err != nil {
				t.Errorf("%s in %s: %v", name, v, err)
				continue
			}
			raw := string(openedCall(t, newServer(), v).Reply(encoded, nil).Body)
			for _, key := range []string{"my key", "_x", "a/b/c", `serverInfo":4`} {
				if strings.Contains(raw, key) {
					t.Errorf("%s in %s: got %s, want it without %s", name, v, raw, key)
				}
			}
			if !strings.Contains(raw, `"com.example/k":5`) {
				t.Errorf("%s in %s: got %s, want the good key", name, v, raw)
			}
		}
	}
}
