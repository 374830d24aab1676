package jsonrpc_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

const toolsCall = `{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"weather","arguments":` +
	`{"city":"Lübeck","days":3,"units":["metric","si"],"detail":{"hourly":true}},"_meta":{"progressToken":"t-1"}}}`

func BenchmarkDecodeCall(b *testing.B) {
	data := []byte(toolsCall)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonrpc.Decode(data, jsonrpc.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeLargeResult(b *testing.B) {
	row := `{"name":"row","text":"some words of a result","value":12.5,"tags":["a","b"],"ok":true},`
	data := []byte(`{"jsonrpc":"2.0","id":1,"result":[` + strings.Repeat(row, 10_000) + `0]}`)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := jsonrpc.Decode(data, jsonrpc.Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendRequest(b *testing.B) {
	m, err := jsonrpc.Decode([]byte(toolsCall), jsonrpc.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	var buffer []byte
	b.ReportAllocs()
	for b.Loop() {
		buffer = jsonrpc.AppendRequest(buffer[:0], m.ID, m.Method, m.Params)
	}
}
