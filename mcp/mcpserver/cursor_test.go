package mcpserver

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

// FuzzCursor sends anything as a cursor. What is taken is a place in the order,
// what is not is the client's mistake, and a cursor that was given out leads right
// behind the entry of which it was made.
func FuzzCursor(f *testing.F) {
	f.Add(cursor(kindTools, "echo"), "echo")
	f.Add(cursor(kindPrompts, "greet"), "")
	f.Add("YQ", "\xff")
	f.Add("=?", strings.Repeat("a", 1000))
	f.Add(base64.StdEncoding.EncodeToString([]byte("aecho")), "zzz")
	s := New("fuzz", "1", nil)
	for _, name := range []string{"add", "echo", "fail", "wait"} {
		s.SetTool(mcp.Tool{Name: name}, nil)
	}
	c := &s.features.snapshot().catalogs[kindTools]
	f.Fuzz(func(t *testing.T, text, last string) {
		start, err := c.startOf(kindTools, &text)
		if err != nil && mcp.CodeOf(err) != mcp.CodeInvalidParams || start < 0 || start > len(c.order) {
			t.Fatalf("cursor %q: got %d, %v", text, start, err)
		}
		if last == "" {
			return
		}
		at, err := c.startOf(kindTools, new(cursor(kindTools, last)))
		if err != nil {
			t.Fatalf("its own cursor for %q: %v", last, err)
		}
		for i, f := range c.order {
			if (f.key() <= last) != (i < at) {
				t.Fatalf("the page behind %q begins at %d of %d", last, at, len(c.order))
			}
		}
	})
}
