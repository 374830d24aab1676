package handles

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	var o Options
	claim.Limit(t, "handles: time without use, size of one value, number in one process, number of one authenticated principal", o.idle(), claim.Bytes(o.maxSize()), o.max(), o.maxPerPrincipal())
}
