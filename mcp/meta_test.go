package mcp_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestMetaKeyGrammar(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-024", "R-026")
	for _, c := range []struct {
		key          string
		ok, reserved bool
	}{
		{"", true, false},
		{"a", true, false},
		{"A1", true, false},
		{"a-b_c.d", true, false},
		{"progressToken", true, true},
		{"traceparent", true, false},
		{"com.example/", true, false},
		{"com.example/a", true, false},
		{"x/y", true, false},
		{"a1-b.c2/n", true, false},
		{"io.modelcontextprotocol/protocolVersion", true, true},
		{"dev.mcp/x", true, true},
		{"org.modelcontextprotocol.api/x", true, true},
		{"com.mcp.tools/x", true, true},
		{"com.example.mcp/x", true, false},
		{"mcp/x", true, false},
		{"modelcontextprotocol/x", true, false},

		{"/a", false, false},
		{".a", false, false},
		{"a-", false, false},
		{"-a", false, false},
		{"a b", false, false},
		{"é", false, false},
		{"com..example/a", false, false},
		{".com/a", false, false},
		{"com./a", false, false},
		{"1com/a", false, false},
		{"com-/a", false, false},
		{"co_m/a", false, false},
		{"com.example/a/b", false, false},
		{"com.example/-a", false, false},
	} {
		if err := mcp.CheckMetaKey(c.key); (err == nil) != c.ok {
			t.Errorf("%q: got error %v, want accepted %t", c.key, err, c.ok)
		}
		if got := mcp.ReservedMetaKey(c.key); got != c.reserved {
			t.Errorf("%q: got reserved %t, want %t", c.key, got, c.reserved)
		}
	}
}

func TestMetaGetAndSet(t *testing.T) {
	t.Parallel()
	m := mcp.Meta{}
	if err := m.Set("com.example/n", 7); err != nil {
		t.Fatal(err)
	}
	var n int
	if found, err := m.Get("com.example/n", &n); !found || err != nil || n != 7 {
		t.Errorf("got %d, %t and error %v, want 7", n, found, err)
	}
	if found, err := m.Get("com.example/other", &n); found || err != nil {
		t.Errorf("absent: got %t and error %v, want nothing", found, err)
	}
	if found, err := mcp.Meta(nil).Get("k", &n); found || err != nil {
		t.Errorf("nil: got %t and error %v, want nothing", found, err)
	}
	var s string
	if found, err := m.Get("com.example/n", &s); !found || err == nil {
		t.Errorf("another type: got %t and error %v, want an error", found, err)
	}
	if err := m.Set("a b", 1); err == nil {
		t.Errorf("bad key: got no error")
	}
	if err := m.Set("k", func() {}); err == nil {
		t.Errorf("no JSON: got no error")
	}
}

func TestOwnMetaKeysFollowTheGrammar(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-024", "R-025")
	for _, key := range []string{
		mcp.MetaProgressToken, mcp.MetaProtocolVersion, mcp.MetaClientCapabilities, mcp.MetaClientInfo, mcp.MetaServerInfo,
		mcp.MetaLogLevel, mcp.MetaSubscriptionID, mcp.MetaRelatedTask, mcp.MetaModelImmediateResponse,
	} {
		if err := mcp.CheckMetaKey(key); err != nil || !mcp.ReservedMetaKey(key) {
			t.Errorf("%q: got error %v, want a reserved key", key, err)
		}
	}
}
