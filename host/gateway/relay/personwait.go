package relay

import (
	"fmt"
	"sync"
	"time"
)

// personWaitInterval is the time between two notifications of progress to a caller whose request waits
// for a person: clients give up a request about which they hear nothing.
const personWaitInterval = 5 * time.Second

// PersonWait reports to the caller of a request that a person is asked, for as long as the request
// waits for the answer.
type PersonWait struct {
	// Report sends progress with a message. Only one call is made at a time.
	Report func(message string)

	mu     sync.Mutex
	ended  chan struct{} // guarded by mu: closed by Stop; nil before Start
	sender sync.WaitGroup
}

// Start begins to report that a person is asked to do something, until Stop is called. A further question
// of the same wait is not reported.
func (w *PersonWait) Start(toDo string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended != nil {
		return
	}
	ended := make(chan struct{})
	w.ended = ended
	w.sender.Go(func() {
		tick := time.NewTicker(personWaitInterval)
		defer tick.Stop()
		for {
			w.Report(fmt.Sprintf("waiting for a person to %s in Fondaco (its terminal, inbox or notification)", toDo))
			select {
			case <-tick.C:
			case <-ended:
				return
			}
		}
	})
}

// Stop ends the reports, and waits until the last one is sent. It must be called once.
func (w *PersonWait) Stop() {
	w.mu.Lock()
	if w.ended != nil {
		close(w.ended)
	}
	w.mu.Unlock()
	w.sender.Wait()
}
