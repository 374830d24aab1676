package relay

import (
	"testing"
	"testing/synctest"
	"time"
)

// A caller may defer Stop and call it as well, and what asks the person may be late.
func TestNothingIsReportedAfterAPersonWaitHasStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reports := make(chan string, 100)
		w := &PersonWait{Report: func(message string) { reports <- message }}
		w.Start("answer question 1", "fondaco answer 1")
		time.Sleep(personWaitInterval)
		synctest.Wait()
		w.Stop()
		w.Stop()
		w.Start("answer question 2", "fondaco answer 2")
		time.Sleep(time.Minute)
		if len(reports) != 2 {
			t.Errorf("got %d reports, want 2 before the stop and none after it", len(reports))
		}
		never := &PersonWait{Report: w.Report}
		never.Stop()
		never.Start("answer question 3", "fondaco answer 3")
		time.Sleep(time.Minute)
		if len(reports) != 2 {
			t.Errorf("got %d reports, want none of a wait that has ended before", len(reports))
		}
	})
}
