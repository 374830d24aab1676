package consent

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	claim.Limit(t, "a call that waits for consent", defaultWait)
	claim.Limit(t, "time in which a question can be answered; in which a yes lets the identical call through", QuestionTime, onceTime)
	claim.Limit(t, "questions that wait: of one caller without credentials (its session) or one principal; of one principal; in all", maxOwnerQuestions, maxGroupQuestions, maxQuestions)
	claim.Limit(t, "a question of a server that the user of the host answers", defaultWait)
	claim.Limit(t, "questions of one server that wait: for one caller; in all", maxServerQuestions, maxServerGroup)
	claim.Limit(t, "a question that waits, without its answer", claim.Bytes(maxQuestionBytes))
	claim.Limit(t, "images and sounds of a question of a server that the inbox shows; the bytes of one; of all", maxFiles, claim.Bytes(maxFileBytes), claim.Bytes(maxFilesBytes))
	claim.Limit(t, "wrong codes for one question", maxTries)
	claim.Limit(t, "wrong codes that a host accepts in all; after which time one of them no longer counts", maxWrongCodes, wrongCodeTime)
	claim.Limit(t, "grants of one principal; time of one for a session", maxGrants, sessionTime)
	claim.Limit(t, "arguments that a grant shows", claim.Bytes(maxArgumentsText))
	claim.Limit(t, "tools of a server in one grant for read-only tools", maxReadOnlyTools)
}
