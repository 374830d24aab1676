package streamhttp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// A durable call outlives the process that has received it: its reply is that of work which any
// process can run, and which is in the Store. The process that the client is connected to waits for
// the outcome of the work and writes it to the stream of the call. If that process ends, the client
// resumes the stream at another one, which waits in its place and writes to a stream of its own:
//
//	POST ─→ stream.Continue ─→ record of the stream: Work; key of the call ─→ event id to the client
//	GET with Last-Event-ID ─→ continueCall ─→ the events of the streams so far, and then
//	    the process of the last one is alive ─→ follow
//	    it has ended ─→ takeOverCall ─→ record: Next, Last ─→ Core.Continued writes to a new stream
//
// An event store has no compare-and-swap. So each stream is written by one process, and one Swap of
// the record of the last stream says which one follows, and after which event.

// continuation is what the stream of a durable call has. Its fields are guarded by the mu of the
// stream.
type continuation struct {
	stream  *stream
	isOpen  bool   // the client has got an event id, or is about to
	left    bool   // this process does not reply
	onReply func() // called when others do not need the work for the reply any more; may be nil
}

// opens reports once that the client has to get an event id. A nil continuation never does.
func (c *continuation) opens() bool {
	if c == nil || c.isOpen {
		return false
	}
	c.isOpen = true
	return true
}

// replied calls onReply as soon as the reply, which is the last message, is in the event store. The
// caller has the turn of the log.
func (c *continuation) replied() {
	if c == nil || c.onReply == nil {
		return
	}
	f, log := c.stream.of.shared.all.streams, c.stream.log
	log.whenAll = func() {
		f.all.group.Go(func(ctx context.Context) {
			if done, err := f.recordReply(ctx, c.stream); done && err == nil {
				c.onReply()
			}
		})
	}
	log.callWhenAll()
}

// recordReply records that the stream has the reply. It returns false if another process replies,
// which needs the work.
func (f *sharedStreams) recordReply(ctx context.Context, st *stream) (bool, error) {
	for {
		raw, rec, err := f.read(ctx, st.of, st.log.name)
		if err != nil || rec == nil || rec.Next != "" {
			return err == nil && rec == nil, err
		}
		rec.Replied = true
		if swapped, err := f.swap(ctx, st.of, st.log.name, raw, rec); swapped || err != nil {
			return swapped, err
		}
	}
}

// swap replaces the record of the stream of a durable call, unless it has changed.
func (f *sharedStreams) swap(ctx context.Context, s *session, name string, raw []byte, rec *streamRecord) (bool, error) {
	value, err := json.Marshal(rec)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	return f.all.store.Swap(ctx, s.key.streamKey(name), raw, value, max(time.Until(rec.Expires), time.Second))
}

var _ exchange.Continuer = (*stream)(nil)

func (key sessionKey) callPrefix() string { return key.storeKey() + ".call." }

// callKey returns the key of the Store under which the work of a call is, by the id of the request.
func (key sessionKey) callKey(id string) string {
	sum := sha256.Sum256([]byte(id))
	return key.callPrefix() + hex.EncodeToString(sum[:16])
}

// Continue implements exchange.Continuer. It records the work, before the client gets the id of an
// event. A stream of several calls, which have one reply, is not continued.
func (s *stream) Continue(ctx context.Context, work string, expires time.Time) (time.Time, bool) {
	if s.of == nil || len(s.calls) != 1 || s.isContinued() {
		return expires, false
	}
	of := s.of
	if of.expires.Before(expires) {
		expires = of.expires
	}
	f := of.shared.all.streams
	rec := streamRecord{Process: f.all.group.ID(), Calls: s.calls, Work: work, Expires: expires}
	if f.all.isUnavailable() || time.Until(expires) <= 0 {
		return expires, false
	}
	if err := f.record(ctx, of, s, rec); err != nil {
		f.all.unavailable(ctx, "a durable call cannot be recorded, and runs as an ordinary one", err)
		return expires, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.continued = &continuation{stream: s}
	s.signal()
	return expires, true
}

// record writes the record of the stream of a durable call, and the key of the call.
func (f *sharedStreams) record(ctx context.Context, s *session, st *stream, rec streamRecord) error {
	st.recording.lock()
	defer st.recording.unlock()
	value, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*sharedTimeout)
	defer cancel()
	life := time.Until(rec.Expires)
	if err = f.all.store.Put(ctx, s.key.callKey(rec.Calls[0]), []byte(rec.Work), life); err == nil {
		err = f.all.store.Put(ctx, s.key.streamKey(st.log.name), value, life)
	}
	st.recorded = err == nil
	return err
}

// OnReplyStored implements exchange.Continuer.
func (s *stream) OnReplyStored(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.continued != nil {
		s.continued.onReply = f
	}
}

// Leave implements exchange.Continuer.
func (s *stream) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.continued != nil {
		s.continued.left = true
	}
}

// isOrphan reports whether no process needs the record of the stream any more, because its client
// has hung up before it got an event id. A stream that has no connection yet is no orphan.
func (s *stream) isOrphan() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.continued != nil && !s.continued.isOpen && s.ended && s.detached && !s.resumable
}

// leaveStream ends a stream whose client resumes another one.
func (s *session) leaveStream(st *stream) {
	s.mu.Lock()
	delete(s.streams, st.log.name)
	s.mu.Unlock()
	st.Leave()
	st.end(dialect.Reply{})
	st.moveToLog()
}

func (s *stream) isContinued() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.continued != nil
}

func (s *stream) isLeft() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.continued != nil && s.continued.left
}

// forgetCall deletes the key of a durable call that has its reply, or that its client has
// cancelled.
func (s *stream) forgetCall() {
	if !s.isContinued() || s.isLeft() {
		return
	}
	a, key := s.of.shared.all, s.of.key.callKey(s.calls[0])
	a.group.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
		defer cancel()
		_ = a.store.Delete(ctx, key) // it expires
	})
}

// abandon ends the work of the call that has the key, if there is one: its client has cancelled it,
// or its session has ended.
func (a *sharedSessions) abandon(ctx context.Context, key string) error {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	work, found, err := a.store.Get(ctx, key)
	if err != nil || !found {
		return err
	}
	a.table.core.Abandon(ctx, string(work))
	return a.store.Delete(ctx, key)
}

// continueCall resumes the stream of a durable call after event n of the stream of that name, or of
// the one that continues it.
func (h *Handler) continueCall(ctx context.Context, w http.ResponseWriter, r *http.Request, s *session, name string, n int64) *refusal {
	f := s.shared.all.streams
	var before []sse.Event
	for range maxContinued {
		raw, rec, err := f.read(ctx, s, name)
		if err != nil {
			f.all.unavailable(ctx, "a durable call cannot be resumed", err)
			return refuseError(http.StatusServiceUnavailable, errStoreUnavailable)
		}
		if rec == nil || rec.Work == "" || len(rec.Calls) != 1 {
			return eventNotFound
		}
		if rec.Next == "" {
			refused, again := h.continueLast(ctx, w, r, &followedStream{
				f: f, s: s, name: name, n: n, raw: raw, rec: rec, before: before, wake: make(chan struct{}, 1),
			})
			if again {
				continue // another process has taken the call over meanwhile
			}
			return refused
		}
		events, err := f.after(ctx, name, n)
		if err != nil {
			return refuseEvents(err)
		}
		before = append(before, events[:max(0, min(int64(len(events)), rec.Last-n))]...)
		name, n = rec.Next, 0
	}
	return eventNotFound
}

// refuseEvents refuses to resume a stream whose events cannot be read.
func refuseEvents(err error) *refusal {
	if err == errEventsGone {
		return eventNotFound
	}
	return refuseError(http.StatusServiceUnavailable, errStoreUnavailable)
}

// continueLast resumes the last of the streams that continue each other. again is set if it is not
// the last one any more.
func (h *Handler) continueLast(ctx context.Context, w http.ResponseWriter, r *http.Request, st *followedStream) (refused *refusal, again bool) {
	st.s.mu.Lock()
	own := st.s.streams[st.name]
	st.s.mu.Unlock()
	if own != nil {
		return h.resumeHere(lazyctx.New(ctx, h.life.work), w, st.s, own, st.n, st.before), false
	}
	needed, err := st.needsReply(ctx)
	switch {
	case err != nil:
		return refuseEvents(err), false
	case needed:
		return h.takeOverCall(ctx, w, r, st)
	}
	return h.follow(ctx, w, r, st), false
}

// needsReply reports whether the process of the stream does not reply any more, and the event store
// does not have the reply.
func (st *followedStream) needsReply(ctx context.Context) (bool, error) {
	if st.rec.Replied {
		return false, nil
	}
	alive, err := st.f.all.group.IsAlive(ctx, st.rec.Process)
	if err != nil {
		return false, err
	}
	if alive && !st.hasEnded(ctx) {
		return false, nil
	}
	has, err := st.hasReply(ctx)
	return !has, err
}

// hasEnded reports whether the process of the stream, which is alive, says that it writes nothing
// more: it shuts down, or could not store the reply.
func (st *followedStream) hasEnded(ctx context.Context) bool {
	answer, err := st.ask(ctx)
	if err == nil {
		st.asked = time.Now()
	}
	return err == nil && (answer == nil || answer.Ended)
}

// hasReply reports whether the event store has the reply, or the client has got it.
func (st *followedStream) hasReply(ctx context.Context) (bool, error) {
	if st.n > 0 {
		got, err := st.f.after(ctx, st.name, st.n-1)
		if err == nil && len(got) > 0 && isReply(got[0].Data) {
			return true, nil
		}
	}
	events, err := st.f.after(ctx, st.name, st.n)
	return err == nil && len(events) > 0 && isReply(events[len(events)-1].Data), err
}

// takeOverCall has this process wait for the work of a call, in place of one that has ended.
func (h *Handler) takeOverCall(ctx context.Context, w http.ResponseWriter, r *http.Request, last *followedStream) (refused *refusal, again bool) {
	if refused := h.life.refuses(); refused != nil {
		return refused, false
	}
	s, f := last.s, last.f
	id, err := jsonrpc.ParseID([]byte(last.rec.Calls[0]))
	if err != nil {
		return eventNotFound, false
	}
	events, err := f.after(ctx, last.name, last.n)
	if err != nil {
		return refuseEvents(err), false
	}
	st := newStream(s)
	h.resumable(s, st)
	if st.log == nil || !st.log.shared {
		return eventNotFound, false
	}
	st.calls, st.of, st.continued = last.rec.Calls, s, &continuation{stream: st, isOpen: true}
	s.makeResumable(st)
	swapped, err := f.fence(ctx, last, st, last.n+int64(len(events)))
	if !swapped {
		s.leaveStream(st)
	}
	switch {
	case err != nil:
		f.all.unavailable(ctx, "a durable call cannot be resumed", err)
		return refuseError(http.StatusServiceUnavailable, errStoreUnavailable), false
	case !swapped:
		return nil, true
	}
	in := h.newInbound(r)
	in.Message = jsonrpc.Message{Kind: jsonrpc.Request, ID: id, Method: mcp.MethodToolsCall, Params: jsontext.Value("{}")}
	in.Session, in.Agreed, in.BackChannel, in.InParts = s.Session, s.Agreed(), st, true
	h.run(s, st, s.BeginContinued(s.context(r.Context()), h.core, in, last.rec.Work))
	return h.resumeHere(lazyctx.New(ctx, h.life.work), w, s, st, 0, append(last.before, events...)), false
}

// fence records that a new stream continues the last one after an event. It returns false if
// another one does so. After an error the record may name the new stream, whose record is kept: the
// client resumes the stream again, and the call is taken over from the new stream then.
func (f *sharedStreams) fence(ctx context.Context, last *followedStream, st *stream, n int64) (bool, error) {
	next := streamRecord{Process: f.all.group.ID(), Calls: st.calls, Work: last.rec.Work, Expires: last.rec.Expires}
	if err := f.record(ctx, last.s, st, next); err != nil {
		return false, err
	}
	rec := *last.rec
	rec.Next, rec.Last = st.log.name, n
	swapped, err := f.swap(ctx, last.s, last.name, last.raw, &rec)
	if !swapped && err == nil {
		f.remove(last.s, st)
	}
	return swapped, err
}
