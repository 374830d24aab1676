package load

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestOnlyTheRightAnswerCounts(t *testing.T) {
	answer := func(id int, result string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, firstID+id, result)
	}
	echoed := func(id int, rest string) string {
		return fmt.Sprintf(`{"content":[{"type":"text","text":"%d%s"}]}`, firstID+id, rest)
	}
	const rest = "abcdefghijklmnopqrstuv"
	tests := []struct {
		call   string
		answer string
		right  bool
	}{
		{"echo", answer(1, echoed(1, rest)), true},
		{"echo", fmt.Sprintf(`{"jsonrpc":"2.0","result":%s,"id":%d}`, echoed(1, rest), firstID+1), true},
		{"echo", answer(2, echoed(2, rest)), false},
		{"echo", answer(1, echoed(2, rest)), false},
		{"echo", answer(1, echoed(1, rest[1:])), false},
		{"echo", answer(1, echoed(1, rest+"x")), false},
		{"echo", answer(1, `{"isError":true,`+echoed(1, rest)[1:]), false},
		{"echo", answer(1, strings.TrimSuffix(echoed(1, rest), "}")+`,"isError":true}`), false},
		{"echo", `{"jsonrpc":"2.0","error":{"code":-32603,"message":"busy"}}`, false},
		{"add", answer(1, `{"content":[],"structuredContent":{"sum":1000000008}}`), true},
		{"add", answer(1, `{"content":[],"structuredContent":{"sum":1000000009}}`), false},
		{"add", answer(1, `{"content":[],"structuredContent":{"sum":10000000080}}`), false},
		{"big", answer(1, `{"content":[{"type":"text","text":"short"}]}`), false},
		{"list", answer(1, `{"tools":[{"name":"echo"},{"name":"add"},{"name":"big"},{"name":"tool_00000"},{"name":"tool_00001"}]}`), true},
		{"list", answer(1, `{"tools":[{"name":"echo"},{"name":"add"},{"name":"big"},{"name":"tool_00000"}]}`), false},
	}
	for _, test := range tests {
		c := newCall(Params{Era: "26", Call: test.call, Size: 32, Tools: 2})
		if got := c.answers([]byte(test.answer), firstID+1); got != test.right {
			t.Errorf("%s: got %v for %s, want %v", test.call, got, test.answer, test.right)
		}
	}
}

func TestGatewayListsTheToolsOfEachServer(t *testing.T) {
	c := newCall(Params{Era: "26", Call: "list", Tools: 1, Upstreams: []string{"a", "b"}})
	answer := func(names ...string) []byte {
		for i, name := range names {
			names[i] = `{"name":"` + name + `"}`
		}
		return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"tools":[%s]}}`, firstID+1, strings.Join(names, ","))
	}
	if !c.answers(answer("a__add", "a__big", "a__echo", "a__tool_00000", "b__add", "b__big", "b__echo", "b__tool_00000"), firstID+1) {
		t.Error("got the tools of both servers refused")
	}
	if c.answers(answer("a__add", "a__big", "a__echo", "a__tool_00000", "b__add", "b__big", "b__echo"), firstID+1) {
		t.Error("got a list accepted in which a tool is missing")
	}
	call := newCall(Params{Era: "26", Call: "echo", Size: 32, Upstreams: []string{"a", "b"}})
	if call.tool != "a__echo" || !strings.Contains(string(call.body), `"name":"a__echo"`) {
		t.Errorf("got %s, %s, want the tool of the first server", call.tool, call.body)
	}
}

func TestEveryOccurrenceOfTheIDIsWritten(t *testing.T) {
	c := newCall(Params{Era: "25", Call: "echo", Size: 12})
	for _, at := range c.ids {
		putID(c.body[at:], firstID+5)
	}
	want := `{"jsonrpc":"2.0","id":1000000005,"method":"tools/call","params":{"name":"echo","arguments":{"text":"1000000005ab"}}}`
	if got := string(c.body); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestQuantilesAreExactToTwoPercent(t *testing.T) {
	var h histogram
	for i := range 10_000 {
		h.add(time.Duration(i) * time.Microsecond)
	}
	for q, want := range map[float64]time.Duration{0.5: 5 * time.Millisecond, 0.99: 9900 * time.Microsecond} {
		if got := h.quantile(q); got < want*98/100 || got > want {
			t.Errorf("quantile %v: got %v, want %v", q, got, want)
		}
	}
}
