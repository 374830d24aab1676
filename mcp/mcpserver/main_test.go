package mcpserver_test

import (
	"os"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		mcpserver.Main(chatty())
		return
	}
	leak.Main(m)
}
