package wire

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

func TestEveryMessagePartCompiles(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Revisions() {
		for _, strict := range []bool{false, true} {
			s := NewSchema(dialect.Of(v), nil, strict)
			if len(s.parts) < 30 {
				t.Errorf("%s: got %d parts", v, len(s.parts))
			}
			for key, sh := range s.parts {
				if _, err := s.validator(key, sh); err != nil {
					t.Errorf("%s: %s: %v", v, key, err)
				}
			}
		}
	}
}
