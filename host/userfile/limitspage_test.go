package userfile

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "waiting for another process that changes the state, the approvals or the audit log", maxLockWait)
}
