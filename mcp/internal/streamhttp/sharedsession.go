package streamhttp

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/replica"
)

// sharedSession is what a session has in common with the other processes that serve it.
type sharedSession struct {
	all    *sharedSessions
	of     *session
	opener string // the process that has opened the session

	applying turn // held while a record takes effect; may be held while the Store or the Bus is called

	releases   atomic.Int64 // counts calls of release
	refreshing atomic.Bool  // refreshSoon was called and has not begun

	mu        sync.Mutex
	record    sessionRecord // guarded by mu: as it was read last
	read      time.Time     // guarded by mu: when
	renewed   time.Time     // guarded by mu: see renewRecords
	notifies  bool          // guarded by mu
	published int           // guarded by mu: see mayPublish; since the time since
	since     time.Time     // guarded by mu
	own       [][]byte      // guarded by mu: announcements of this process within the time of a handover
	ownUntil  time.Time     // guarded by mu: the end of that time; zero if nothing was taken over
	added     bool          // guarded by mu: core.Notify was called and core.StopNotifying was not
}

var _ exchange.Shared = (*sharedSession)(nil)

// share begins to share a session that this process opens or, if from is not nil, that it opens
// from its id.
func (a *sharedSessions) share(s *session, from *openedID) {
	if a == nil {
		return
	}
	a.start()
	h := &sharedSession{all: a, of: s, opener: a.group.ID(), notifies: from == nil, renewed: time.Now()}
	if from != nil {
		h.opener = from.opener
	} else {
		h.read = time.Now()
	}
	s.shared, s.Session.Shared = h, h
}

// awaitKnown waits until the other processes know this one, so that the client of a session that
// this process begins to serve can send them something, such as the cancellation of a call here.
func (a *sharedSessions) awaitKnown(ctx context.Context) {
	if a != nil {
		ctx, cancel := context.WithTimeout(ctx, joinTime)
		defer cancel()
		_ = a.group.Await(ctx) // without it, others take the session over
	}
}

// joinTime is how long the first request of a session waits until this process is known to the others.
const joinTime = time.Second

// notifierOf returns the process that notifies the client.
func (h *sharedSession) notifierOf(rec sessionRecord) string {
	if rec.Notifier != "" {
		return rec.Notifier
	}
	return h.opener
}

// Notifies implements exchange.Shared.
func (h *sharedSession) Notifies() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notifies
}

// refresh reads the state of the session, if what is known is older than age, and applies it. It
// reports whether the session has ended. If the Store fails, the known state holds.
func (h *sharedSession) refresh(ctx context.Context, age time.Duration) (ended bool) {
	h.mu.Lock()
	recent := age > 0 && !h.read.IsZero() && time.Since(h.read) < age
	if !recent {
		h.read = time.Now() // others need not read it as well
	}
	ended = h.record.Ended
	h.mu.Unlock()
	if recent || ended || age > 0 && !h.all.mayTry() {
		return ended
	}
	h.applying.lock()
	defer h.applying.unlock()
	rec, err := h.readRecord(ctx)
	if err != nil {
		h.mu.Lock()
		h.read = time.Time{}
		h.mu.Unlock()
		h.all.unavailable(ctx, "their state cannot be read", err)
		return false
	}
	h.all.available()
	h.apply(ctx, rec)
	return rec.Ended
}

// readRecord reads the record. It reads it again if the session was released meanwhile, which is
// not in the first one.
func (h *sharedSession) readRecord(ctx context.Context) (rec sessionRecord, err error) {
	for {
		before := h.releases.Load()
		_, stored, err := h.all.read(ctx, h.of.key)
		if err != nil || h.releases.Load() == before {
			return stored.sessionRecord, err
		}
	}
}

// refreshSoon reads the state of the session on a goroutine, unless one is about to do so.
func (h *sharedSession) refreshSoon() {
	if h.refreshing.CompareAndSwap(false, true) {
		h.all.background(h.of, func(ctx context.Context) {
			h.refreshing.Store(false) // what changes from now on needs another one
			h.refresh(ctx, 0)
		})
	}
}

// apply has a record take effect in this process. The caller holds applying.
func (h *sharedSession) apply(ctx context.Context, rec sessionRecord) {
	h.mu.Lock()
	before := h.record
	h.record = rec
	did, does := h.notifies, h.notifierOf(rec) == h.all.group.ID()
	h.notifies = does
	added := h.added
	h.mu.Unlock()
	if rec.Ended {
		h.all.table.end(h.of, errSessionDeleted)
		return
	}
	if agreed := h.of.Agreed(); rec.Level != "" && rec.Level != before.Level {
		_ = agreed.SetLogLevel(rec.Level) // which was valid when it was set
	}
	switch {
	case did && !does:
		h.stopNotifying(true)
	case does && (added || len(rec.URIs) > 0) && !(did && slices.Equal(before.URIs, rec.URIs)):
		h.notify(ctx, rec.URIs, !did)
	}
}

// notify has this process notify the client. The caller holds applying.
func (h *sharedSession) notify(ctx context.Context, uris []string, missed bool) {
	h.mu.Lock()
	h.added = true
	h.mu.Unlock()
	h.all.table.core.Notify(ctx, h.of.Session, uris, missed)
}

// stopNotifying ends the notification of the client by this process. For a while it forwards
// changes to the process that has taken its place, because it may learn of a change later than
// that process, which was not subscribed before. If that process has not asked for it (release)
// even then, it could not reach this one, and the client may have
// opened a GET stream here since: endStreams ends it, so that the client opens another one.
func (h *sharedSession) stopNotifying(endStreams bool) {
	before := h.releases.Load()
	h.all.background(h.of, func(ctx context.Context) {
		select {
		case <-time.After(handover):
		case <-ctx.Done():
		}
		h.applying.lock()
		defer h.applying.unlock()
		h.mu.Lock()
		again := h.notifies
		h.added = h.added && again
		h.mu.Unlock()
		if again {
			return
		}
		h.all.table.core.StopNotifying(h.of.Session)
		if endStreams && h.releases.Load() == before {
			h.of.endGetStreams()
		}
	})
}

// handover is for how long two processes may announce the same change.
const handover = time.Second

// keepOwn keeps an announcement of this process, so that the same one of another process is not
// repeated.
func (h *sharedSession) keepOwn(msg []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.ownUntil.IsZero():
	case time.Now().After(h.ownUntil):
		h.own, h.ownUntil = nil, time.Time{}
	case len(h.own) < maxUndelivered && isAnnouncement(msg):
		h.own = append(h.own, msg)
	}
}

// hasOwn reports whether this process has sent the same announcement since it has taken over.
func (h *sharedSession) hasOwn(msg []byte) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return time.Now().Before(h.ownUntil) && slices.ContainsFunc(h.own, func(own []byte) bool { return bytes.Equal(own, msg) })
}

// isAnnouncement reports whether a message announces a change, so that it may be sent once for
// several changes.
func isAnnouncement(msg []byte) bool {
	m, err := jsonrpc.Decode(msg, jsonrpc.Limits{})
	switch {
	case err != nil:
		return false
	case m.Method == mcp.NotificationResourceUpdated, m.Method == mcp.NotificationToolsListChanged,
		m.Method == mcp.NotificationPromptsListChanged, m.Method == mcp.NotificationResourcesListChanged:
		return true
	}
	return false
}

// change changes the record, applies it here, and tells the other processes.
func (h *sharedSession) change(ctx context.Context, change func(*sessionRecord) error) error {
	h.applying.lock()
	defer h.applying.unlock()
	if h.all.isUnavailable() {
		return errStoreUnavailable
	}
	rec, err := h.all.update(ctx, h.of, change)
	if err != nil {
		return h.all.refused(ctx, "their state cannot be changed", err)
	}
	h.apply(ctx, rec)
	h.publish(ctx, messageChanged, sessionMessage{})
	return nil
}

// publish sends a message about the session to the other processes. If it is lost, they refresh
// the session later.
func (h *sharedSession) publish(ctx context.Context, kind string, m sessionMessage) {
	m.Session = h.of.key.String()
	if err := h.all.group.Publish(ctx, kind, m); err != nil {
		h.all.unavailable(ctx, "other replicas are not told of a change", err)
	}
}

// End implements exchange.Shared.
func (h *sharedSession) End(ctx context.Context) error {
	if !h.all.table.hasID(h.of) {
		return nil // nobody knows it yet
	}
	err := h.change(ctx, func(rec *sessionRecord) error {
		*rec = sessionRecord{Ended: true}
		return nil
	})
	if err == nil {
		h.all.removeRecords(h.of.key)
	}
	return err
}

// SetLogLevel implements exchange.Shared.
func (h *sharedSession) SetLogLevel(ctx context.Context, level mcp.LoggingLevel) error {
	return h.change(ctx, func(rec *sessionRecord) error {
		rec.Level = level
		return nil
	})
}

// Subscribe implements exchange.Shared.
func (h *sharedSession) Subscribe(ctx context.Context, uri string) error {
	err := h.change(ctx, func(rec *sessionRecord) error { return rec.subscribe(uri) })
	if err != nil {
		h.restore(ctx)
	}
	return err
}

// restore has this process notify the client of what the record says, which may have changed
// since a subscription began that has failed.
func (h *sharedSession) restore(ctx context.Context) {
	h.applying.lock()
	defer h.applying.unlock()
	h.mu.Lock()
	uris, notifies := h.record.URIs, h.notifies
	h.mu.Unlock()
	if notifies {
		h.notify(ctx, uris, false)
	}
}

// Unsubscribe implements exchange.Shared.
func (h *sharedSession) Unsubscribe(ctx context.Context, uri string) error {
	return h.change(ctx, func(rec *sessionRecord) error { return rec.unsubscribe(uri) })
}

// Initialized implements exchange.Shared.
func (h *sharedSession) Initialized() {
	if !h.mayPublish() {
		return
	}
	h.mu.Lock()
	notifier := h.notifierOf(h.record)
	h.mu.Unlock()
	ctx := context.Background() // Send does not wait long
	if err := h.all.group.Send(ctx, notifier, messageInitialized, sessionMessage{Session: h.of.key.String()}); err != nil {
		h.all.unavailable(ctx, "the replica of a session is not told that its client is initialized", err)
	}
}

// maxPublished bounds the cancellations of one session, and notifications/initialized, that are
// sent to the other processes in a second. The ids may be those of no request at all.
const maxPublished = 32

// mayPublish counts one of them, and reports whether it may be sent.
func (h *sharedSession) mayPublish() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if time.Since(h.since) > time.Second {
		h.published, h.since = 0, time.Now()
	}
	h.published++
	return h.published <= maxPublished
}

// Cancel implements exchange.Shared.
func (h *sharedSession) Cancel(id jsonrpc.ID, cause *mcp.CancelledError) {
	if !h.mayPublish() {
		return
	}
	h.publish(context.Background(), messageCancel, sessionMessage{ID: jsontext.Value(id.Raw()), Reason: cause.Reason})
	if h.all.streams.events != nil { // the process that has received the call may have ended
		h.all.background(h.of, func(ctx context.Context) {
			if err := h.all.abandon(ctx, h.of.key.callKey(id.Raw())); err != nil {
				h.all.unavailable(ctx, "a call cannot be cancelled", err)
			}
		})
	}
}

// released is the answer to messageRelease.
type released struct {
	Messages []jsontext.Value `json:"messages"` // that were not sent
}

// errNotifierChanged reports that the process to be replaced does not notify the client any more.
var errNotifierChanged = errors.New("another replica notifies the client")

// takeOver makes this process the one that notifies the client. The one that did so before
// returns what it has not sent. Without its answer, or if messages that it has sent may be
// missing, the client is notified of all changes. Unless from is empty, only that process is
// replaced, and the error is errNotifierChanged if another one notifies the client by now.
func (h *sharedSession) takeOver(ctx context.Context, from string, missed bool) error {
	switch {
	case !h.all.isUnavailable() && h.refresh(ctx, 0):
		return sessionUnknown.err
	case h.Notifies():
		return nil
	case h.all.isUnavailable():
		return errStoreUnavailable
	}
	if err := h.all.group.Await(ctx); err != nil {
		h.all.unavailable(ctx, "an event stream cannot be opened", err)
		return errStoreUnavailable
	}
	h.applying.lock()
	defer h.applying.unlock()
	var before string
	rec, err := h.all.update(ctx, h.of, func(rec *sessionRecord) error {
		before = h.notifierOf(*rec)
		if rec.Ended {
			return sessionUnknown.err
		}
		if from != "" && from != before {
			return errNotifierChanged
		}
		rec.Notifier = h.all.group.ID()
		rec.Changes++
		return nil
	})
	if err == errNotifierChanged {
		return err
	}
	if err != nil {
		return h.all.refused(ctx, "an event stream cannot be opened", err)
	}
	h.mu.Lock()
	h.record, h.notifies = rec, true
	h.own, h.ownUntil = nil, time.Now().Add(2*handover)
	h.mu.Unlock()
	h.publish(ctx, messageChanged, sessionMessage{}) // for processes that release does not reach
	h.notify(ctx, rec.URIs, false)                   // before the other process stops, so that no change is missed
	unsent, ok := h.askRelease(ctx, before, rec.Changes)
	if !ok || missed {
		h.notify(ctx, rec.URIs, true)
	}
	h.of.pushFirst(unsent)
	return nil
}

// announceAll notifies the client of all changes that it may have missed.
func (h *sharedSession) announceAll(ctx context.Context) {
	h.applying.lock()
	defer h.applying.unlock()
	h.mu.Lock()
	uris := h.record.URIs
	h.mu.Unlock()
	h.notify(ctx, uris, true)
}

// askRelease asks the process that has notified the client to stop, because of that change of the
// record. It reports false if it does not answer, or if it has lost what it has not sent.
func (h *sharedSession) askRelease(ctx context.Context, from string, change int64) (unsent [][]byte, ok bool) {
	if alive, err := h.all.group.IsAlive(ctx, from); err != nil || !alive {
		return nil, false
	}
	var answer *released
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := h.all.group.Ask(ctx, from, messageRelease, sessionMessage{Session: h.of.key.String(), Changes: change}, &answer)
	if err != nil || answer == nil {
		return nil, false
	}
	for _, m := range answer.Messages {
		unsent = append(unsent, m)
	}
	return unsent, true
}

// release stops notifying the client, because another process does since that change of the record.
// It returns nil if what was not sent is too large, or if the message was late: the notifier has
// changed again since, and may be this process.
func (h *sharedSession) release(to string, change int64) any {
	h.mu.Lock()
	late := change < h.record.Changes
	h.mu.Unlock()
	if late {
		return nil
	}
	h.releases.Add(1)
	unsent := h.of.takeUndelivered(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.notifies, h.record.Notifier, h.record.Changes = false, to, change
	})
	h.stopNotifying(false)
	answer, size := released{Messages: []jsontext.Value{}}, 0
	for _, msg := range unsent {
		answer.Messages = append(answer.Messages, msg)
		size += len(msg)
	}
	if size > maxReleased {
		return nil
	}
	return answer
}

// maxForwards is how often a message is given to the process that notifies the client. Another
// process may take its place each time.
const maxForwards = 4

// forward sends a message that belongs to no request through the process that notifies the
// client. If that is gone, or has no room for the session any more, this process takes its
// place.
func (h *sharedSession) forward(ctx context.Context, msg []byte) error {
	var notifier string
	for range maxForwards {
		h.mu.Lock()
		asked := notifier
		notifier = h.notifierOf(h.record)
		h.mu.Unlock()
		taken := new(bool)
		err := h.all.group.Ask(ctx, notifier, messagePush, sessionMessage{Session: h.of.key.String(), Message: msg}, &taken)
		if err == nil && taken != nil && *taken {
			return nil
		}
		if errors.Is(err, replica.ErrTooLarge) {
			return fmt.Errorf("message of %d bytes for a client whose event stream is at another replica: %w", len(msg), err)
		}
		if h.refresh(ctx, 0); h.Notifies() {
			return h.of.push(msg)
		}
		if notifier != asked {
			continue
		}
		if alive, failed := h.all.group.IsAlive(ctx, notifier); err != nil && (failed != nil || alive) {
			return errStoreUnavailable
		}
		switch err := h.takeOver(ctx, notifier, false); err {
		case nil:
			return h.of.push(msg)
		case errNotifierChanged:
		default:
			return err
		}
	}
	return errStoreUnavailable
}

// receivePush queues a message that another process forwards, and reports whether this process
// notifies the client.
func (h *sharedSession) receivePush(msg []byte) any {
	return h.hasOwn(msg) || h.of.push(msg) == nil
}
