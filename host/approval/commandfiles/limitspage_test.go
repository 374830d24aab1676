package commandfiles

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "files of one server that run; size of one; files that are searched for in its arguments and variables; commands among its arguments", maxCodeFiles, claim.Bytes(maxCodeSize), maxLookups, maxCommands)
}
