package consent

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	questionPrefix = "questions/q"
	lastQuestion   = "questions/last"

	// QuestionTime is how long a question can be answered.
	QuestionTime = 10 * time.Minute
	// answerTime is how long an answer is kept for those that wait for it.
	answerTime = 2 * time.Minute
	// pollInterval is how often a question is read that another process may answer.
	pollInterval = 500 * time.Millisecond

	// The limits of open questions: of one owner, of one group of owners, and in all.
	maxOwnerQuestions = 16
	maxGroupQuestions = 256
	maxQuestions      = 1024
	// maxDetails limits the details of one question about a call, in bytes, and maxQuestionBytes
	// what is stored of any question, without its answer.
	maxDetails       = 32 << 10
	maxQuestionBytes = 64 << 10
)

// Queue holds the questions that wait for the answer of a person. Several processes may use
// the same store: any of them can list and answer what another one asks. All methods are safe
// for concurrent use.
type Queue struct {
	store mcp.Store

	mu      sync.Mutex
	changed chan struct{} // guarded by mu: closed at the next change in this process
}

// NewQueue returns the queue in a store.
func NewQueue(store mcp.Store) *Queue { return &Queue{store: store, changed: make(chan struct{})} }

// Ask adds a question, and returns it with its number and its times: it expires after ten minutes,
// unless Expires says when. When an owner has as
// many questions as it may have, the error wraps ErrTooMany; the questions of other owners
// stay, except that the newest one of an owner with more questions is removed when all owners
// of a group, or all together, have as many as they may have.
func (q *Queue) Ask(ctx context.Context, asked Question) (Question, error) {
	size := len(asked.Text) + len(asked.Schema) + len(asked.Subject)
	for _, d := range asked.Details {
		size += len(d.Name) + len(d.Text)
	}
	if size > maxQuestionBytes {
		return asked, fmt.Errorf("%w: found %d bytes, want at most %d", ErrTooLarge, size, maxQuestionBytes)
	}
	open, err := q.List(ctx)
	if err != nil {
		return asked, err
	}
	if err := q.makeRoom(ctx, open, asked); err != nil {
		return asked, err
	}
	number, err := q.next(ctx)
	if err != nil {
		return asked, err
	}
	asked.ID = strconv.FormatUint(number, 10)
	asked.Created = time.Now().UTC()
	if asked.Expires.IsZero() {
		asked.Expires = asked.Created.Add(QuestionTime)
	}
	raw, err := json.Marshal(entry{Question: asked})
	if err != nil {
		return asked, fmt.Errorf("question: %w", err)
	}
	ttl := asked.Expires.Sub(asked.Created)
	if err := q.keepFiles(ctx, &asked, ttl); err != nil {
		return asked, err
	}
	created, err := q.store.Create(ctx, keyOf(asked.ID), raw, ttl)
	switch {
	case err != nil:
		return asked, fmt.Errorf("question: %w", err)
	case !created:
		return asked, fmt.Errorf("question %s: the number is used already", asked.ID)
	}
	q.notify()
	return asked, nil
}

// makeRoom returns an error if a question would exceed a limit. It may remove a question of
// an owner that has more.
func (q *Queue) makeRoom(ctx context.Context, open []Question, asked Question) error {
	byOwner, group := make(map[string]int), 0
	for _, other := range open {
		byOwner[other.Owner]++
		if other.Group == asked.Group {
			group++
		}
	}
	own := byOwner[asked.Owner]
	full := len(open) >= maxQuestions
	maxOwn, maxGroup := maxOwnerQuestions, maxGroupQuestions
	if asked.Kind.OfServer() {
		maxOwn, maxGroup = maxServerQuestions, maxServerGroup
	}
	switch {
	case own >= maxOwn:
		return fmt.Errorf("%w: %d for the same caller", ErrTooMany, own)
	case !full && group < maxGroup:
		return nil
	}
	candidates := slices.DeleteFunc(slices.Clone(open), func(other Question) bool {
		return !full && other.Group != asked.Group || byOwner[other.Owner] < own+2
	})
	if len(candidates) == 0 {
		return fmt.Errorf("%w: %d", ErrTooMany, len(open))
	}
	newest := slices.MaxFunc(candidates, func(a, b Question) int {
		return cmp.Or(cmp.Compare(byOwner[a.Owner], byOwner[b.Owner]), cmp.Compare(numberOf(a.ID), numberOf(b.ID)))
	})
	return q.withdraw(ctx, &newest)
}

// next returns the number of the next question.
func (q *Queue) next(ctx context.Context) (uint64, error) {
	for {
		raw, found, err := q.store.Get(ctx, lastQuestion)
		if err != nil {
			return 0, fmt.Errorf("question: %w", err)
		}
		last, _ := strconv.ParseUint(string(raw), 10, 64)
		text := strconv.AppendUint(nil, last+1, 10)
		var done bool
		if found {
			done, err = q.store.Swap(ctx, lastQuestion, raw, text, 0)
		} else {
			done, err = q.store.Create(ctx, lastQuestion, text, 0)
		}
		if err != nil {
			return 0, fmt.Errorf("question: %w", err)
		}
		if done {
			return last + 1, nil
		}
	}
}

// keyOf returns the key of a question. Keys are in the order of the numbers.
func keyOf(id string) string { return fmt.Sprintf("%s%020d", questionPrefix, numberOf(id)) }

func numberOf(id string) uint64 {
	n, _ := strconv.ParseUint(id, 10, 64)
	return n
}

// read returns a stored question, or nil, and the bytes that are stored.
func (q *Queue) read(ctx context.Context, id string) (*entry, []byte, error) {
	if numberOf(id) == 0 || strings.TrimLeft(id, "0") != id { // one form for each number
		return nil, nil, nil
	}
	raw, found, err := q.store.Get(ctx, keyOf(id))
	if err != nil || !found {
		return nil, nil, err
	}
	e, err := decode[entry](raw)
	if err != nil {
		return nil, nil, err
	}
	if time.Now().After(e.Expires) && e.Answer == nil {
		return nil, nil, nil
	}
	return e, raw, nil
}

// List returns the questions that wait for an answer, in the order in which they were asked.
func (q *Queue) List(ctx context.Context) ([]Question, error) {
	var open []Question
	for raw, err := range values(ctx, q.store, questionPrefix) {
		if err != nil {
			return nil, fmt.Errorf("questions: %w", err)
		}
		e, err := decode[entry](raw)
		if err != nil {
			return nil, err
		}
		if e.Answer == nil && time.Now().Before(e.Expires) {
			open = append(open, e.Question)
		}
	}
	return open, nil
}

// Get returns a question that waits for an answer. The error wraps ErrUnknown or ErrAnswered
// if it does not.
func (q *Queue) Get(ctx context.Context, id string) (Question, error) {
	e, _, err := q.read(ctx, id)
	switch {
	case err != nil:
		return Question{}, err
	case e == nil:
		return Question{}, fmt.Errorf("question %.20q: %w", id, ErrUnknown)
	case e.Answer != nil:
		return Question{}, fmt.Errorf("question %s: %w", id, ErrAnswered)
	}
	return e.Question, nil
}

// Answer answers a question. The first answer counts; further ones get an error that wraps
// ErrAnswered. Then apply makes the answer take effect, before those that wait get it; if
// apply fails, they get none. It may be nil. The caller must have verified the code if the
// question needs one.
func (q *Queue) Answer(ctx context.Context, id string, a Answer, apply func(Question, Answer) error) error {
	e, raw, err := q.read(ctx, id)
	switch {
	case err != nil:
		return err
	case e == nil:
		return fmt.Errorf("question %.20q: %w", id, ErrUnknown)
	case e.Answer != nil:
		return fmt.Errorf("question %s: %w", id, ErrAnswered)
	}
	if err := e.check(a); err != nil {
		return fmt.Errorf("question %s: %w", id, err)
	}
	a.At = time.Now().UTC()
	e.Answer = &a
	answered, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("question %s: %w", id, err)
	}
	switch first, err := q.store.Swap(ctx, keyOf(id), raw, answered, answerTime); {
	case err != nil:
		return fmt.Errorf("question %s: %w", id, err)
	case !first:
		return fmt.Errorf("question %s: %w", id, ErrAnswered)
	}
	defer q.notify()
	if apply != nil {
		if err := apply(e.Question, a); err != nil {
			_ = q.store.Delete(ctx, keyOf(id)) // nobody gets the answer in any case
			return fmt.Errorf("question %s: %w", id, err)
		}
	}
	e.Applied = true
	applied, err := json.Marshal(e)
	if err == nil {
		err = q.store.Put(ctx, keyOf(id), applied, answerTime)
	}
	if err != nil {
		return fmt.Errorf("question %s: %w", id, err)
	}
	return nil
}

// ShowWithCode notes that a host shows a question with a code, so that commands need it. by is the
// ID of its Watcher. It does nothing if another host has shown the question since it was read.
func (q *Queue) ShowWithCode(ctx context.Context, shown Question, by string) error {
	return q.mark(ctx, shown.ID, func(e *entry) bool {
		if e.ShownBy != shown.ShownBy {
			return false
		}
		changed := !e.NeedsCode || e.ShownBy != by
		e.NeedsCode, e.ShownBy = true, by
		return changed
	})
}

// Release notes that a host no longer shows questions, so that another one may show those that it
// has shown. Commands need a code for them nevertheless.
func (q *Queue) Release(ctx context.Context, by string) error {
	open, err := q.List(ctx)
	for _, one := range open {
		if one.ShownBy != by {
			continue
		}
		err = errors.Join(err, q.mark(ctx, one.ID, func(e *entry) bool {
			changed := e.ShownBy == by
			e.ShownBy = ""
			return changed
		}))
	}
	return err
}

// mark changes who shows a question that waits for an answer. change reports whether it has changed
// something.
func (q *Queue) mark(ctx context.Context, id string, change func(*entry) bool) error {
	e, raw, err := q.read(ctx, id)
	if err != nil || e == nil || e.Answer != nil || !change(e) {
		return err
	}
	marked, err := json.Marshal(e)
	if err == nil {
		_, err = q.store.Swap(ctx, keyOf(id), raw, marked, max(time.Until(e.Expires), time.Millisecond)) // otherwise it was answered or marked
	}
	return err
}

// Withdraw removes a question that needs no answer any more.
func (q *Queue) Withdraw(ctx context.Context, id string) error {
	defer q.notify()
	return q.store.Delete(ctx, keyOf(id))
}

// Wait waits for the answer to a question, which any process may give. The error wraps
// ErrUnknown when the question has expired or was withdrawn.
func (q *Queue) Wait(ctx context.Context, id string) (Answer, error) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		changed := q.Changed()
		switch e, _, err := q.read(ctx, id); {
		case ctx.Err() != nil:
			return Answer{}, context.Cause(ctx)
		case err != nil:
			return Answer{}, err
		case e == nil:
			return Answer{}, fmt.Errorf("question %.20q: %w", id, ErrUnknown)
		case e.Applied:
			return *e.Answer, nil
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return Answer{}, context.Cause(ctx)
		}
	}
}

// Next returns the question to show next of those that are open and not seen, and how many
// further ones there are: the first of each owner, in the order in which they were asked, then
// the second of each, and so on. An owner with many questions does not keep those of others from
// the user.
func Next(open []Question, seen map[string]bool) (next Question, further int, ok bool) {
	byOwner := make(map[string]int)
	least := 0
	for _, q := range open {
		rank := byOwner[q.Owner]
		byOwner[q.Owner]++
		if seen[q.ID] {
			continue
		}
		if ok {
			further++
		}
		if !ok || rank < least {
			next, least, ok = q, rank, true
		}
	}
	return next, further, ok
}

// Changed returns a channel that is closed at the next change that this process makes.
// Changes of other processes are found by reading.
func (q *Queue) Changed() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.changed
}

func (q *Queue) notify() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.changed)
	q.changed = make(chan struct{})
}
