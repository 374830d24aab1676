package cli

import (
	"fmt"
	"testing"

	"github.com/fondaco/fondaco/host/consent"
)

func TestCodesOfCommandsInTheConsoleAreLimited(t *testing.T) {
	t.Parallel()
	q := &userQuestions{commandCodes: consent.NewCodes(new(consent.WrongCodes))}
	for i := range maxWantedCodes + 3 {
		q.commandCodes.ShowListed(fmt.Sprint("approve ", i))
	}
	again := q.commandCodes.ShowListed("approve 5")
	got := q.listedCodes()
	if len(got) != maxWantedCodes || got[0].About != "approve 5" || got[0].Code != again || got[1].About != fmt.Sprint("approve ", maxWantedCodes+2) {
		t.Errorf("got %v, want the last %d, the last one first", got, maxWantedCodes)
	}
}
