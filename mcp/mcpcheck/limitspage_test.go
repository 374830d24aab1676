package mcpcheck

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	t.Parallel()
	claim.Limit(t, "`fondaco check`: an answer; a start of a program, and of another server", defaultWait, defaultProgramConnect, defaultConnect)
	claim.Limit(t, "`fondaco check`: findings of one rule; different faults in the messages of one revision; text of a result", maxLint, maxFaults, claim.Bytes(maxText))
}
