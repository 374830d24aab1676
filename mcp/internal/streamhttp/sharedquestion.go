package streamhttp

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

const (
	// answerLife is how long a response is kept in the Store for the process that asks, which
	// looks for it at least every maxLook.
	answerLife = 15 * time.Minute
	// The response to a question that waits is looked for after these times, in case the
	// message about it was lost. The time doubles each time.
	minLook = time.Second
	maxLook = 30 * time.Second
	// maxSharedAnswer bounds the response to a question that waits in another process: a value
	// of a Store, less what encryption adds.
	maxSharedAnswer = 1<<20 - 4<<10
)

// sharedQuestion is a request to the client that waits in this process, and whose response may
// be sent to another one. It is in the Store, where the first response takes its place.
type sharedQuestion struct {
	all    *sharedSessions
	key    string // of the Store
	id     jsonrpc.ID
	accept func(jsonrpc.Message)
	life   func() time.Duration // of its record
	stored time.Time            // when its record was written or renewed
	look   *time.Timer          // guarded by the mu of all
	ended  bool                 // guarded by the mu of all
}

// storedQuestion is a question in the Store.
type storedQuestion struct {
	Process string          `json:"process"`
	Answer  *storedResponse `json:"answer,omitzero"`
}

type storedResponse struct {
	Result jsontext.Value `json:"result,omitzero"`
	Error  *storedError   `json:"error,omitzero"`
}

type storedError struct {
	Code    int64          `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitzero"`
}

func (s *session) questionKey(id jsonrpc.ID) string {
	return s.key.storeKey() + ".ask." + id.NumberKey()
}

// Ask implements exchange.Shared.
func (h *sharedSession) Ask(ctx context.Context, id jsonrpc.ID, accept func(jsonrpc.Message)) (done func(), err error) {
	a := h.all
	q := &sharedQuestion{all: a, key: h.of.questionKey(id), id: id, accept: accept, life: h.of.recordLife, stored: time.Now()}
	value, err := json.Marshal(storedQuestion{Process: a.group.ID()})
	if err != nil {
		return nil, err
	}
	if a.isUnavailable() {
		return nil, errStoreUnavailable
	}
	put, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	if err := a.store.Put(put, q.key, value, q.life()); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		a.unavailable(ctx, "a question to a client cannot be stored", err)
		return nil, errStoreUnavailable
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions[q.key] = q
	q.lookAfter(minLook)
	return q.end, nil
}

// lookAfter looks for the response after some time. The caller holds the mu of all.
func (q *sharedQuestion) lookAfter(wait time.Duration) {
	q.look = time.AfterFunc(wait, func() {
		q.all.group.Go(func(ctx context.Context) {
			q.fetch(ctx)
			q.renew(ctx)
			q.all.mu.Lock()
			defer q.all.mu.Unlock()
			if !q.ended {
				q.lookAfter(min(2*wait, maxLook))
			}
		})
	})
}

// renew renews the record, which has to live as long as the question waits.
func (q *sharedQuestion) renew(ctx context.Context) {
	if time.Since(q.stored) >= renewAfter {
		q.stored = time.Now()
		q.all.renew(ctx, q.key, q.life())
	}
}

// end removes the question, which has its response or was given up.
func (q *sharedQuestion) end() {
	a := q.all
	a.mu.Lock()
	q.ended = true
	q.look.Stop()
	delete(a.questions, q.key)
	a.mu.Unlock()
	a.group.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
		defer cancel()
		_ = a.store.Delete(ctx, q.key) // it expires
	})
}

// answered fetches the response to a question that waits here.
func (a *sharedSessions) answered(key string) {
	a.mu.Lock()
	q := a.questions[key]
	a.mu.Unlock()
	if q != nil {
		a.group.Go(q.fetch)
	}
}

// fetch accepts the response, if there is one.
func (q *sharedQuestion) fetch(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	value, found, err := q.all.store.Get(ctx, q.key)
	var stored storedQuestion
	if err != nil || !found || json.Unmarshal(value, &stored) != nil || stored.Answer == nil {
		return
	}
	m := jsonrpc.Message{Kind: jsonrpc.Response, ID: q.id, Result: stored.Answer.Result}
	if e := stored.Answer.Error; e != nil {
		m.Error = &jsonrpc.Error{Code: e.Code, Message: e.Message, Data: e.Data}
	}
	q.accept(m)
}

// answer passes a response on to the process whose request it answers. A response that no
// request waits for is dropped.
func (h *sharedSession) answer(ctx context.Context, m jsonrpc.Message) *refusal {
	n, err := strconv.ParseInt(m.ID.NumberKey(), 10, 64)
	switch {
	case err != nil || n <= 0:
		return nil // this server's ids are numbers
	case h.all.isUnavailable():
		return refuseError(http.StatusServiceUnavailable, errStoreUnavailable)
	}
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	key := h.of.questionKey(m.ID)
	old, found, err := h.all.store.Get(ctx, key)
	var q storedQuestion
	switch {
	case err != nil:
		h.all.unavailable(ctx, "the response of a client cannot be passed on", err)
		return refuseError(http.StatusServiceUnavailable, errStoreUnavailable)
	case !found || json.Unmarshal(old, &q) != nil || q.Answer != nil:
		return nil
	}
	q.Answer = &storedResponse{Result: m.Result}
	if m.Error != nil {
		q.Answer.Error = &storedError{m.Error.Code, m.Error.Message, m.Error.Data}
	}
	value, err := json.Marshal(q)
	if err != nil || len(value) > maxSharedAnswer {
		return refuse(http.StatusRequestEntityTooLarge, "response: %d bytes, and the request that it answers waits at another replica: want at most %d", len(value), maxSharedAnswer)
	}
	swapped, err := h.all.store.Swap(ctx, key, old, value, answerLife)
	if err != nil {
		h.all.unavailable(ctx, "the response of a client cannot be passed on", err)
		return refuseError(http.StatusServiceUnavailable, errStoreUnavailable)
	}
	if swapped {
		_ = h.all.group.Send(ctx, q.Process, messageAnswered, key) // which looks for it otherwise
	}
	return nil
}
