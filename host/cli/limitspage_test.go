package cli

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "the start of a program that a command names behind `--`, until it has answered the handshake", programConnectTimeout)
	claim.Limit(t, "arguments that `fondaco call` reads from standard input", claim.Bytes(maxArguments))
	claim.Limit(t, "time for a shell completion", completionTime)
	claim.Limit(t, "resources that `fondaco watch` watches if no URI is given", maxWatched)
	claim.Limit(t, "waiting for the answer of a running host on its control socket", answerTime)
	claim.Limit(t, "arguments that a question shows: on the terminal; in the inbox", maxShownArguments)
	claim.Limit(t, "time after a question about the approval of a server that was denied, or has ended, until the terminal asks about that server again; the longest", approvalPause, maxApprovalPause)
	claim.Limit(t, "a file of `--token` or `--header`", claim.Bytes(maxSecret))
	claim.Limit(t, "codes for commands that the inbox of the console shows", maxWantedCodes)
	claim.Limit(t, "a message of a server in which the console looks for a log message; directories of which it lists the recordings", claim.Bytes(maxLogMessage), maxRecordingDirs)
}
