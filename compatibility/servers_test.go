package compatibility

import "time"

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
}
