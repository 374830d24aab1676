package mirrortest

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// CheckResult calls the tool "get" of a server, and compares its result with the JSON that the
// other SDK makes of it: all members and their numbers are the same.
func CheckResult(t *testing.T, server *mcpserver.Server, theirs []byte) {
	t.Helper()
	result, err := mcptest.Connect(t, server, nil).CallTool(t.Context(), "get", nil)
	if err != nil {
		t.Fatal(err)
	}
	result.ResultType = "" // of the stateless era, like the server's name
	delete(result.Meta, mcp.MetaServerInfo)
	got, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	if string(sorted(t, got)) != string(sorted(t, theirs)) {
		t.Errorf("got  %s\nwant %s", got, theirs)
	}
}

// sorted returns JSON with its members sorted, and its numbers as they are written.
func sorted(t *testing.T, raw jsontext.Value) jsontext.Value {
	t.Helper()
	raw = raw.Clone()
	if err := raw.Format(jsontext.ReorderRawObjects(true), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)); err != nil {
		t.Fatal(err)
	}
	return raw
}
