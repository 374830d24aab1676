package dialect_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// object returns a JSON object of that many bytes.
func object(size int, members string) string {
	return `{` + members + `"x":"` + strings.Repeat("x", size-len(`{"x":""}`)-len(members)) + `"}`
}

func TestWhatAClientSaysAboutItselfIsBounded(t *testing.T) {
	t.Parallel()
	s := newServer()
	const info, name = `clientInfo: %d bytes, want at most 16384`, `"name":"c","version":"1",`
	const can = `apabilities: %d bytes, want at most 65536`
	claim.Limit(t, "what a client says about itself: its info; its capabilities", claim.Bytes(16<<10), claim.Bytes(64<<10))
	for _, test := range []struct {
		what       string
		info, can  int
		complaint  string
		complaints int
	}{
		{"as much as it may", 16 << 10, 64 << 10, "", 0},
		{"a long name", 16<<10 + 1, 2 + 6, info, 16<<10 + 1},
		{"long capabilities", 1000, 64<<10 + 1, can, 64<<10 + 1},
	} {
		t.Run(test.what, func(t *testing.T) {
			t.Parallel()
			info, can := object(test.info, name), object(test.can, "")
			session := decode(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":`+info+`,"capabilities":`+can+`}}`)
			escaped := decode(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","client\u0049nfo":`+info+`,"c\u0061pabilities":`+can+`}}`)
			stateless := decode(t, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":`+info+`,"io.modelcontextprotocol/clientCapabilities":`+can+`}}}`)
			call, err := s.Open(session, dialect.TransportInfo{})
			if err == nil {
				_, err = s.Negotiate(call)
			}
			checkComplaint(t, "initialize", err, test.complaint, test.complaints)
			if call, err = s.Open(escaped, dialect.TransportInfo{}); err == nil {
				_, err = s.Negotiate(call)
			}
			checkComplaint(t, "initialize with escaped names", err, test.complaint, test.complaints)
			_, err = s.Open(stateless, dialect.TransportInfo{})
			checkComplaint(t, "tools/list", err, strings.ReplaceAll(test.complaint, "clientInfo", "io.modelcontextprotocol/clientInfo"), test.complaints)
		})
	}
}

func checkComplaint(t *testing.T, what string, err error, complaint string, size int) {
	t.Helper()
	if complaint == "" {
		if err != nil {
			t.Errorf("%s: got %v, want no error", what, err)
		}
		return
	}
	want := fmt.Sprintf(complaint, size)
	e, ok := errors.AsType[*mcp.Error](err)
	if refusal, refused := errors.AsType[*dialect.Refusal](err); refused {
		e, ok = refusal.Err, true
	}
	if !ok || e.Code != mcp.CodeInvalidParams || !strings.Contains(e.Message, want) {
		t.Errorf("%s: got %v, want invalid params: %s", what, err, want)
	}
}
