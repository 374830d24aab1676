package replay

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	maxKey = 64 // bytes of a key
	// maxOpen bounds the questions that one run may leave open.
	maxOpen = 256
)

// Errors of a run.
var (
	// ErrAsked ends a run that has open questions: the handler runs again with the
	// answers.
	ErrAsked = errors.New("the call runs again when the client has answered")
	// ErrEnded reports that the run ended without questions: the handler has returned.
	ErrEnded = errors.New("the call has ended")
	// ErrRounds reports that the call may not ask again.
	ErrRounds = errors.New("too many rounds without a new answer")
)

// Run is one run of a handler. The zero value is a run without memory and answers.
// Start is called before everything else; all other methods are safe for concurrent
// use.
type Run struct {
	context   Canceler // of the run; nil has none
	maxRounds int      // 0: the run cannot leave questions open

	mu     sync.Mutex // guards the fields below
	memory Memory
	steps  *steps // of a handler that has some; nil: no answers, keys and questions
	values map[string]*Value
	ended  error // nil while the run goes on, then why it has ended
}

// steps is what a run has beside its memory when its handler asks or uses keys. Most
// handlers do not, and their runs do without the space.
type steps struct {
	given Table[jsontext.Value] // answers of this request to questions that are open
	used  Table[struct{}]       // keys of this run
	open  Table[Question]       // what this run has asked
	fresh bool                  // a new answer was taken in this run

	firstUsed [4]Entry[struct{}] // memory for the first keys of used
}

// noSteps is what a run without steps has. It is not modified.
var noSteps steps

// stepsLocked returns the steps for reading.
func (r *Run) stepsLocked() *steps {
	if r.steps == nil {
		return &noSteps
	}
	return r.steps
}

// newStepsLocked returns the steps for writing.
func (r *Run) newStepsLocked() *steps {
	if r.steps == nil {
		r.steps = new(steps)
		r.steps.used = r.steps.firstUsed[:0]
	}
	return r.steps
}

// Outcome is how a run has ended. It belongs to whoever closes the run.
type Outcome struct {
	// Next is the memory of the next run, or nil when the handler has finished.
	Next *Memory
	// Questions are those that are open, if there is a next run.
	Questions map[string]mcp.InputRequest
	// Values are those that the run has held. They are to be parked or closed.
	Values map[string]*Value
}

// Canceler ends the context of a run.
type Canceler interface{ Cancel(cause error) }

// Start begins a run with the memory of the runs before it. When the run asks, its context
// is cancelled with ErrAsked. maxRounds bounds the runs of a call that bring no new answer,
// and 0 is for a run that cannot end in questions.
func (r *Run) Start(m Memory, ctx Canceler, maxRounds int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.memory, r.context, r.maxRounds = m, ctx, maxRounds
}

// Give gives the run an answer that came with the request. An answer to a question that is
// not open is dropped. The run does not modify raw.
func (r *Run) Give(key string, raw jsontext.Value) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memory.Open.Has(key) {
		r.newStepsLocked().given.Set(key, raw)
	}
}

// Given returns the answers that were given and not kept or dropped since, in a new map. It
// is nil if there are none.
func (r *Run) Given() map[string]jsontext.Value {
	r.mu.Lock()
	defer r.mu.Unlock()
	given := r.stepsLocked().given
	if len(given) == 0 {
		return nil
	}
	answers := make(map[string]jsontext.Value, len(given))
	for _, a := range given {
		answers[a.Key] = a.Value
	}
	return answers
}

// Use marks a key as used in this run, where each may be used once.
func (r *Run) Use(key string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		return r.ended
	}
	used := &r.newStepsLocked().used
	if err := checkKey(key); err != nil {
		return err
	}
	if used.Has(key) {
		return errKeyUsed
	}
	used.Set(key, struct{}{})
	return nil
}

// Errors of keys. The caller adds the key.
var (
	errKeyUsed   = errors.New("the key is used already in this call; want another one for each step")
	errKeyLength = fmt.Errorf("a key of that length is not allowed; want 1 to %d bytes", maxKey)
)

func checkKey(key string) error {
	if key == "" || len(key) > maxKey {
		return errKeyLength
	}
	return nil
}

// errTooManyQuestions reports that a run would leave more than maxOpen questions open.
var errTooManyQuestions = fmt.Errorf("more than %d questions at once; want fewer, or several rounds", maxOpen)

// Blocked returns why no step may be done any more: the run has ended, or a question is
// open. Nil: the run goes on.
func (r *Run) Blocked() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.blockedLocked()
}

func (r *Run) blockedLocked() error {
	if r.ended == nil && r.stepsLocked().open != nil {
		return ErrAsked
	}
	return r.ended
}

// Lookup is what a run knows about a question.
type Lookup struct {
	// Answer is nil when there is none.
	Answer jsontext.Value
	// Checked says that the answer was kept by an earlier run, which has checked it.
	Checked bool
	// Changed says that there was an answer to another question under the same key. It
	// was dropped.
	Changed bool
	// Again says that the question was asked again already.
	Again bool
}

// Answer returns the answer to a question, from this request or an earlier one. It
// fails once the run has ended.
func (r *Run) Answer(key string, digest Digest) (Lookup, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		return Lookup{}, r.ended
	}
	if a, ok := r.memory.Answers.Get(key); ok {
		if a.Question == digest {
			return Lookup{Answer: a.Value, Checked: a.Checked}, nil
		}
		r.memory.Answers.Delete(key)
		return Lookup{Changed: true}, nil
	}
	asked, _ := r.memory.Open.Get(key)
	same := asked.Digest == digest
	raw, ok := r.stepsLocked().given.Get(key)
	if ok && !same {
		r.steps.given.Delete(key)
		return Lookup{Changed: true}, nil
	}
	return Lookup{Answer: raw, Again: same && asked.Again}, nil
}

// Keep remembers an answer that fits its question. It fails once the run has ended. The run
// does not modify raw.
func (r *Run) Keep(key string, digest Digest, raw jsontext.Value) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		return r.ended
	}
	if r.memory.Answers.Has(key) {
		return nil
	}
	r.memory.Answers.Set(key, Answer{Value: raw, Question: digest, Checked: true})
	s := r.newStepsLocked()
	s.given.Delete(key)
	s.fresh = true
	return nil
}

// Drop forgets an answer that does not fit its question.
func (r *Run) Drop(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.memory.Answers.Delete(key)
		if r.steps != nil {
			r.steps.given.Delete(key)
		}
	}
}

// Ask opens questions, which end the run, and returns ErrAsked. Other goroutines of the
// handler may ask until the run is closed; their questions go out in the same round.
// When the call may not ask again it returns ErrRounds and opens nothing. The questions
// belong to the run from then on.
func (r *Run) Ask(questions Table[Question]) error {
	r.mu.Lock()
	err := r.askLocked(questions)
	first := len(r.stepsLocked().open) == len(questions)
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if first && r.context != nil {
		r.context.Cancel(ErrAsked)
	}
	return ErrAsked
}

func (r *Run) askLocked(questions Table[Question]) error {
	s := r.newStepsLocked()
	switch {
	case r.ended != nil:
		return r.ended
	case !r.mayAskLocked():
		return ErrRounds
	case len(s.open)+len(questions) > maxOpen:
		return errTooManyQuestions
	}
	if s.open == nil {
		s.open = questions
		return nil
	}
	for _, q := range questions {
		s.open.Set(q.Key, q.Value)
	}
	return nil
}

// Result returns the result of a step that an earlier run has done.
func (r *Run) Result(key string) (jsontext.Value, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	raw, ok := r.memory.Results[key]
	return raw, ok
}

// Remember keeps the result of a step. It fails once the run has ended: the result is
// not kept then.
func (r *Run) Remember(key string, raw jsontext.Value) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		return r.ended
	}
	if r.memory.Results == nil {
		r.memory.Results = make(map[string]jsontext.Value)
	}
	r.memory.Results[key] = raw
	return nil
}

// Tickets returns those of the values that earlier runs have parked, by key.
func (r *Run) Tickets() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.memory.Parked)
}

// Claim gives the run the values that earlier runs have parked. When the run has ended it
// closes them.
func (r *Run) Claim(values map[string]*Value) {
	for key, v := range values {
		_ = r.Hold(key, v)
	}
}

// Value returns a value that the run holds. lost says that an earlier run has parked one
// under the key that is gone.
func (r *Run) Value(key string) (v *Value, lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	v = r.values[key]
	_, parked := r.memory.Parked[key]
	return v, v == nil && parked
}

// Hold gives the run a value, which its Outcome will have. When the run has ended it
// closes the value and fails.
func (r *Run) Hold(key string, v *Value) error {
	r.mu.Lock()
	err := r.ended
	if err == nil {
		if r.values == nil {
			r.values = make(map[string]*Value)
		}
		r.values[key] = v
	}
	r.mu.Unlock()
	if err != nil {
		v.Close()
	}
	return err
}

// Close ends the run and returns its outcome. The first call of Close or CloseRaw decides
// and gets the outcome; later ones get nil.
func (r *Run) Close() *Outcome { return r.close(nil, false, nil) }

// CheckQuestions returns an error if there are more questions than one run may leave open,
// or if a key has no allowed length.
func CheckQuestions(questions map[string]mcp.InputRequest) error {
	if len(questions) > maxOpen {
		return errTooManyQuestions
	}
	for key := range questions {
		if err := checkKey(key); err != nil {
			return fmt.Errorf("question %q: %w", key, err)
		}
	}
	return nil
}

// CloseRaw is Close for a handler that makes its questions itself and may have a state
// of its own. CheckQuestions has to accept the questions. Questions that were asked through the run take precedence.
func (r *Run) CloseRaw(questions map[string]mcp.InputRequest, state *string) *Outcome {
	asked := make(Table[Question], 0, len(questions))
	for key, q := range questions {
		asked.Set(key, Question{InputRequest: q, Digest: DigestOfRequest(q)})
	}
	return r.close(asked, true, state)
}

// nothing is the outcome of a run that leaves nothing. It is not modified.
var nothing Outcome

func (r *Run) close(questions Table[Question], raw bool, state *string) *Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil {
		return nil
	}
	r.ended = ErrEnded
	values := r.values
	r.values = nil
	switch {
	case len(r.stepsLocked().open) > 0:
		questions, raw, state = r.steps.open, r.memory.Raw, r.memory.State
	case raw:
	case values == nil:
		return &nothing
	default:
		return &Outcome{Values: values}
	}
	r.ended = ErrAsked
	out := &struct { // in one piece of memory
		Outcome
		next Memory
	}{next: r.nextLocked(questions)}
	out.next.Raw, out.next.State = raw, state
	out.Next, out.Values = &out.next, values
	out.Questions = make(map[string]mcp.InputRequest, len(questions))
	for _, q := range questions {
		out.Questions[q.Key] = q.Value.InputRequest
	}
	return &out.Outcome
}

// nextLocked returns the memory of the next run, which has the answers of this one. Answers
// that the client has given and this run has not asked for are kept for it.
func (r *Run) nextLocked(open Table[Question]) Memory {
	next := r.memory
	r.memory.Answers = nil
	next.Results, next.Parked = maps.Clone(next.Results), maps.Clone(next.Parked)
	next.ID, next.Round = "", r.memory.Round+1
	s := r.stepsLocked()
	if !s.fresh {
		next.Unanswered++
	}
	for _, given := range s.given {
		if open.Has(given.Key) || s.used.Has(given.Key) {
			continue
		}
		asked, _ := r.memory.Open.Get(given.Key)
		next.Answers.Set(given.Key, Answer{Value: given.Value, Question: asked.Digest})
	}
	next.Open = make(Table[OpenQuestion], len(open))
	for i, q := range open {
		next.Open[i] = Entry[OpenQuestion]{q.Key, OpenQuestion{q.Value.Digest, q.Value.Again}}
	}
	return next
}

// Snapshot returns the memory with which another run of the handler gets all that this one has
// got so far. Values are not part of it.
func (r *Run) Snapshot() Memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seedLocked()
	m := r.memory.clone()
	m.ID, m.Open, m.Parked = "", nil, nil
	for _, given := range r.stepsLocked().given {
		asked, _ := r.memory.Open.Get(given.Key)
		m.Answers.Set(given.Key, Answer{Value: given.Value, Question: asked.Digest})
	}
	return m
}

// Size is about how many bytes the memory of the run takes, with the answers that were given.
func (r *Run) Size() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	size := r.memory.size()
	for _, given := range r.stepsLocked().given {
		size += len(given.Value)
	}
	return size
}

// Move ends the run without an outcome and starts another one that has its memory and
// holds its values: for a call that is answered and goes on in the background. It fails
// when the run has ended or a question is open.
func (r *Run) Move(to *Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.blockedLocked(); err != nil {
		return err
	}
	to.mu.Lock()
	defer to.mu.Unlock()
	to.memory, to.values, to.steps = r.memory.clone(), r.values, &steps{given: r.stepsLocked().given}
	r.values, r.ended = nil, ErrEnded
	return nil
}

// MayAsk reports whether the run may end in questions: not too many runs of the call
// have brought no new answer.
func (r *Run) MayAsk() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mayAskLocked()
}

func (r *Run) mayAskLocked() bool { return r.stepsLocked().fresh || r.memory.Unanswered < r.maxRounds }

// Again prepares the run for another pass of the same handler, in which keys may be
// used again: in the session era a handler that makes its questions itself runs once
// for each of their rounds.
func (r *Run) Again() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.steps != nil {
		r.steps.used = nil
	}
	r.memory.Round++
}

// Round returns how many runs the call has behind it.
func (r *Run) Round() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memory.Round
}

// Running returns how long the earlier runs of the call took.
func (r *Run) Running() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Duration(r.memory.Running)
}

// Spend adds to the time that the runs of the call took.
func (r *Run) Spend(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended == nil {
		r.memory.Running += int64(d)
	}
}

// traceKey is the key in Memory.Results of the trace of a run. No step can have it.
const traceKey = ""

// SwapTrace sets the trace of this run, and returns that of the run before it. It is kept with the
// results of steps, because most runs have none.
func (r *Run) SwapTrace(trace string) (previous string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	previous = string(r.memory.Results[traceKey])
	if r.memory.Results == nil {
		r.memory.Results = make(map[string]jsontext.Value)
	}
	r.memory.Results[traceKey] = jsontext.Value(trace)
	return previous
}

// RawState returns the state of a handler that makes its questions itself.
func (r *Run) RawState() *string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memory.State
}

// Repeats reports whether the run so far repeats what an earlier one has done: it has
// taken no new answer.
func (r *Run) Repeats() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.maxRounds > 0 && r.memory.Round > 0 && !r.stepsLocked().fresh && !r.memory.Raw
}

// Advance reports whether progress is more than the client was told in earlier runs,
// and remembers it.
func (r *Run) Advance(progress float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended != nil || r.memory.Round > 0 && progress <= r.memory.Progress {
		return false
	}
	r.memory.Progress = max(r.memory.Progress, progress)
	return true
}
