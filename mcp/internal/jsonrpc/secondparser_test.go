package jsonrpc_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// mutations are inserted into messages.
var mutations = []string{
	`"`, `\`, `{`, `}`, `[`, `]`, `,`, `:`, ` `, "\n", "\t", "\r", "\x00", "\x7f", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\ufeff", "\u2028", "\u00e9",
	`null`, `true`, `0`, `-0`, `01`, `1.`, `.5`, `1e3`, `1E+400`, `-`, `9007199254740993`, `NaN`, `Infinity`, `0x1`, `\u0000`, `\ud800`, `\udc00`, `\ud83d\ude00`, `\u00e`, `\x`,
	`"id":2,`, `"method":"m",`, `"params":{},`, `"params":null,`, `"a":1,`, `"a":1,"a":2,`, `"\u0061":1,`, `"jsonrpc":"2.0",`, `"result":1,`, `"error":null,`,
	`//`, `/**/`, `'`, "`", `,}`, `{"a":`, `[[[`, `]]]`, `"Method":"x",`, `"__proto__":{"a":1},`,
}

// TestASecondParserReadsTheSame compares what is accepted with what JSON.parse of JavaScript reads,
// as the server behind a host could. A member twice in a request is a divergence, too.
func TestASecondParserReadsTheSame(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("SKIPPED: there is no Node")
	}
	seeds := []string{
		toolsCall,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5,"message":"half \u00e9"}}`,
		`{"jsonrpc":"2.0","id":"a\/b","method":"tools/call","params":{"name":"x","arguments":{"a":[1,-2.5e3,true,null,"\ud83d\ude00"],"b":{"c":{}}}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"a":1,"b":{"c":[1,{"d":"e"}]}}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":{"a":[]}}}`,
		"{ \"jsonrpc\" : \"2.0\",\r\n\t\"id\": 7, \"method\": \"ping\" }",
	}
	random := rand.New(rand.NewPCG(1, 2))
	var texts bytes.Buffer
	var accepted []string
	for range 40_000 {
		text := seeds[random.IntN(len(seeds))]
		for range 1 + random.IntN(3) {
			at := random.IntN(len(text) + 1)
			end := at
			if random.IntN(3) == 0 {
				end = min(at+random.IntN(4), len(text))
			}
			text = text[:at] + mutations[random.IntN(len(mutations))] + text[end:]
		}
		m, err := jsonrpc.Decode([]byte(text), jsonrpc.Limits{})
		if err != nil {
			continue
		}
		accepted = append(accepted, text)
		fmt.Fprintln(&texts, base64.StdEncoding.EncodeToString([]byte(text)), base64.StdEncoding.EncodeToString(encode(m)))
	}
	command := exec.Command(node, "testdata/compare.js")
	command.Stdin = &texts
	output, err := command.CombinedOutput()
	divergences, compared, ok := strings.Cut(string(output), "compared ")
	if err != nil || !ok || strings.TrimSpace(compared) != fmt.Sprint(len(accepted)) {
		t.Fatalf("%v\n%s", err, output)
	}
	if len(accepted) < 2000 {
		t.Errorf("got %d messages that are accepted, want more to compare", len(accepted))
	}
	for i, line := range strings.Split(strings.TrimSpace(divergences), "\n") {
		var n int
		if _, err := fmt.Sscan(line, &n); err == nil && i < 10 {
			t.Errorf("%q is accepted: %s", accepted[n], line)
		}
	}
}
