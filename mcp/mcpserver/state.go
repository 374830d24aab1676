package mcpserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/internal/seal"
)

// maxState bounds a state as the client carries it, in bytes.
const maxState = 64 << 10

// Prefixes of keys in the Store.
const (
	storedState = "ask.state."
	usedState   = "ask.used."
)

// keepState makes what the server seals and keeps state with.
func (s *Server) keepState() (err error) {
	o := s.options.orZero()
	switch {
	case len(o.Keys) > 0:
		s.keys, err = keyRing(o.Keys)
	case isSharedStore(o.Store):
		err = errors.New("Options.Store without Options.Keys: want the keys that all replicas share")
	case isShared(o.Bus):
		err = errors.New("Options.Bus without Options.Keys: want the keys that all replicas share")
	default:
		s.keys = seal.Random()
	}
	if s.store = o.Store; s.store == nil {
		s.store = new(MemoryStore)
	}
	s.parked.instance = rand.Text()
	if s.hub.server = s; o.Bus != nil {
		s.hub.openReplicas(o.Bus, s.info.Name, s.parked.instance)
	}
	return err
}

// isSharedStore reports whether a Store can be that of servers outside of this
// process.
func isSharedStore(s mcp.Store) bool {
	_, local := s.(*MemoryStore)
	return s != nil && !local
}

// isShared reports whether a Bus can reach servers outside of this process.
func isShared(b mcp.Bus) bool {
	_, local := b.(*MemoryBus)
	return b != nil && !local
}

// errState refuses a state that this server did not seal for this request. It
// does not say why.
func errState() error {
	return mcp.Errorf(mcp.CodeInvalidParams, "requestState: not valid for this request; make the call again without it")
}

// mayRequireInput holds the requests of the stateless era in which the server
// can ask.
//
// Spec: 2026-07-28 basic/patterns/mrtr#supported-requests
var mayRequireInput = map[string]bool{
	mcp.MethodToolsCall:     true,
	mcp.MethodPromptsGet:    true,
	mcp.MethodResourcesRead: true,
}

// salient is what of a request's params a state belongs to.
type salient struct {
	Name      string         `json:"name,omitzero"`
	URI       string         `json:"uri,omitzero"`
	Arguments jsontext.Value `json:"arguments,omitzero"`
}

// begin prepares a run: it opens the state that came with the request.
func (r *Request) begin() error {
	r.rounds.memory.Began = time.Now()
	if r.call.MayAsk() || !mayRequireInput[r.Method] {
		return nil
	}
	r.rounds.replays = true
	r.rounds.end = &r.run.Context
	if rawjson.Member(r.Params, "inputResponses") != nil || rawjson.Member(r.Params, "requestState") != nil {
		var in mcp.InputResponseParams
		if err := r.Decode(&in); err != nil {
			return err
		}
		r.rounds.given = in.InputResponses
		return r.resume(r.ctx, in.RequestState)
	}
	return nil
}

// finish is called at the end of the call, whatever became of it.
func (r *Request) finish() {
	r.run.Cancel(nil)
	r.rounds.release()
}

// bound returns what the states of this call belong to: the server, the
// principal, and what is asked for, in canonical form and with exact integers.
//
// Spec: RFC 8785
func (r *Request) bound() ([]byte, error) {
	var p salient
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if len(p.Arguments) == 0 || p.Arguments.Kind() == 'n' {
		p.Arguments = jsontext.Value("{}")
	}
	who := r.Principal()
	raw, err := json.Marshal([]any{
		r.server.info.Name, who.Issuer, who.Subject, who.Client, r.Method, p.Name, p.URI, p.Arguments,
	})
	text := jsontext.Value(raw)
	if err == nil {
		err = text.Canonicalize(jsontext.CanonicalizeRawInts(false))
	}
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: arguments: %v", r.Method, err)
	}
	digest := sha256.Sum256(text)
	return digest[:], nil
}

// resume takes up what the call remembers, if it does.
func (r *Request) resume(ctx context.Context, token *string) error {
	if token == nil {
		return nil
	}
	bound, err := r.bound()
	if err != nil {
		return err
	}
	s := r.server
	plain, err := s.keys.Open(*token, bound, time.Now())
	if err != nil {
		return errState()
	}
	if id, stored := cutStored(plain); stored {
		value, found, err := s.store.Get(ctx, storedState+id)
		if err != nil {
			return fmt.Errorf("requestState: %w", err)
		}
		if plain, err = s.keys.Open(string(value), bound, time.Now()); err != nil || !found {
			return errState()
		}
	}
	if err := json.Unmarshal(plain, &r.rounds.memory); err != nil {
		return errState()
	}
	if !s.options.asking().orZero().SingleUse {
		return nil
	}
	fresh, err := s.store.Create(ctx, usedState+r.rounds.memory.ID, nil, s.options.asking().expiry())
	if err == nil && !fresh {
		err = mcp.Errorf(mcp.CodeInvalidParams, "requestState: already answered")
	}
	return err
}

// A state in the Store is named by its id, after a character that no JSON object
// begins with.
func cutStored(plain []byte) (id string, ok bool) {
	if len(plain) < 2 || plain[0] != '@' {
		return "", false
	}
	return string(plain[1:]), true
}

// sealState returns the state for the next round.
func (r *Request) sealState(ctx context.Context, m memory) (string, error) {
	s := r.server
	bound, err := r.bound()
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("requestState: %w", err)
	}
	ttl := s.options.asking().expiry()
	expires := time.Now().Add(ttl)
	token := s.keys.Seal(plain, bound, expires)
	if len(token) <= maxState {
		return token, nil
	}
	if s.options.orZero().Store == nil {
		key, size := m.largest()
		return "", fmt.Errorf("requestState: %d bytes, the limit is %d; the largest part is %d bytes under key %q: remember less, or set Options.Store", len(token), maxState, size, key)
	}
	if err := s.store.Put(ctx, storedState+m.ID, []byte(token), ttl); err != nil {
		return "", fmt.Errorf("requestState: %w", err)
	}
	return s.keys.Seal([]byte("@"+m.ID), bound, expires), nil
}

// largest returns the key under which the most is remembered, and how much.
func (m *memory) largest() (key string, size int) {
	for _, part := range []map[string]jsontext.Value{m.Answers, m.Results} {
		for k, v := range part {
			if len(v) > size {
				key, size = k, len(v)
			}
		}
	}
	if m.Own != nil && len(*m.Own) > size {
		return "requestState", len(*m.Own)
	}
	return key, size
}

// settle decides the outcome of a call: an open question does, whatever handlers
// and middleware return.
func (r *Request) settle(result any, err error) (any, error) {
	open := r.rounds.asked()
	switch {
	case len(open) == 0 && requiresVisits(err):
		return r.requireVisits(context.WithoutCancel(r.ctx), err)
	case len(open) == 0, r.rounds.tried && r.rounds.reply == nil:
		return result, err
	case r.rounds.reply != nil:
		return r.rounds.reply, nil
	}
	return r.requireInput(context.WithoutCancel(r.ctx), &mcp.InputRequiredResult{InputRequests: open}, false)
}

// requireInput makes the reply that ends a run with questions. It is called once.
func (r *Request) requireInput(ctx context.Context, in *mcp.InputRequiredResult, raw bool) (*mcp.InputRequiredResult, error) {
	r.rounds.tried = true
	next := r.rounds.next()
	next.Raw, next.Own = raw, in.RequestState
	if err := r.park(&next); err != nil {
		return nil, err
	}
	token, err := r.sealState(ctx, next)
	if err != nil {
		return nil, err
	}
	reply := &mcp.InputRequiredResult{ResultBase: in.ResultBase, InputRequests: in.InputRequests, RequestState: &token}
	reply.ResultType = mcp.ResultInputRequired
	r.rounds.reply = reply
	return reply, nil
}

// next returns what is remembered for the next round.
func (r *rounds) next() memory {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.memory
	next.ID, next.Round, next.Parked = rand.Text(), r.memory.Round+1, nil
	return next
}

// interact runs a handler and gives it what the client has answered. In the
// stateless era questions end the run. What a handler asks by itself, by
// returning an *mcp.InputRequiredResult, is in the session era asked here, and
// the handler runs again with the answers.
func (r *Request) interact(ctx context.Context, in *mcp.InputResponseParams, run func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	if !r.rounds.replays {
		return r.interactNow(ctx, in, run)
	}
	in.RequestState = r.rounds.memory.Own
	result, err := run(ctx)
	if open := r.rounds.asked(); len(open) > 0 {
		return r.requireInput(context.WithoutCancel(ctx), &mcp.InputRequiredResult{InputRequests: open}, false)
	}
	raw, ok := result.(*mcp.InputRequiredResult)
	if err != nil || !ok || raw == nil {
		return result, err
	}
	if limit := r.server.options.asking().maxRounds(); r.rounds.round() >= limit {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: input is still required after %d rounds", r.Method, limit)
	}
	if err := r.mayPutAll(raw); err != nil {
		return nil, err
	}
	return r.requireInput(ctx, raw, true)
}

// advance reports whether progress is more than the client was told in earlier
// rounds, and remembers it.
func (r *rounds) advance(done float64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.memory.Round > 0 && done <= r.memory.Progress || !finite(done) {
		return false
	}
	r.memory.Progress = max(r.memory.Progress, done)
	return true
}

// questionOf decodes a question that a handler asks by itself.
func questionOf(in mcp.InputRequest) (params any, err error) {
	switch in.Method {
	case mcp.MethodElicit:
		params = new(mcp.ElicitParams)
	case mcp.MethodCreateMessage:
		params = new(mcp.CreateMessageParams)
	case mcp.MethodRootsList:
		params = new(mcp.EmptyParams)
	default:
		return nil, fmt.Errorf("method %q: want one that asks a client", in.Method)
	}
	raw := cmp.Or(string(in.Params), "{}")
	return params, json.Unmarshal([]byte(raw), params)
}

// mayPutAll makes sure that a handler asks by itself only what its client takes.
func (r *Request) mayPutAll(in *mcp.InputRequiredResult) error {
	if len(in.InputRequests) == 0 && in.RequestState == nil {
		return errors.New("the result requires input without inputRequests or requestState; want one of them")
	}
	for key, q := range in.InputRequests {
		params, err := questionOf(q)
		if err == nil {
			err = r.call.MayPut(q.Method, params)
		}
		if err != nil {
			return fmt.Errorf("input %q: %w", key, err)
		}
	}
	return nil
}
