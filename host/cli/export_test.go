package cli

import (
	"os"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/approvalscreen"
	"github.com/fondaco/fondaco/host/policy"
)

var NotifyContext = notifyContext

// CommandNames returns the names of all commands.
func CommandNames() (names []string) {
	for _, c := range commands {
		names = append(names, c.name)
	}
	return names
}

// SetPatience sets how long commands wait for an answer of a running host.
func SetPatience(d time.Duration) { answerLimit, bridgeGrace, outcomeWait = d, d, d }

// SetLameDuck sets how long hosts serve after their context has ended.
func SetLameDuck(d time.Duration) { lameDuck = d }

// SetPolicy sets the path of the managed policy of the programs that tests start. Its owner
// is the user who runs the tests.
func SetPolicy(path string) { policyPlace = policy.Place{Path: path, Owner: os.Getuid()} }

// IntentOf describes the approval of a server for the host that shows a code for it.
func IntentOf(s *approval.Subject) string {
	return intentOf([]approvalscreen.Item{{Upstream: &host.Upstream{Key: s.Name}, Server: &approval.Pending{Subject: s}}})
}
