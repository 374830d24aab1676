package audit

import (
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	o := new(Options).orZero()
	claim.Limit(t, "one file of the audit log", claim.Bytes(o.MaxFile))
	claim.Limit(t, "all files of the audit log", claim.Bytes(o.MaxTotal))
	claim.Limit(t, "age of a line of the audit log", int(o.Retention/(24*time.Hour)))
	claim.Limit(t, "name, reason, arguments in a line of the audit log", maxName, maxReason, maxArguments)
	claim.Limit(t, "failures of one caller or server in the audit log", repeatBurst, repeatRefill)
	claim.Limit(t, "callers without credentials whose failures are counted by the name of their client; all callers and servers whose failures are counted", maxRepeatNames, maxRepeatOwners)
	claim.Limit(t, "outcomes that wait until they can be written", maxUnwritten)
	claim.Limit(t, "lines that wait for a syslog server", maxSyslogQueue)
	claim.Limit(t, "lines that wait for a collector of the audit log; their bytes; those that are sent together", maxOTLPQueue, claim.Bytes(maxOTLPHeld), maxOTLPBatch)
	claim.Limit(t, "waiting for a syslog server that is required", syslogTimeout)
}
