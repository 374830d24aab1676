package mcpclient_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/leak"
)

func TestMain(m *testing.M) {
	runAsServer() // does not return when this is the child of a test
	leak.Main(m)
}
