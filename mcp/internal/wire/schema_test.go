package wire

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

func TestEveryShapeCompiles(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Revisions() {
		for _, strict := range []bool{false, true} {
			s := NewSchema(dialect.Of(v), nil, strict)
			if len(s.shapes) < 30 {
				t.Errorf("%s: got %d shapes", v, len(s.shapes))
			}
			for key, sh := range s.shapes {
				if _, err := s.validator(key, sh); err != nil {
					t.Errorf("%s: %s: %v", v, key, err)
				}
			}
		}
	}
}
