package main

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/bench/internal/contest"
)

func TestMinimalServerAnswers(t *testing.T) {
	a := newAnswers(&contest.Config{Era: "26", Tools: 1})
	tests := []struct{ request, answer string }{
		{
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a \"b\" {c"}}}`,
			`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"a \"b\" {c"}],"resultType":"complete"}}`,
		},
		{
			` { "params" : { "arguments" : { "a" : 3 , "b" : 4.5 } , "_meta" : { "x" : [ "]" ] } , "name" : "add" } , "id" : "s" , "method" : "tools/call" } `,
			`{"jsonrpc":"2.0","id":"s","result":{"content":[{"type":"text","text":"{\"sum\":7.5}"}],"structuredContent":{"sum":7.5},"resultType":"complete"}}`,
		},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{
			`{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{}}`,
			`{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,` +
				`"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"floor","version":"1.0.0"}}}}`,
		},
	}
	for _, test := range tests {
		if got := string(a.append(nil, parse([]byte(test.request)))); got != test.answer {
			t.Errorf("%s:\ngot  %s\nwant %s", test.request, got, test.answer)
		}
	}
	list := string(a.append(nil, parse([]byte(`{"id":1,"method":"tools/list","params":{}}`))))
	if got := strings.Count(list, `"inputSchema"`); got != 4 {
		t.Errorf("got %d tools, want 4: %s", got, list)
	}
}
