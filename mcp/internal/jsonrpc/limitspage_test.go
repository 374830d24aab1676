package jsonrpc

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "values in one message", defaultElements)
	claim.Limit(t, "nesting of one message", defaultDepth)
	claim.Limit(t, "values in one message, nesting", defaultDepth)
	claim.Limit(t, "messages in one batch", maxBatch)
}
