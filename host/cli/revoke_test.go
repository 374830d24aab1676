package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host/revocation"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// unlisted is a store whose keys cannot be listed.
type unlisted struct{ mcp.Store }

func (unlisted) List(context.Context, string, string, int) ([]string, error) {
	return nil, errors.New("too many")
}

func TestRevocationIsUndoneWhileTheListCannotBeRead(t *testing.T) {
	t.Parallel()
	store := new(mcpserver.MemoryStore)
	if err := revocation.Open(store).Add(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	var words bytes.Buffer
	m := newTestMain(t, "", &words)
	list := revocation.Open(unlisted{store})
	if err := new(revokeCommand).accept(t.Context(), m, list, "ada"); err != nil {
		t.Fatalf("got %v, want ada accepted", err)
	}
	if has, err := list.Has(t.Context(), "ada"); has || err != nil || !strings.Contains(words.String(), "ada is accepted again") {
		t.Errorf("got %v, %v, and %q, want ada accepted", has, err, words.String())
	}
	if err := new(revokeCommand).accept(t.Context(), m, list, "bob"); exitCode(err) != exitUsage || !strings.Contains(err.Error(), `"bob" is not revoked`) {
		t.Errorf("got %v, want that bob is not revoked", err)
	}
}
