package compatibility

import (
	"strings"
	"time"
)

// serverRows are the servers that deviate. docs/compatibility.md has a line for each.
var serverRows = []serverRow{
	{
		name:    "probe-error-without-id",
		replies: replies{"server/discover": say(`{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"Method not found"}}`)},
		want:    "done",
	},
	{
		name:    "probe-http-text",
		over:    overHTTP,
		replies: replies{"server/discover": {code: 400, kind: "text/plain", text: "Bad Request"}},
		want:    "done",
	},
	{
		name:    "probe-without-revisions",
		replies: replies{"server/discover": result(`{}`)},
		want:    "done",
	},
	{
		name:    "probe-silence",
		replies: replies{"server/discover": silence},
		waits:   map[transport]time.Duration{overStdio: 3 * time.Second, overHTTP: 10 * time.Second},
		want:    "done",
	},
	{
		name:    "result-null",
		replies: replies{"tools/call": result(`null`)},
		want:    "",
	},
	{
		name:    "tool-without-schema",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go"}]}`)},
		want:    "done",
	},
	{
		name:    "required-absent",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}]}`)},
		want:    "done",
	},
	{
		name: "junk-before",
		over: overStdio, first: "Starting…\n\n{\"level\":\"info\",\"msg\":\"listening\"}\n[1,2]\n",
		want: "done",
	},
	{
		name: "junk-between", over: overStdio,
		replies: replies{
			"initialize": say("Loading\n" + `{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`),
			"tools/call": say("calling go\n{}\n" + `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"done"}]}}` + "\ncalled"),
		},
		want: "done",
	},
	{
		name:    "text-cut-in-a-character",
		replies: replies{"tools/call": result(`{"content":[{"type":"text","text":"cut \ud83d"}]}`)},
		want:    "cut \ufffd",
	},
	{
		name:    "text-not-utf8",
		replies: replies{"tools/call": result("{\"content\":[{\"type\":\"text\",\"text\":\"Stra\xdfe\"}]}")},
		want:    "Stra\ufffde",
	},
	{
		name:    "member-twice-in-a-result",
		replies: replies{"tools/call": result(`{"content":[],"content":[{"type":"text","text":"first","text":"last"}]}`)},
		want:    "last",
	},
	{
		name:    "uri-not-unicode",
		replies: replies{"tools/call": result(`{"content":[{"type":"resource_link","name":"n","uri":"file:///\ud83d"}]}`)},
		fails:   &failure{texts: []string{"invalid response", "member uri is not valid Unicode"}},
	},
	{
		name:    "result-nan",
		replies: replies{"tools/call": result(`{"content":[],"structuredContent":{"value":NaN}}`)},
		fails:   &failure{texts: []string{"invalid response", "not strict JSON"}},
	},
	{
		name:    "result-nan-before-its-id",
		replies: replies{"tools/call": say(`{"result":{"value":[{"id":9},NaN]},"jsonrpc":"2.0","id":$id}`)},
		fails:   &failure{texts: []string{"invalid response", "not strict JSON"}},
	},
	{
		name:    "result-truncated",
		replies: replies{"tools/call": say(`{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"Once upon`)},
		fails:   &failure{texts: []string{"invalid response", "unexpected EOF"}},
	},
	{
		name:    "member-twice-in-a-response",
		replies: replies{"tools/call": say(`{"jsonrpc":"2.0","id":$id,"result":{"content":[]},"result":{"content":[]}}`)},
		fails:   &failure{texts: []string{"invalid response", "occurs twice"}},
	},
	{
		name:    "result-over-the-limit",
		replies: replies{"tools/call": result(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 17<<20) + `"}]}`)},
		fails:   &failure{texts: []string{"invalid response", "message longer than 16777216 bytes", "Limits.MaxMessage"}},
	},
	{
		name:    "large-result-before-its-id",
		over:    overStdio,
		replies: replies{"tools/call": say(`{"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 17<<20) + `"}]},"jsonrpc":"2.0","id":$id}`)},
		fails:   &failure{texts: []string{"invalid response", "message longer than 16777216 bytes", "Limits.MaxMessage"}},
	},
	{
		name:    "event-nan",
		over:    overHTTP,
		replies: replies{"tools/call": {kind: "text/event-stream", text: `data: {"jsonrpc":"2.0","id":$id,"result":{"value":NaN}}` + "\n\n"}},
		fails:   &failure{texts: []string{"invalid response", "not strict JSON"}},
	},
	{
		name:    "event-over-the-limit",
		over:    overHTTP,
		replies: replies{"tools/call": {kind: "text/event-stream", text: `data: {"jsonrpc":"2.0","id":$id,"result":{"value":"` + strings.Repeat("x", 17<<20) + "\"}}\n\n"}},
		fails:   &failure{texts: []string{"invalid response", "message longer than 16777216 bytes", "Limits.MaxMessage"}},
	},
}
