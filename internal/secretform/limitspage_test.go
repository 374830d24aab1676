package secretform

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestLimitsAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	claim.Limit(t, "schema of a form that is searched for secrets; its message; values around a field", claim.Bytes(maxBytes), claim.Bytes(maxBytes), maxDepth)
}
