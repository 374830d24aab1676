package mcpwire

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "a message in a recording; a line of a recording that is read; all of it", claim.Bytes(maxRecorded), claim.Bytes(maxRecordedLine), claim.Bytes(maxRecording))
	claim.Limit(t, "forms with fields for secrets that a log or a recording knows; such fields of one; bytes of their names", maxSecretForms, maxSecretFields, claim.Bytes(maxSecretNames))
}
