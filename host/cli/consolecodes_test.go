package cli

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host/consent"
)

func TestCodesOfCommandsInTheConsoleAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var codes commandCodes
		for i := range maxWantedCodes + 3 {
			codes.add(fmt.Sprint("approve ", i), fmt.Sprintf("%06d", i))
		}
		codes.add("approve 5", "777777") // once more
		got := codes.all()
		if len(got) != maxWantedCodes || got[0].Code != "777777" || got[1].About != fmt.Sprint("approve ", maxWantedCodes+2) {
			t.Errorf("got %v, want the last %d, the last one first", got, maxWantedCodes)
		}
		if codes.remove("approve 5"); len(codes.all()) != maxWantedCodes-1 {
			t.Errorf("got %v, want what was decided gone", codes.all())
		}
		if time.Sleep(consent.QuestionTime); len(codes.all()) != 0 {
			t.Errorf("got %v, want nothing that does not hold any more", codes.all())
		}
	})
}
