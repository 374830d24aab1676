package httpserver_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) { mcptest.Main(m) }
