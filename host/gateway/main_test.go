package gateway_test

import (
	"os"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcptest"
)

// role is set for processes that the tests start from their own binary.
const role = "FONDACO_GATEWAY_TEST"

// roles are what they do, by name.
var roles = make(map[string]func())

func TestMain(m *testing.M) {
	if act := roles[os.Getenv(role)]; act != nil {
		act()
		os.Exit(0)
	}
	mcptest.Main(m)
}
