package terminal

import (
	"testing"

	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }
