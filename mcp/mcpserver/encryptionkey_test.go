package mcpserver_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestKeysAreFormattedAsTheirID(t *testing.T) {
	t.Parallel()
	key := mcpserver.Key{ID: "blue", Secret: []byte("hunter2 hunter2 hunter2 hunter2 ")}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("rotated", "key", key)
	for _, got := range []string{fmt.Sprint(key), fmt.Sprintf("%#v", &key), fmt.Sprintf("%x", []mcpserver.Key{key}), log.String()} {
		if !strings.Contains(got, "blue") || strings.Contains(got, "hunter2") || strings.Contains(got, fmt.Sprintf("%x", "hunter2")) || strings.Contains(got, "104 117") {
			t.Errorf("got %s", got)
		}
	}
}
