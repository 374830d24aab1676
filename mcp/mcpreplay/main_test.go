package mcpreplay_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }
