//go:build !race

package traffic_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
)

// Every call of a host pays this, so a large result must cost no more than a small one.
func TestRecordAllocatesLittle(t *testing.T) {
	for _, size := range []int{10, 1 << 20} {
		r := traffic.New()
		ask := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"log","arguments":{}}}`)
		answer := []byte(`{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", size) + `"}]}}`)
		call := func() {
			r.Record("", mcp.WireMessage{Conn: 1, Data: ask})
			r.Record("git", mcp.WireMessage{Conn: 2, Sent: true, Data: ask})
			r.Record("git", mcp.WireMessage{Conn: 2, Data: answer})
			r.Record("", mcp.WireMessage{Conn: 1, Sent: true, Data: answer})
		}
		for range traffic.Capacity {
			call()
		}
		if n := testing.AllocsPerRun(200, call); n > 4 {
			t.Errorf("results of %d bytes: got %v allocations, want at most the two names and the two methods", size, n)
		}
	}
}
