package compatibility

import "strings"

// floodLog is one of many log messages.
const floodLog = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"flood"}}`

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
		want:    "done",
	},
	{
		name:    "probe-error-text",
		replies: replies{"server/discover": say(`{"jsonrpc":"2.0","id":$id,"error":"Method not found"}`)},
		want:    "done",
	},
	{
		name:    "probe-error-without-code",
		replies: replies{"server/discover": say(`{"jsonrpc":"2.0","id":$id,"error":{"message":"Method not found"}}`)},
		want:    "done",
	},
	{
		name:    "probe-error-code-text",
		replies: replies{"server/discover": say(`{"jsonrpc":"2.0","id":$id,"error":{"code":"METHOD_NOT_FOUND","message":"Method not found"}}`)},
		want:    "done",
	},
	{
		name:    "probe-error-and-null",
		replies: replies{"server/discover": say(`{"jsonrpc":"2.0","id":$id,"result":null,"error":{"code":-32601,"message":"Method not found"}}`)},
		want:    "done",
	},
	{
		name:    "probe-exit",
		replies: replies{"server/discover": {ends: true}},
		want:    "done",
		starts:  map[transport]int{overStdio: 3},
	},
	{
		name: "id-as-text",
		replies: replies{
			"initialize": say(`{"jsonrpc":"2.0","id":"$id","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`),
			"tools/list": say(`{"jsonrpc":"2.0","id":"$id","result":{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}}`),
			"tools/call": say(`{"jsonrpc":"2.0","id":"$id","result":{"content":[{"type":"text","text":"done"}]}}`),
		},
		want: "done",
	},
	{
		name:    "error-null",
		replies: replies{"tools/call": say(`{"jsonrpc":"2.0","id":$id,"error":null,"result":{"content":[{"type":"text","text":"done"}]}}`)},
		want:    "done",
	},
	{
		name:    "result-null-and-error",
		replies: replies{"tools/call": say(`{"jsonrpc":"2.0","id":$id,"result":null,"error":{"code":4050,"message":"no paper","data":7}}`)},
		fails:   &failure{number: 4050, texts: []string{"no paper"}, data: "7"},
	},
	{
		name:    "result-null",
		replies: replies{"tools/call": result(`null`)},
		want:    "",
	},
	{
		name:    "capabilities-empty",
		replies: replies{"initialize": result(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"raw","version":"1"}}`)},
		want:    "done",
	},
	{
		name: "capabilities-empty-silent",
		replies: replies{
			"initialize":     result(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"raw","version":"1"}}`),
			"prompts/list":   silence,
			"resources/list": silence, "resources/templates/list": silence,
		},
		want: "done",
	},
	{
		name:    "tools-without-capability",
		replies: replies{"initialize": result(`{"protocolVersion":"2025-11-25","capabilities":{"prompts":{}},"serverInfo":{"name":"raw","version":"1"}}`)},
		want:    "done",
	},
	{
		name:    "initialize-sparse",
		replies: replies{"initialize": result(`{"protocolVersion":"2025-11-25"}`)},
		want:    "done",
	},
	{
		name:    "initialize-odd",
		replies: replies{"initialize": result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":true,"prompts":[],"logging":"yes"},"serverInfo":"raw","instructions":7}`)},
		want:    "done",
	},
	{
		name:    "schema-empty-list",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object","properties":[]}},{"name":"list","inputSchema":[]},{"name":"null","inputSchema":null}]}`)},
		ask:     listTools,
		want:    "go list null",
	},
	{
		name:    "schema-keywords-odd",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object","properties":{"a":7},"required":"a"}},{"name":"two","inputSchema":{"type":"object"}}]}`)},
		ask:     listTools,
		want:    "go two",
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
		name:    "required-null",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","description":null,"inputSchema":{"type":"object","properties":null,"required":null}}]}`)},
		want:    "done",
	},
	{
		name:    "schema-not-compilable",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/definitions/gone"},"b":{"pattern":"(?<!x)y"},"c":{"minimum":1,"exclusiveMinimum":true}}}}]}`)},
		want:    "done",
	},
	{
		name:    "schema-without-type",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"anyOf":[{"required":["a"]},{"required":["b"]}]}}]}`)},
		want:    "done",
	},
	{
		name:    "arguments-off-the-schema",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object","required":["a"],"additionalProperties":false}}]}`)},
		want:    "done",
	},
	{
		name:    "header-mark-not-valid",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object"}},{"name":"marked","inputSchema":{"type":"object","properties":{"x":{"type":"array","x-mcp-header":"X"}}}}]}`)},
		want:    "done",
	},
	{
		name: "meta-key-odd",
		replies: replies{
			"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object"},"_meta":{"no key/":1,"io.modelcontextprotocol/serverInfo":"x","a b":{}}}],"_meta":{"-":1}}`),
			"tools/call": result(`{"content":[{"type":"text","text":"done","_meta":{"$":1}}],"_meta":{"/x":1,"mcp.dev/own":2}}`),
		},
		want: "done",
	},
	{
		name:    "content-unknown",
		replies: replies{"tools/call": result(`{"content":[{"type":"hologram","x":1},{"type":"text","text":"done"}]}`)},
		want:    "done",
	},
	{
		name:    "content-type-odd",
		replies: replies{"tools/call": result(`{"content":[{"type":"image","mimeType":"picture","data":"eA=="},{"type":"text","text":"done"}]}`)},
		want:    "done",
	},
	{
		name: "resource-without-name",
		replies: replies{
			"resources/list": result(`{"resources":[{"uri":"raw://$name/a"}]}`),
			"resources/read": result(`{"contents":[{"uri":"raw://$name/a","text":"done"}]}`),
		},
		ask:  readListed,
		want: "done",
	},
	{
		name:    "revision-of-2024-10",
		replies: replies{"initialize": result(`{"protocolVersion":"2024-10-07","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)},
		want:    "done",
	},
	{
		name: "event-stream-on-post",
		over: overHTTP, events: true,
		want: "done",
	},
	{
		name: "junk-before",
		over: overStdio, first: strings.Repeat("npm warn deprecated\n", 40) + "Starting…\n\n{\"level\":\"info\",\"msg\":\"listening\"}\n[1,2]\n",
		want: "done",
	},
	{
		name: "junk-between", over: overStdio,
		replies: replies{
			"initialize": say("Loading\n" + `{"jsonrpc":"2.0","id":$id,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`),
			"tools/call": say("calling go\n{}\n" + `{"level":"error","error":"disk full"}` + "\n" + `{"level":"info","id":$id,"msg":"go"}` + "\n" + `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"done"}]}}` + "\ncalled"),
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
		name:    "large-result-around-its-id",
		over:    overStdio,
		replies: replies{"tools/call": say(`{"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 17<<20) + `"}]},"jsonrpc":"2.0","id":$id,"debug":"` + strings.Repeat("x", 5<<10) + `"}`)},
		fails:   &failure{texts: []string{"invalid response", "message longer than 16777216 bytes", "Limits.MaxMessage"}},
	},
	{
		name:    "result-without-id",
		replies: replies{"tools/call": say(`{"jsonrpc":"2.0","result":{"content":[]}}`)},
		fails:   &failure{texts: []string{"invalid response"}},
	},
	{
		name:    "error-without-id",
		replies: replies{"tools/call": say(`{"jsonrpc":"2.0","id":null,"error":{"code":4050,"message":"no paper","data":7}}`)},
		fails:   &failure{number: 4050, texts: []string{"no paper"}, data: "7"},
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
	{
		name: "forbidden-with-error", over: overHTTP,
		replies: replies{"tools/call": {code: 403, text: `{"jsonrpc":"2.0","id":$id,"error":{"code":4003,"message":"not yours","data":{"owner":"x"}}}`}},
		fails:   &failure{number: 4003, texts: []string{"not yours"}, data: `{"owner":"x"}`},
	},
	{
		name: "forbidden-at-initialize", over: overHTTP,
		replies: replies{"initialize": {code: 403, text: `{"jsonrpc":"2.0","id":$id,"error":{"code":4003,"message":"not yours","data":7}}`}},
		fails:   &failure{number: 4003, texts: []string{"initialize: peer answered 4003: not yours (HTTP 403 Forbidden)"}, data: "7"},
		behind:  &failure{number: -32602, texts: []string{"unknown"}},
	},
	{
		name: "forbidden-without-id", over: overHTTP,
		replies: replies{"tools/call": {code: 403, text: `{"jsonrpc":"2.0","id":null,"error":{"code":4003,"message":"not yours","data":{"owner":"x"}}}`}},
		fails:   &failure{number: 4003, texts: []string{"not yours"}, data: `{"owner":"x"}`},
	},
	{
		name: "status-with-error", over: overHTTP,
		replies: replies{"tools/call": {code: 422, text: `{"jsonrpc":"2.0","id":$id,"error":{"code":4050,"message":"no paper"}}`}},
		fails:   &failure{number: 4050, texts: []string{"no paper"}},
	},
	{
		name: "failure-with-error", over: overHTTP,
		replies: replies{"tools/call": {code: 500, text: `{"jsonrpc":"2.0","id":null,"error":{"code":4050,"message":"no paper"}}`}},
		fails:   &failure{number: 4050, texts: []string{"no paper"}},
	},
	{
		name: "session-lost-404", over: overHTTP,
		lost: &reply{code: 404, kind: "text/plain", text: "Not Found"}, losses: 1, opens: 2,
		want: "done",
	},
	{
		name: "session-lost-400-text", over: overHTTP,
		lost: &reply{code: 400, kind: "text/plain", text: "Bad Request: No valid session ID provided"}, losses: 1, opens: 2,
		want: "done",
	},
	{
		name: "session-lost-400-without-id", over: overHTTP,
		lost: &reply{code: 400, text: `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`}, losses: 1, opens: 2,
		want: "done",
	},
	{
		name: "session-lost-400-32000", over: overHTTP,
		lost: &reply{code: 400, text: `{"jsonrpc":"2.0","id":$id,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`}, losses: 1, opens: 2,
		want: "done",
	},
	{
		name: "session-lost-400-32600", over: overHTTP,
		lost: &reply{code: 400, text: `{"jsonrpc":"2.0","id":$id,"error":{"code":-32600,"message":"Session not found"}}`}, losses: 1, opens: 2,
		want: "done",
	},
	{
		name: "session-400-twice", over: overHTTP,
		lost: &reply{code: 400, text: `{"jsonrpc":"2.0","id":$id,"error":{"code":-32000,"message":"no paper","data":7}}`}, losses: 1000, opens: 2,
		fails:  &failure{number: -32000, texts: []string{"no paper"}, data: "7"},
		behind: &failure{texts: []string{"no paper"}},
	},
	{
		name: "session-400-answer", over: overHTTP,
		lost: &reply{code: 400, text: `{"jsonrpc":"2.0","id":$id,"error":{"code":4050,"message":"no paper","data":7}}`}, losses: 1, opens: 1,
		fails: &failure{number: 4050, texts: []string{"no paper"}, data: "7"},
	},
	{
		name:    "list-cursor-again",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object"}}],"nextCursor":"again"}`)},
		ask:     listTools,
		want:    "go",
	},
	{
		name:    "list-item-bad",
		replies: replies{"tools/list": result(`{"tools":["go",{"name":7},{"name":"go","inputSchema":{"type":"object"}},null,{"title":"x"}]}`)},
		ask:     listTools,
		want:    "go",
	},
	{
		name:    "list-hint-bad",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"},"title":{},"icons":7}],"nextCursor":7,"ttlMs":"1h"}`)},
		ask:     listTools,
		want:    "go",
	},
	{
		name:    "list-cursor-empty",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object"}}],"nextCursor":""}`)},
		ask:     listTools,
		want:    "go",
	},
	{
		name:    "list-endless",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object"}}],"nextCursor":"after $id"}`)},
		ask:     listTools,
		want:    "go",
	},
	{
		name: "list-fails",
		replies: replies{
			"prompts/list":   say(`{"jsonrpc":"2.0","id":$id,"error":{"code":-32603,"message":"no paper"}}`),
			"resources/list": say(`{"jsonrpc":"2.0","id":$id,"error":{"code":-32603,"message":"no paper"}}`),
		},
		ask:  listTools,
		want: "go",
	},
	{
		name:    "schema-empty",
		replies: replies{"tools/list": result(`{"tools":[{"name":"go","inputSchema":{}}]}`)},
		want:    "done",
	},
	{
		name:    "template-with-blank",
		replies: replies{"resources/templates/list": result(`{"resourceTemplates":[{"uriTemplate":"raw://$name/{a b}","name":"odd"},{"uriTemplate":"raw://$name/{ok}","name":"fine"}]}`)},
		ask:     listTemplates,
		want:    "odd fine",
	},
	{
		name: "result-off-the-schema",
		replies: replies{
			"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["a"]}}]}`),
			"tools/call": result(`{"content":[{"type":"text","text":"done"}],"structuredContent":{"b":1}}`),
		},
		ask:  callUnchecked,
		want: "done",
	},
	{
		name: "result-failed-structured",
		replies: replies{
			"tools/list": result(`{"tools":[{"name":"go","inputSchema":{"type":"object"},"outputSchema":{"type":"object","required":["a"]}}]}`),
			"tools/call": result(`{"content":[],"structuredContent":{"why":"no paper"},"isError":true}`),
		},
		ask:  callFailing,
		want: `{"why":"no paper"}`,
	},
	{
		name:    "result-text",
		replies: replies{"tools/call": result(`"done"`)},
		want:    "done",
	},
	{
		name:    "result-array",
		replies: replies{"tools/call": result(`["done",7]`)},
		want:    "done\n7",
	},
	{
		name:    "content-text",
		replies: replies{"tools/call": result(`{"content":"done"}`)},
		want:    "done",
	},
	{
		name:    "content-without-type",
		replies: replies{"tools/call": result(`{"content":[{"text":"done"},{"type":7,"text":"again"}]}`)},
		want:    "done\nagain",
	},
	{
		name:    "content-not-blocks",
		replies: replies{"tools/call": result(`{"content":[null,"done",7,{"type":"text","text":true},{"city":"Rome"}]}`)},
		want:    "done\n7\ntrue\n" + `{"city":"Rome"}`,
	},
	{
		name:    "content-not-base64",
		replies: replies{"tools/call": result(`{"content":[{"type":"image","data":"#","mimeType":"image/png"},{"type":"audio","data":"-_8","mimeType":"audio/wav"},{"type":"text","text":"done"}]}`)},
		ask:     callForTypes,
		want:    "audio done",
	},
	{
		name:    "content-hint-bad",
		replies: replies{"tools/call": result(`{"content":[{"type":"text","text":"done","annotations":{"priority":"high","audience":"user"},"_meta":[]}],"_meta":"x"}`)},
		want:    "done",
	},
	{
		name:    "is-error-text",
		replies: replies{"tools/call": result(`{"content":[{"type":"text","text":"no paper"}],"isError":"true"}`)},
		ask:     callFailing,
		want:    "no paper",
	},
	{
		name: "contents-odd",
		replies: replies{
			"resources/list": result(`{"resources":[{"uri":"raw://$name/a","name":"a"}]}`),
			"resources/read": result(`{"contents":["done",{"uri":"raw://$name/a","blob":"#"},null],"ttlMs":"1h"}`),
		},
		ask:  readListed,
		want: "done",
	},
	{
		name: "messages-odd",
		replies: replies{
			"prompts/list": result(`{"prompts":[{"name":"ask"}]}`),
			"prompts/get":  result(`{"messages":[null,{"role":"user","content":["done"]}],"description":7}`),
		},
		ask:  getPrompt,
		want: "done",
	},
	{
		name: "completion-odd",
		replies: replies{
			"initialize":          result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{},"completions":{}},"serverInfo":{"name":"raw","version":"1"}}`),
			"prompts/list":        result(`{"prompts":[{"name":"ask","arguments":[{"name":"a"}]}]}`),
			"completion/complete": result(`{"completion":{"values":["done",7],"total":"many"}}`),
		},
		ask:  completePrompt,
		want: "done 7",
	},
	{
		name:    "result-type-unknown",
		replies: replies{"tools/call": result(`{"content":[{"type":"text","text":"done"}],"resultType":"weird"}`)},
		want:    "done",
	},
	{
		name:    "result-type-question",
		replies: replies{"tools/call": result(`{"content":[{"type":"text","text":"done"}],"resultType":"input_required","requestState":"s","inputRequests":{"q":{"method":"roots/list"}}}`)},
		want:    "done",
	},
	{
		name: "result-meta-key-odd",
		replies: replies{
			"resources/list": result(`{"resources":[{"uri":"raw://$name/a","name":"a"}]}`),
			"resources/read": result(`{"contents":[{"uri":"raw://$name/a","text":"done","_meta":{"my key":1}}],"_meta":{"my key":1,"_traceId":"x","a/b/c":{}}}`),
		},
		ask:  readListed,
		want: "done",
	},
	{
		name: "lists-silent",
		replies: replies{
			"prompts/list": silence, "resources/list": silence, "resources/templates/list": silence,
		},
		ask:  listTools,
		want: "go",
	},
	{
		name:    "tools-silent",
		replies: replies{"tools/list": silence},
		want:    "done",
		behind:  &failure{number: -32602, texts: []string{"unknown"}},
	},
	{
		name: "list-fails-later", over: overStdio,
		replies: replies{
			"initialize": result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"raw","version":"1"}}`),
			"tools/call": say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n" + `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"done"}]}}`),
		},
		later: replies{"tools/list": say(`{"jsonrpc":"2.0","id":$id,"error":{"code":-32603,"message":"no paper"}}`)},
		ask:   callTwice,
		want:  "done",
	},
	{
		name: "question-left-open", over: overStdio,
		replies: replies{"tools/call": say(`{"jsonrpc":"2.0","id":"left-open","method":"roots/list"}` + "\n" + `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"done"}]}}`)},
		want:    "done",
	},
	{
		name: "session-get-404", over: overHTTP,
		get: 404, lost: &reply{code: 404, kind: "text/plain", text: "Cannot GET /mcp"}, opens: 1,
		want: "done",
	},
	{
		name: "junk-before-the-end", over: overStdio,
		first:   "Error: API_KEY is not set\nsee the manual\n",
		replies: replies{"server/discover": {ends: true}, "initialize": {ends: true}},
		fails:   &failure{texts: []string{"API_KEY is not set", "see the manual"}},
		behind:  &failure{number: -32602, texts: []string{"unknown"}},
	},
	{
		name: "language-server", over: overStdio,
		first:  "Content-Length: 2\r\n\r\n{}\n",
		fails:  &failure{texts: []string{"Content-Length", "language server"}},
		behind: &failure{number: -32602, texts: []string{"unknown"}},
	},
	{
		name: "prompt-argument-missing",
		replies: replies{
			"prompts/list": result(`{"prompts":[{"name":"ask","arguments":[{"name":"topic","required":true}]}]}`),
			"prompts/get":  result(`{"messages":[{"role":"user","content":{"type":"text","text":"done"}}]}`),
		},
		ask:  getPrompt,
		want: "done",
	},
	{
		name: "flood-logs", over: overStdio,
		replies: replies{"tools/call": say(strings.Repeat(floodLog+"\n", 10_000) + `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"done"}]}}`)},
		want:    "done",
	},
	{
		name: "flood-logs-http", over: overHTTP,
		replies: replies{"tools/call": {
			kind: "text/event-stream",
			text: strings.Repeat("data: "+floodLog+"\n\n", 10_000) + `data: {"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"done"}]}}` + "\n\n",
		}},
		want: "done",
	},
	{
		name: "flood-list-changes", over: overStdio,
		replies: replies{"tools/call": say(strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n", 1000) + `{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"done"}]}}`)},
		want:    "done",
	},
	// Refused:
	{
		name:    "call-silence",
		replies: replies{"tools/call": silence},
		timeout: nearLimit,
		fails:   &failure{texts: []string{"no answer within 100ms"}},
		behind:  &failure{texts: []string{"no result within 100ms, its timeout; the call may have run"}},
	},
	{
		name:    "dead-relay",
		replies: replies{"tools/call": {dies: true}},
		timeout: nearLimit,
		fails:   &failure{texts: []string{"no answer within 100ms"}},
		behind:  &failure{texts: []string{"no message for 30s, and no answer to a ping; the call may have run"}},
	},
	{
		name:    "result-and-error",
		replies: replies{"tools/call": say(`{"jsonrpc":"2.0","id":$id,"result":{"content":[]},"error":{"code":4050,"message":"no paper"}}`)},
		fails:   &failure{texts: []string{"either a result or an error"}},
	},
	{
		name:    "error-without-code",
		replies: replies{"tools/call": say(`{"jsonrpc":"2.0","id":$id,"error":{"message":"no paper"}}`)},
		fails:   &failure{texts: []string{"member code must be an integer"}},
	},
	{
		name:    "revision-unknown",
		replies: replies{"initialize": result(`{"protocolVersion":"2099-01-01","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)},
		fails:   &failure{texts: []string{`2099-01-01`}},
		behind:  &failure{number: -32602, texts: []string{"unknown"}},
	},
	{
		name: "event-stream-elsewhere", over: overHTTP,
		events:   true,
		endpoint: "http://127.0.0.2:1/messages",
		fails:    &failure{texts: []string{"want the origin"}},
		behind:   &failure{number: -32602, texts: []string{"unknown"}},
	},
}
