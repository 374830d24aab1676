package streamhttp

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/lazyctx"
	"github.com/fondaco/fondaco/mcp/internal/sse"
)

// Messages between the processes about streams.
const (
	messageFollow = "follow" // the stream is read from the event store by another process
	messageEvent  = "event"  // there is something new in the event store
)

const (
	// followFor is for how long a process that runs a call keeps writing its messages to the
	// event store for another one, which asks for it every followAgain.
	followFor   = 15 * time.Second
	followAgain = 5 * time.Second
	// followLook is how often a process that follows a stream looks for new events and whether
	// the process that runs the call is alive, in case a message was lost.
	followLook = time.Second
)

// streamRecord is what the Store has of a stream that can be resumed.
type streamRecord struct {
	Process string   `json:"process"`        // that has the stream
	Calls   []string `json:"calls,omitzero"` // the ids of the requests; none for a GET stream
	Next    string   `json:"next,omitzero"`  // the stream that continues this one
	Lost    bool     `json:"lost,omitzero"`  // the process has ended before the calls

	// Work has the reply to the call, if another process can reply when Process has ended. Next is
	// the stream of that process then, which begins after event Last of this one: what this process
	// writes after that does not count.
	Work    string    `json:"work,omitzero"`
	Last    int64     `json:"last,omitzero"`
	Expires time.Time `json:"expires,omitzero"` // when the work ends; set if Work is
	Replied bool      `json:"replied,omitzero"` // the event store has the reply, which nobody continues
}

func (key sessionKey) streamKey(name string) string { return key.storeKey() + ".stream." + name }

// sharedStreams are the streams that processes resume for each other.
type sharedStreams struct {
	all    *sharedSessions
	events mcp.EventStore // nil if the processes do not share one

	mu        sync.Mutex
	followers map[string]*followedStream // guarded by mu: the one of each stream, by its name
}

func newSharedStreams(a *sharedSessions, events mcp.EventStore) *sharedStreams {
	f := &sharedStreams{all: a, events: events, followers: make(map[string]*followedStream)}
	a.handle(messageFollow, func(s *session, from string, m sessionMessage) any { return f.followedBy(s, from, m.Stream) })
	a.group.Handle(messageEvent, func(_ string, body jsontext.Value) any {
		var name string
		if json.Unmarshal(body, &name) == nil {
			f.wake(name)
		}
		return nil
	})
	return f
}

func (f *sharedStreams) wake(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if st := f.followers[name]; st != nil {
		select {
		case st.wake <- struct{}{}:
		default:
		}
	}
}

// add makes st the one connection of this process that follows its stream.
func (f *sharedStreams) add(st *followedStream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if former := f.followers[st.name]; former != nil {
		former.connection.Cancel(errReplaced)
	}
	f.followers[st.name] = st
}

func (f *sharedStreams) removeFollower(st *followedStream) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followers[st.name] == st {
		delete(f.followers, st.name)
	}
}

// put stores the record of a stream whose client is about to get an event id.
func (f *sharedStreams) put(s *session, st *stream) {
	st.recording.lock()
	defer st.recording.unlock()
	if st.recorded || !st.standalone && f.events == nil || f.all.isUnavailable() {
		return
	}
	st.recorded = true
	rec := streamRecord{Process: f.all.group.ID(), Calls: st.calls}
	value, err := json.Marshal(rec)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sharedTimeout)
	defer cancel()
	if err := f.all.store.Put(ctx, s.key.streamKey(st.log.name), value, s.recordLife()); err != nil {
		f.all.unavailable(ctx, "an event stream cannot be resumed at other replicas", err)
	}
}

// remove removes the record of a stream that cannot be resumed any more.
func (f *sharedStreams) remove(s *session, st *stream) {
	f.all.group.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
		defer cancel()
		_ = f.all.store.Delete(ctx, s.key.streamKey(st.log.name)) // it expires
	})
}

// read returns the record of a stream of a session, or nil if there is none.
func (f *sharedStreams) read(ctx context.Context, s *session, name string) (raw []byte, rec *streamRecord, err error) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	raw, found, err := f.all.store.Get(ctx, s.key.streamKey(name))
	if err != nil || !found {
		return nil, nil, err
	}
	if err := json.Unmarshal(raw, &rec); err != nil {
		return nil, nil, err
	}
	return raw, rec, nil
}

// after returns the events of a stream after number n.
func (f *sharedStreams) after(ctx context.Context, name string, n int64) (events []sse.Event, err error) {
	if f.events == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	stored, err := f.events.After(ctx, name, n)
	for _, event := range stored {
		n++
		msg, ok := cutNumber(n, event)
		if !ok {
			return nil, errEventsGone
		}
		events = append(events, sse.Event{ID: eventID(name, n), Name: "message", Data: msg})
	}
	return events, err
}

// errEventsGone reports that the store has removed events that a client has not got.
var errEventsGone = errors.New("the event store does not have all events any more")

// follows is the answer to messageFollow. A process that does not know the stream answers null.
type follows struct {
	Ended bool  `json:"ended"`
	Sent  int64 `json:"sent"` // the number of the last event that is in the event store, unless that has lost it
}

// followedBy writes the messages of a stream to the event store from now on, because another
// process reads them there for the client.
func (f *sharedStreams) followedBy(s *session, by, name string) any {
	s.mu.Lock()
	st := s.streams[name]
	s.mu.Unlock()
	if st == nil || st.standalone {
		return nil
	}
	if st.followUntil(by, time.Now().Add(followFor)) {
		f.all.background(s, func(ctx context.Context) {
			connection := lazyctx.New(ctx, nil)
			defer connection.Cancel(nil)
			sw := st.attach(connection)
			defer s.detach(sw)
			sw.copyToLog(connection, func(to string) { _ = f.all.group.Send(ctx, to, messageEvent, name) })
		})
	}
	return func(context.Context) any { return st.followState() }
}

// followState returns the answer to messageFollow. It waits for calls of the event store.
func (s *stream) followState() follows {
	s.log.lock()
	defer s.log.unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	rest := len(s.queue.msgs) > 0 || s.reply.Body != nil || len(s.log.unstored) > 0
	return follows{Ended: s.ended && !rest, Sent: s.log.stored()}
}

// resumeElsewhere resumes a stream that this process does not have, after an event.
func (h *Handler) resumeElsewhere(ctx context.Context, w http.ResponseWriter, r *http.Request, s *session, id string) *refusal {
	f := s.shared.all.streams
	name, n, ok := parseEventID(id)
	if !ok {
		return eventNotFound
	}
	raw, rec, err := f.read(ctx, s, name)
	switch {
	case err != nil:
		f.all.unavailable(ctx, "an event stream cannot be resumed", err)
		return refuseError(http.StatusServiceUnavailable, errStoreUnavailable)
	case rec == nil && f.events == nil:
		return streamElsewhere
	case rec == nil:
		return eventNotFound
	case len(rec.Calls) == 0: // a GET stream
		return h.continueGetStream(ctx, w, r, s, name, n)
	case rec.Work != "":
		return h.continueCall(ctx, w, r, s, name, n)
	}
	return h.follow(ctx, w, r, &followedStream{f: f, s: s, name: name, n: n, raw: raw, rec: rec, wake: make(chan struct{}, 1)})
}

// continueGetStream opens a GET stream that continues one of another process. It begins with
// the events that the client has missed.
func (h *Handler) continueGetStream(ctx context.Context, w http.ResponseWriter, r *http.Request, s *session, name string, n int64) *refusal {
	if refused := h.life.refuses(); refused != nil {
		return refused
	}
	f := s.shared.all.streams
	if err := s.shared.takeOver(ctx, "", f.events == nil); err != nil { // before the events are read, so that none is written after that
		return refuseTakeOver(err)
	}
	st := newStream(s)
	st.standalone = true
	h.resumable(s, st)
	missed, err := f.continuedBy(ctx, s, name, n, st.log)
	switch {
	case err == errEventsGone:
		s.shared.announceAll(ctx)
	case err != nil:
		f.all.unavailable(ctx, "an event stream cannot be resumed", err)
		return refuseError(http.StatusServiceUnavailable, errStoreUnavailable)
	}
	return h.serveGetStream(ctx, w, r, s, st, missed)
}

// maxContinued bounds the streams that continue each other, as far as they are read to resume the
// first of them.
const maxContinued = 32

// continuedBy returns the events after event n of a GET stream and of those that have continued
// it, and records that log continues the last one.
func (f *sharedStreams) continuedBy(ctx context.Context, s *session, name string, n int64, log *eventLog) (missed []sse.Event, err error) {
	for range maxContinued {
		events, err := f.after(ctx, name, n)
		if err != nil {
			return nil, err
		}
		missed = append(missed, events...)
		raw, rec, err := f.read(ctx, s, name)
		if err != nil || rec == nil || log == nil {
			return missed, err
		}
		if rec.Next != "" {
			name, n = rec.Next, 0
			continue
		}
		rec.Next = log.name
		value, err := json.Marshal(rec)
		if err != nil {
			return nil, err
		}
		swap, cancel := context.WithTimeout(ctx, sharedTimeout)
		swapped, err := f.all.store.Swap(swap, s.key.streamKey(name), raw, value, s.recordLife())
		cancel()
		if swapped || err != nil {
			return missed, err
		}
		n += int64(len(events))
	}
	return missed, nil
}

// followedStream is the stream of a call that another process runs, or has run. This process
// sends its client the events from the event store.
type followedStream struct {
	f          *sharedStreams
	s          *session
	name       string
	n          int64  // of the last event that was sent
	raw        []byte // rec as it was read
	rec        *streamRecord
	wake       chan struct{} // has a token when there may be new events
	before     []sse.Event   // of the streams that this one continues
	connection *lazyctx.Context
	asked      time.Time // when the other process was asked last to write its messages to the store
}

// follow answers a GET with the events of a stream until its last one.
func (h *Handler) follow(ctx context.Context, w http.ResponseWriter, r *http.Request, st *followedStream) *refusal {
	if refused := h.life.refuses(); refused != nil {
		return refused // another process can do it
	}
	events, err := st.f.after(ctx, st.name, st.n)
	switch {
	case err == errEventsGone:
		return eventNotFound
	case err != nil:
		st.f.all.unavailable(ctx, "an event stream cannot be resumed", err)
		return refuseError(http.StatusServiceUnavailable, errStoreUnavailable)
	}
	st.connection = lazyctx.New(ctx, h.life.streamsOf(r))
	defer st.connection.Cancel(nil)
	st.f.add(st)
	defer st.f.removeFollower(st)
	a := newResponder(w, h.o, st.connection)
	a.unsent, a.owner = h.o.unsent(), st.s.Owner
	defer a.abandon()
	before := st.before
	if st.s.Agreed().Facts.Priming {
		a.firstEvents, before = after(before, st.primingEvent(st.n)), nil
	}
	if a.open(before...) == nil {
		st.copyTo(a, events)
	}
	return nil
}

// primingEvent returns the empty event with the id after which the client resumes. Clients that lose
// the connection before its first event, such as those of the TypeScript SDK, otherwise forget it.
//
// Spec: 2025-11-25 basic/transports#resumability-and-redelivery
func (st *followedStream) primingEvent(n int64) func() []sse.Event {
	return func() []sse.Event { return []sse.Event{{ID: eventID(st.name, n), Data: []byte{}}} }
}

// copyTo sends the events until the last one.
func (st *followedStream) copyTo(a *responder, events []sse.Event) {
	look := time.NewTicker(followLook)
	defer look.Stop()
	for {
		st.n += int64(len(events))
		if len(events) > 0 && isReply(events[len(events)-1].Data) {
			a.finishEvents(events)
			return
		}
		if a.sendEvents(events...) != nil {
			return
		}
		state := followOpen
		if len(events) == 0 {
			state = st.state(st.connection)
		}
		if state == followOpen {
			select {
			case <-st.wake:
			case <-look.C:
			case <-st.connection.Done():
				return
			}
		}
		var err error
		events, err = st.f.after(st.connection, st.name, st.n)
		switch {
		case err == errEventsGone:
			a.finishEvents(st.lastEvents())
			return
		case err != nil || len(events) > 0 || state == followOpen:
		case state == followLost:
			a.finishEvents(st.lastEvents())
			return
		default:
			a.finishEvents(nil)
			return
		}
	}
}

// followState says what follows the events in the store.
type followState int

const (
	followOpen  followState = iota // there may be more
	followEnded                    // nothing: the client has all events
	followLost                     // nothing, although the client has no reply
)

// state asks the process that runs the call for its messages, and reports whether any follow.
func (st *followedStream) state(ctx context.Context) followState {
	if st.rec.Lost {
		return followLost
	}
	group := st.f.all.group
	alive, err := group.IsAlive(ctx, st.rec.Process)
	if dead := err == nil && !alive; dead || time.Since(st.asked) >= followAgain { // its key may be missing although it runs
		answer, err := st.ask(ctx)
		switch {
		case err == nil && answer == nil:
			return followLost
		case err == nil && st.n < answer.Sent:
			return followLost // unless the store has the rest by now
		case err == nil && answer.Ended:
			return followEnded
		case err == nil:
			st.asked = time.Now()
			return followOpen
		}
	}
	raw, rec, err := st.f.read(ctx, st.s, st.name)
	switch {
	case err != nil:
		return followOpen
	case rec == nil:
		return followEnded // its client has cancelled it, or has too many streams
	}
	st.raw, st.rec = raw, rec
	if alive, err := group.IsAlive(ctx, rec.Process); err != nil || alive {
		return followOpen
	}
	if rec.Work == "" {
		st.recordLost(ctx)
	}
	return followLost
}

// ask asks the process of the stream to write its messages to the event store. The answer is nil if
// it does not have the stream any more, as this process does not.
func (st *followedStream) ask(ctx context.Context) (answer *follows, err error) {
	group := st.f.all.group
	if st.rec.Process == group.ID() {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err = group.Ask(ctx, st.rec.Process, messageFollow, sessionMessage{Session: st.s.key.String(), Stream: st.name}, &answer)
	return answer, err
}

// maxReplyDepth is above what jsonrpc accepts, and so no limit: a reply is text of this server.
const maxReplyDepth = 10_000

// isReply reports whether an event is the reply to the requests of a stream, after which
// nothing follows.
func isReply(data []byte) bool {
	if jsonrpc.IsBatch(data) {
		return true
	}
	m, err := jsonrpc.Decode(data, jsonrpc.Limits{Depth: maxReplyDepth, Elements: math.MaxInt})
	return err == nil && m.Kind == jsonrpc.Response
}

// recordLost records that the process of the calls has ended before them, so that the client gets
// the same outcome when it resumes the stream again.
func (st *followedStream) recordLost(ctx context.Context) {
	lost := *st.rec
	lost.Lost = true
	value, err := json.Marshal(lost)
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	if _, err := st.f.all.store.Swap(ctx, st.s.key.streamKey(st.name), st.raw, value, st.s.recordLife()); err != nil {
		st.f.all.unavailable(ctx, "the end of a call whose replica has ended cannot be recorded", err)
	}
}

// lastEvents returns the last event of a stream whose calls are lost. A call that is continued is
// not lost: its client resumes the stream again.
func (st *followedStream) lastEvents() []sse.Event {
	if st.rec.Work != "" {
		return nil
	}
	return []sse.Event{{ID: eventID(st.name, st.n+1), Name: "message", Data: lostReply(st.rec.Calls)}}
}

// errCallLost is the error of a call whose process has ended, or whose events are not in the store.
var errCallLost = mcp.Errorf(mcp.CodeInternal, "the replica that ran the call has ended, or messages of the call are lost; the call may have run")

// lostReply returns the reply to calls that are lost: a batch if there are several.
func lostReply(calls []string) []byte {
	var all [][]byte
	for _, call := range calls {
		if id, err := jsonrpc.ParseID([]byte(call)); err == nil {
			all = append(all, dialect.Refuse(id, errCallLost).Body)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return slices.Concat([]byte("["), bytes.Join(all, []byte(",")), []byte("]"))
}
