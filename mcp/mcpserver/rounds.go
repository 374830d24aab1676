package mcpserver

import (
	"encoding/json/jsontext"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
)

// rounds is what one call has asked so far. In the session era that is one run
// of the handler; in the stateless era each round is a run, and memory travels
// from one to the next through the client, sealed.
type rounds struct {
	replays bool                      // the call can be made again with answers
	given   map[string]jsontext.Value // answers that came with this request
	end     *lazyctx.Context          // of the run; nil unless it replays

	mu       sync.Mutex // guards the fields below
	memory   memory
	used     map[string]bool             // keys of this run
	open     map[string]mcp.InputRequest // questions of this run without an answer
	ended    chan struct{}               // closed a moment after the first question is open
	gather   *time.Timer                 // closes it
	caughtUp bool                        // the run has passed the first new answer
	live     map[string]*parked          // values that this run holds
	tried    bool                        // to make the reply of a run that has asked
	reply    *mcp.InputRequiredResult    // which is nil when that failed
	over     bool                        // the run is over
	released bool                        // and so is the call
}

// memory is what a call remembers from one round to the next.
type memory struct {
	// ID is that of the state, new in every round.
	ID string `json:"id"`
	// Round counts the runs before this one.
	Round int `json:"round"`
	// Began and Seed are what Began, NewID and Rand go by.
	Began time.Time `json:"began"`
	Seed  []byte    `json:"seed,omitempty"`
	// Answers of the client and Results of Once, by key.
	Answers map[string]jsontext.Value `json:"answers,omitempty"`
	Results map[string]jsontext.Value `json:"results,omitempty"`
	// Parked names the replica that holds a value of Park, by key.
	Parked map[string]string `json:"parked,omitempty"`
	// Progress is the last that the client was told.
	Progress float64 `json:"progress,omitzero"`
	// Raw tells that the handler asks by itself, and Own is its own state.
	Raw bool    `json:"raw,omitzero"`
	Own *string `json:"own,omitzero"`
}

const (
	maxKey = 64 // bytes
	// gathering is how long a run goes on after its first open question, so that
	// those which other goroutines are about to ask go out in the same round.
	gathering = 5 * time.Millisecond
)

// claim marks keys as used in this run.
func (r *rounds) claim(keys ...string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range keys {
		switch {
		case key == "" || len(key) > maxKey:
			return fmt.Errorf("key %q: want 1 to %d bytes", key, maxKey)
		case r.used[key]:
			return fmt.Errorf("key %q: used already in this call; want another one for each step", key)
		}
		if r.used == nil {
			r.used = make(map[string]bool)
		}
		r.used[key] = true
	}
	return nil
}

// ending returns ErrInputRequired once the run has nothing left to do.
func (r *rounds) ending() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endingLocked()
}

func (r *rounds) endingLocked() error {
	if r.over || r.ended != nil && isClosed(r.ended) {
		return ErrInputRequired
	}
	return nil
}

// stopped returns ErrInputRequired once a question is open: then nothing more may
// be done.
func (r *rounds) stopped() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.open != nil {
		return ErrInputRequired
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// answer returns the answer to a question that is known, from an earlier round or
// from this request, and whether it is new.
func (r *rounds) answer(key string) (raw jsontext.Value, isNew, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if raw, known = r.memory.Answers[key]; known {
		return raw, false, true
	}
	raw, known = r.given[key]
	return raw, true, known
}

// keep remembers an answer that fits.
func (r *rounds) keep(key string, raw jsontext.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memory.Answers == nil {
		r.memory.Answers = make(map[string]jsontext.Value)
	}
	r.memory.Answers[key] = slices.Clone(raw)
	r.caughtUp = true
}

// forget drops an answer that does not fit any more.
func (r *rounds) forget(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.memory.Answers, key)
}

// ask opens questions and ends the run.
func (r *rounds) ask(requests map[string]mcp.InputRequest) error {
	r.mu.Lock()
	if err := r.endingLocked(); err != nil {
		r.mu.Unlock()
		return err
	}
	if r.open == nil {
		r.open, r.ended = make(map[string]mcp.InputRequest), make(chan struct{})
		r.gather = time.AfterFunc(gathering, r.endRun)
	}
	for key, q := range requests {
		r.open[key] = q
	}
	ended := r.ended
	r.mu.Unlock()
	<-ended
	return ErrInputRequired
}

// endRun ends what runs for a call that has asked.
func (r *rounds) endRun() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLocked()
}

func (r *rounds) endLocked() {
	if !isClosed(r.ended) {
		close(r.ended)
		r.end.Cancel(ErrInputRequired)
	}
}

// asked returns the open questions of a run that is over. From then on nothing
// can be asked.
func (r *rounds) asked() map[string]mcp.InputRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.ended != nil {
		r.gather.Stop()
		r.endLocked()
	}
	return r.open
}

// again begins another run of the same call.
func (r *rounds) again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used = nil
	r.memory.Round++
}

// replaying reports whether the run repeats what an earlier one has done.
func (r *rounds) replaying() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.replays && r.memory.Round > 0 && !r.caughtUp && !r.memory.Raw
}

func (r *rounds) round() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memory.Round
}

// Round returns how many rounds of questions the call has behind it: 0 for a
// call that the client makes for the first time, and 1 when it makes it again
// with the first answers. It is 0 in the session era, where a call runs once.
func (r *Request) Round() int {
	if r == nil {
		return 0
	}
	return r.rounds.round()
}
