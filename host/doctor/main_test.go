package doctor_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/testdir"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) {
	testdir.Prepare()
	mcptest.Main(m)
}
