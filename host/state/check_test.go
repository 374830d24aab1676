package state_test

import (
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/host/state"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestStorePassesItsCheck(t *testing.T) {
	t.Parallel()
	mcptest.CheckStore(t, func(t *testing.T) (one, two mcp.Store) {
		dir := filepath.Join(t.TempDir(), "state")
		return state.Open(dir, key('k')), state.Open(dir, key('k'))
	})
}
