package mcpware

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestLimitsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "`mcpware.Cache`: results of one tool, their bytes, bytes of one result, and of its arguments",
		maxCached, claim.Bytes(maxCachedBytes), claim.Bytes(maxCachedResult), claim.Bytes(maxCacheKey))
}
