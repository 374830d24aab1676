package wire

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// piece is what of a message is held against a schema.
type piece struct {
	key   string
	value jsontext.Value
}

// transcribed returns the parts of all recorded messages of a revision.
func transcribed(t *testing.T, v mcp.Revision) (parts []piece) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(moduleRoot(t), "mcp/internal/integration/testdata/*/"+v.String()+".txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("got %d transcripts, %v", len(names), err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		methods := make(map[string]string) // of requests, by id
		for line := range strings.Lines(string(text)) {
			if arrow, message, _ := strings.Cut(line, " "); arrow == "->" || arrow == "<-" {
				if p, ok := pieceOf(t, message, methods); ok {
					parts = append(parts, p)
				}
			}
		}
	}
	return parts
}

func pieceOf(t *testing.T, message string, methods map[string]string) (piece, bool) {
	t.Helper()
	m, err := jsonrpc.Decode([]byte(strings.TrimSpace(message)), jsonrpc.Limits{})
	if err != nil {
		return piece{}, false
	}
	switch {
	case m.Method != "":
		methods[m.ID.Key()] = m.Method
		return piece{paramsKey(m.Method), m.Params}, m.Params != nil
	case m.Error != nil:
		raw, err := json.Marshal(node{"code": m.Error.Code, "message": m.Error.Message, "data": m.Error.Data})
		if err != nil {
			t.Fatal(err)
		}
		return piece{errorKey(m.Error.Code), raw}, true
	}
	return piece{resultKey(methods[m.ID.Key()]), m.Result}, true
}
