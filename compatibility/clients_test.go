package compatibility

import (
	"net/http"
	"strings"
)

// clientRows are the clients that deviate. docs/compatibility.md has a line for each.
var clientRows = []clientRow{
	{
		name:  "params-null",
		steps: []step{{send: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}`, want: `{"id":1,"result":{}}`}},
	},
	{
		name:  "arguments-null",
		steps: []step{{send: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}echo","arguments":null}}`, want: `{"id":1,"result":{"content":[{"text":"text: "}]}}`}},
	},
	{
		name: "cursor-null",
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":null}}`, want: `{"id":1,"result":{}}`},
			{send: `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":""}}`, want: `{"id":2,"result":{}}`},
		},
	},
	{
		name: "meta-null",
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":null}}`, want: `{"id":1,"result":{}}`},
			{send: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"{up}echo","_meta":{"progressToken":null,"traceparent":null,"io.modelcontextprotocol/protocolVersion":null}}}`, want: `{"id":2,"result":{"content":[{"text":"text: "}]}}`},
		},
	},
	{
		name:  "meta-null-stateless",
		fresh: true,
		steps: []step{{
			send:   `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"{up}echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":null,"io.modelcontextprotocol/logLevel":null,"progressToken":null}}}`,
			want:   `{"id":2,"result":{"content":[{"text":"text: "}]}}`,
			header: http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"{up}echo"}},
		}},
	},
	{
		name: "meta-key-off-the-grammar",
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}echo","arguments":{"text":"x"},"_meta":{"_traceId":"x","my key":1,"a/b/c":{}}}}`, want: `{"id":1,"result":{"content":[{"text":"text: x"}]}}`},
			{send: `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"_traceId":"x"}}}`, want: `{"id":2,"result":{}}`},
		},
	},
	{
		name: "result-without-structure",
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}fail"}}`, want: `{"id":1,"result":{"isError":true,"content":[{"type":"text","text":"{\"why\":\"no paper\"}"}]}}`},
		},
	},
	{
		name: "cancellation-with-reason", over: overStdio,
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}hold"}}`},
			{send: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"{up}held"}}`, want: `{"id":2,"result":{"content":[{"text":"held"}]}}`},
			{send: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"no paper"}}`},
			{
				send:   `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"{up}held"}}`,
				want:   `{"id":3,"result":{"content":[{"text":"cancelled: no paper"}]}}`,
				behind: `{"id":3,"result":{"content":[{"text":"cancelled: none"}]}}`, // the upstream is one of 2026-07-28 over HTTP
			},
		},
	},
	{
		name: "initialize-odd-offer", over: overStdio, fresh: true,
		steps: []step{{
			send: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"sampling":[],"roots":true,"elicitation":7},"clientInfo":{"name":"odd","version":1}}}`,
			want: `{"id":1,"result":{"protocolVersion":"2025-06-18"}}`,
		}},
	},
	{
		name: "stateless-keys-in-a-session",
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}echo","_meta":{"io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"io.modelcontextprotocol/protocolVersion":"2025-06-18"}}}`, want: `{"id":1,"result":{"content":[{"text":"text: "}]}}`},
			{send: `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/clientInfo":7,"io.modelcontextprotocol/protocolVersion":[]}}}`, want: `{"id":2,"result":{}}`},
			{send: `{"jsonrpc":"2.0","id":3,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":"none"}}}`, want: `{"id":3,"result":{}}`},
		},
	},
	{
		name: "stateless-version-in-a-session", over: overHTTP,
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, want: `{"id":1,"result":{"content":[{"text":"text: "}]}}`},
		},
	},
	{
		name: "initialize-twice", over: overStdio,
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}wait"}}`},
			{
				send: `{"jsonrpc":"2.0","id":"again","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"other","version":"1"}}}`,
				want: `{"id":"again","result":{"protocolVersion":"2025-06-18"}}`,
			},
			{send: sessionOpened},
			{send: `{"jsonrpc":"2.0","id":1,"method":"ping"}`, want: `{"id":1,"error":{"code":-32600,"message":"a request with this id is running"}}`},
			{send: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"{up}release"}}`},
			{want: `{"result":{"content":[{"type":"text"}]}}`},
			{want: `{"result":{"content":[{"type":"text"}]}}`},
		},
	},
	{
		name: "ping-with-meta", fresh: true,
		steps: []step{{
			send:   `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
			header: http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"ping"}},
			want:   `{"id":1,"error":{"code":-32601}}`, status: 404,
		}},
	},
	{
		name: "batch",
		steps: []step{{
			send: `[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]`,
			want: `{"error":{"code":-32600,"message":"this session has no batches"}}`, status: 400,
		}},
	},
	{
		name: "id-of-another-type",
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, want: `{"error":{"code":-32600,"message":"id"}}`, status: 400},
			{send: `{"jsonrpc":"2.0","id":1.0,"method":"tools/list"}`, want: `{"error":{"code":-32600,"message":"id"}}`, status: 400},
			{send: `{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, want: `{"error":{"code":-32600,"message":"id"}}`, status: 400},
		},
	},
	{
		name: "version-of-json-rpc",
		steps: []step{
			{send: `{"id":1,"method":"tools/list"}`, want: `{"id":1,"error":{"code":-32600,"message":"jsonrpc"}}`, status: 400},
		},
	},
	{
		name: "params-array",
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}`, want: `{"id":1,"error":{"code":-32600,"message":"params"}}`, status: 400},
		},
	},
	{
		name: "content-type-text", over: overHTTP, fresh: true,
		steps: []step{{send: openSession, header: http.Header{"Content-Type": {"text/plain"}}, status: 415, text: "want application/json"}},
	},
	{
		name: "origin-unknown", over: overHTTP, fresh: true,
		steps: []step{{send: openSession, header: http.Header{"Origin": {"https://attacker.example"}}, status: 403, text: "origin"}},
	},
	{
		name: "host-unknown", over: overHTTP, fresh: true,
		steps: []step{{send: openSession, header: http.Header{"Host": {"attacker.example"}}, status: 403, text: "host"}},
	},
	{
		name: "version-header-unknown", over: overHTTP,
		steps: []step{{
			send:   `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
			header: http.Header{"Mcp-Protocol-Version": {"2024-10-07"}},
			want:   `{"error":{"code":-32600,"message":"protocol version header"}}`, status: 400,
		}},
	},
	{
		name: "argument-cut-in-a-character",
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}echo","arguments":{"text":"cut \ud83d"}}}`, want: `{"id":1,"result":{"content":[{"text":"text: cut \ufffd"}]}}`},
		},
	},
	{
		name: "argument-not-utf8",
		steps: []step{
			{send: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"{up}echo\",\"arguments\":{\"text\":\"Stra\xdfe\"}}}", want: `{"id":1,"result":{"content":[{"text":"text: Stra\ufffde"}]}}`},
		},
	},
	{
		name: "name-not-unicode",
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}echo\ud83d"}}`, want: `{"id":1,"error":{"code":-32700,"message":"member name is not valid Unicode"}}`, status: 400},
			{send: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"{up}echo","arguments":{"\ud83d":1}}}`, want: `{"id":2,"error":{"code":-32700,"message":"not valid Unicode"}}`, status: 400},
		},
	},
	{
		name: "member-twice-in-a-request",
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}echo","arguments":{"text":"a","text":"b"}}}`, want: `{"id":1,"error":{"code":-32700,"message":"occurs twice"}}`, status: 400},
		},
	},
	{
		name: "request-not-json",
		steps: []step{
			{send: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"{up}echo","arguments":{"text":NaN}},"id":1}`, want: `{"id":1,"error":{"code":-32700,"message":"not strict JSON"}}`, status: 400},
			{send: `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"{up}echo","argum`, want: `{"id":2,"error":{"code":-32700,"message":"unexpected EOF"}}`, status: 400},
			{send: `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"{up}echo","arguments":{"text":"c"}}}`, want: `{"id":3,"result":{"content":[{"text":"text: c"}]}}`},
		},
	},
	{
		name: "request-over-the-limit", over: overStdio,
		steps: []step{
			{send: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}echo","arguments":{"text":"` + strings.Repeat("x", 17<<20) + `"}}}`, want: `{"id":1,"error":{"code":-32600,"message":"message longer than 16777216 bytes"}}`},
			{send: `{"method":"tools/call","params":{"name":"{up}echo","arguments":{"text":"` + strings.Repeat("x", 17<<20) + `"}},"jsonrpc":"2.0","id":2}`, want: `{"id":2,"error":{"code":-32600,"message":"message longer than 16777216 bytes"}}`},
		},
	},
	{
		name: "post-to-event-stream", over: overHTTP,
		fresh: true,
		steps: []step{{send: openSession, path: "/sse", status: 404, text: "/mcp"}},
	},
	{
		name: "get-on-mcp", over: overHTTP,
		fresh: true,
		steps: []step{{method: "GET", header: http.Header{"Accept": {"text/event-stream"}}, status: 400, text: "/sse"}},
	},
	{
		name: "accept-json", over: overHTTP,
		steps: []step{{
			send:   `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"{up}echo"}}`,
			header: http.Header{"Accept": {"application/json"}},
			want:   `{"id":1,"result":{"content":[{"text":"text: "}]}}`,
		}},
	},
	{
		name: "ping-without-meta", fresh: true,
		steps: []step{{
			send:   `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
			header: http.Header{"Mcp-Protocol-Version": {"2026-07-28"}},
			want:   `{"id":1,"result":{}}`,
		}},
	},
}
