package traffic

import (
	"strings"
	"testing"
)

// The order of members has no meaning.
func TestResultIsReadInAnyOrder(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(`{"name":"tool","description":"text"},`, 100) + `{"name":"last"}`
	for members, want := range map[string]envelope{
		`"isError":true,"tools":[` + long + `]`:                                      {toolError: true},
		`"tools":[` + long + `],"isError":true`:                                      {toolError: true},
		`"messages":[],"is\u0045rror":true`:                                          {toolError: true},
		`"contents":[{"uri":"a"}],"resultType":"input_required"`:                     {asks: true},
		`"resources":[],"requestState":"s","resultType":"input_required"`:            {asks: true, state: []byte(`"s"`)},
		`"tools":[{"name":"isError","inputSchema":{"properties":{"isError":true}}}]`: {},
		`"tools":[` + long + `],"nextCursor":"isError"`:                              {},
	} {
		var got envelope
		got.read([]byte(`{"jsonrpc":"2.0","id":1,"result":{` + members + `}}`))
		if got.kind != Result || got.toolError != want.toolError || got.asks != want.asks || string(got.state) != string(want.state) {
			t.Errorf("%.60s: got kind %s, tool error %v, asks %v, state %s; want %v, %v, %s", members, got.kind, got.toolError, got.asks, got.state, want.toolError, want.asks, want.state)
		}
	}
}
