package doctor

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	t.Parallel()
	claim.Limit(t, "a step of `fondaco doctor` over the network, a list, and a program that is asked for its version; a start of a program, and of another server", stepTimeout, programStart, remoteStart)
	claim.Limit(t, "text of one result of `fondaco doctor`", claim.Bytes(maxText))
	claim.Limit(t, "names of programs that `fondaco doctor` compares with one that is not there", maxPrograms)
}
