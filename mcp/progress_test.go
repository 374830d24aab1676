package mcp_test

import (
	"encoding/json/v2"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestProgressTokens(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-272")
	for _, c := range []struct{ raw, want string }{
		{`"a"`, `"a"`},
		{`"\u0061"`, `"a"`},
		{`""`, `""`},
		{`"1"`, `"1"`},
		{`1`, `1`},
		{`-0`, `-0`},
		{`123456789012345678901234567890`, `123456789012345678901234567890`},
	} {
		var token mcp.ProgressToken
		if err := json.Unmarshal([]byte(c.raw), &token); err != nil {
			t.Errorf("%s: %v", c.raw, err)
			continue
		}
		if got := encode(t, token); got != c.want || token.String() != c.want || token.IsZero() {
			t.Errorf("%s: got %s and %s, want %s", c.raw, got, token, c.want)
		}
	}
	for _, raw := range []string{`1.5`, `1.0`, `1e2`, `null`, `true`, `{}`, `[]`} {
		var token mcp.ProgressToken
		if err := json.Unmarshal([]byte(raw), &token); err == nil {
			t.Errorf("%s: got %v, want an error", raw, token)
		}
	}
}

func TestProgressTokensCompare(t *testing.T) {
	t.Parallel()
	text, err := mcp.StringProgressToken("1")
	if err != nil {
		t.Fatal(err)
	}
	number := mcp.IntProgressToken(1)
	if text == number {
		t.Errorf("got %s equal to %s, want different tokens", text, number)
	}
	var again mcp.ProgressToken
	if err := json.Unmarshal([]byte(`"\u0031"`), &again); err != nil || again != text {
		t.Errorf("got %s and error %v, want %s", again, err, text)
	}
	if token, err := mcp.StringProgressToken("\xff"); err == nil {
		t.Errorf("invalid UTF-8: got %s, want an error", token)
	}
}

func TestNoProgressTokenIsNotWritten(t *testing.T) {
	t.Parallel()
	if raw, err := json.Marshal(mcp.ProgressParams{Progress: 1}); err == nil {
		t.Errorf("got %s, want an error", raw)
	}
}
