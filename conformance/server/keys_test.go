package main

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestInvalidKeysAreRefusedWithoutShowingThem(t *testing.T) {
	t.Setenv(mcpserver.KeysVariable, "CANARY")
	err := serve(t.Context(), "127.0.0.1:0")
	if err == nil || strings.Contains(err.Error(), "CANARY") || !strings.Contains(err.Error(), mcpserver.KeysVariable) {
		t.Errorf("got %v, want an error that names the variable and not its value", err)
	}
}
