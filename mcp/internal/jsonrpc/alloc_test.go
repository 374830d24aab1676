//go:build !race

// The race detector makes sync.Pool forget at random, so that there is nothing
// to count.

package jsonrpc_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

func TestDecodeOfACallAllocatesLittle(t *testing.T) {
	data := []byte(toolsCall)
	allocs := testing.AllocsPerRun(200, func() {
		if _, err := jsonrpc.Decode(data, jsonrpc.Limits{}); err != nil {
			t.Fatal(err)
		}
	})
	const ceiling = 4
	if allocs > ceiling {
		t.Errorf("got %v allocations, want at most %v", allocs, ceiling)
	}
}

func TestAppendIntoABufferAllocatesNothing(t *testing.T) {
	m, err := jsonrpc.Decode([]byte(toolsCall), jsonrpc.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 0, 2*len(toolsCall))
	allocs := testing.AllocsPerRun(200, func() {
		jsonrpc.AppendRequest(buffer, m.ID, m.Method, m.Params)
	})
	if allocs != 0 {
		t.Errorf("got %v allocations, want none", allocs)
	}
}
