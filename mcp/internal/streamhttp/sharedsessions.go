package streamhttp

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/replica"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// sharedSessions keeps what sessions have in common in all processes that serve them. Its state
// is in the Store; messages over the Bus say that it has changed:
//
//	request ──> refresh ──> Store                  every 5 s at most for one session
//	DELETE, level, subscribe ──> update ──> Store ──"changed"──> the other processes: refresh
//	response to a question ──> answer ──> Store ──"answered"──> the process that asks
//	GET ──> takeOver ──> Store ──"release"──> the process that has notified before
//	push, cancel, initialized ──> Bus only
//
// If a message about the record is lost, what it says takes effect with the next request of the
// session, or within walkInterval.
type sharedSessions struct {
	group   *replica.Group
	store   mcp.Store
	streams *sharedStreams
	table   *sessions
	logger  *slog.Logger
	started sync.Once
	records *sessionKeys // those that this process has written

	mu        sync.Mutex
	questions map[string]*sharedQuestion // guarded by mu: those that wait here, by key of the Store
	failed    time.Time                  // guarded by mu: when the Store has failed last, or was tried again; zero if it works
}

// Messages between the processes.
const (
	messageChanged     = "changed"
	messageInitialized = "initialized"
	messageRelease     = "release"
	messagePush        = "push"
	messageCancel      = "cancel"
	messageAnswered    = "answered"
)

// sessionMessage is a message about a session.
type sessionMessage struct {
	Session string         `json:"session"`
	ID      jsontext.Value `json:"id,omitzero"`      // of a request to cancel
	Reason  string         `json:"reason,omitzero"`  // for which it is cancelled
	Message jsontext.Value `json:"message,omitzero"` // to push
	Stream  string         `json:"stream,omitzero"`  // to follow
	Changes int64          `json:"changes,omitzero"` // sessionRecord.Changes of the process that takes over
}

const (
	// sharedTimeout bounds one call of the Store.
	sharedTimeout = 2 * time.Second
	// answerTime is how long a process waits for another one that answers at once. That may have
	// been killed, which is known four seconds later at the latest.
	answerTime = time.Second
	// walkInterval is how often the state of the sessions in use is read, in case a message was
	// lost. For others it is read by their next request.
	walkInterval = 30 * time.Second
	// storeRetry is for how long the state of sessions is not read again after the Store has
	// failed, so that calls do not wait for it.
	storeRetry = time.Second
	// refreshAfter is how old the known state of a session may be.
	refreshAfter = 5 * time.Second
	// maxReleased bounds the messages in an answer to messageRelease, in bytes.
	maxReleased = 32 << 10
)

// newSharedSessions returns nil if the processes have nothing in common but their keys.
func newSharedSessions(t *sessions) *sharedSessions {
	group := t.o.orZero().Replicas
	if group == nil {
		return nil
	}
	a := &sharedSessions{group: group, store: group.Store(), table: t, logger: t.o.logger(), questions: make(map[string]*sharedQuestion)}
	a.handle(messageChanged, func(s *session, _ string, _ sessionMessage) any {
		s.shared.refreshSoon()
		return nil
	})
	a.handle(messageInitialized, func(s *session, _ string, _ sessionMessage) any {
		t.core.Initialized(s.Session)
		return nil
	})
	a.handle(messageRelease, func(s *session, from string, m sessionMessage) any { return s.shared.release(from, m.Changes) })
	a.handle(messagePush, func(s *session, _ string, m sessionMessage) any { return s.shared.receivePush(m.Message) })
	a.handle(messageCancel, func(s *session, _ string, m sessionMessage) any {
		if id, err := jsonrpc.ParseID(m.ID); err == nil {
			s.Running.Cancel(id, &mcp.CancelledError{Reason: m.Reason})
		}
		return nil
	})
	a.records = newSessionKeys(maxSessionRecords)
	a.records.dropped = a.dropRecord
	a.streams = newSharedStreams(a, t.o.sharedEvents())
	group.Handle(messageAnswered, func(_ string, body jsontext.Value) any {
		var key string
		if json.Unmarshal(body, &key) == nil {
			a.answered(key)
		}
		return nil
	})
	return a
}

// handle sets the handler of a kind of message about a session in the table. It uses the
// session while it runs. The answer is null if the session is not in the table.
func (a *sharedSessions) handle(kind string, f func(s *session, from string, m sessionMessage) any) {
	a.group.Handle(kind, func(from string, body jsontext.Value) any {
		var m sessionMessage
		var key sessionKey
		if json.Unmarshal(body, &m) != nil {
			return nil
		}
		if n, err := hex.Decode(key[:], []byte(m.Session)); err != nil || n != len(key) {
			return nil
		}
		s := a.table.use(key)
		if s == nil {
			return nil
		}
		defer a.table.release(s)
		return f(s, from, m)
	})
}

// walk refreshes the sessions in use, now and then.
func (a *sharedSessions) walk(ctx context.Context) {
	for {
		select {
		case <-time.After(walkInterval):
		case <-a.group.Returned(): // others may have taken this process for dead
		case <-ctx.Done():
			return
		}
		for _, s := range a.table.inUse() {
			if ctx.Err() == nil {
				s.shared.refresh(ctx, refreshAfter)
				s.shared.renewRecords(ctx)
			}
			a.table.release(s)
		}
	}
}

// start joins the other processes.
func (a *sharedSessions) start() {
	a.started.Do(func() {
		a.group.Start()
		a.group.Go(a.walk)
	})
}

// background runs f on a goroutine that uses the session.
func (a *sharedSessions) background(s *session, f func(ctx context.Context)) {
	a.table.share(s)
	started := a.group.Go(func(ctx context.Context) {
		defer a.table.release(s)
		f(ctx)
	})
	if !started {
		a.table.release(s)
	}
}

// unavailable records that the Store or the Bus has failed, unless ctx of the call has ended.
func (a *sharedSessions) unavailable(ctx context.Context, what string, err error) {
	if ctx.Err() != nil {
		return
	}
	a.mu.Lock()
	first := time.Since(a.failed) > storeRetry
	a.failed = time.Now()
	a.mu.Unlock()
	if first {
		a.logger.LogAttrs(context.Background(), slog.LevelWarn, "sessions: "+what, usercode.Attrs(err)...)
	}
}

// refused returns the error for the client of a request that could not change the state.
func (a *sharedSessions) refused(ctx context.Context, what string, err error) error {
	if e, ok := errors.AsType[*mcp.Error](err); ok {
		return e
	}
	if err != errConflict {
		a.unavailable(ctx, what, err)
	}
	return errStoreUnavailable
}

func (a *sharedSessions) isUnavailable() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Since(a.failed) <= storeRetry
}

// mayTry reports whether a request that can do without the Store may wait for it. While the Store
// fails, one request does so in each storeRetry.
func (a *sharedSessions) mayTry() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed.IsZero() {
		return true
	}
	if time.Since(a.failed) <= storeRetry {
		return false
	}
	a.failed = time.Now()
	return true
}

// available records that the Store works.
func (a *sharedSessions) available() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = time.Time{}
}

// errStoreUnavailable is the error of a request that needs the Store.
var errStoreUnavailable = mcp.PeerRetryLaterf(mcp.CodeOverloaded, storeRetry, "the state that the replicas of this server share is not available; try again later")

// sessionRecord is the state of a session in the Store.
type sessionRecord struct {
	Ended    bool             `json:"ended,omitzero"`
	Level    mcp.LoggingLevel `json:"level,omitzero"`
	Notifier string           `json:"notifier,omitzero"` // the process, unless it is the one that has opened the session
	Changes  int64            `json:"changes,omitzero"`  // how often Notifier has changed
	URIs     []string         `json:"uris,omitzero"`     // that the client has subscribed to
}

// storedRecord is what the Store has of a session.
type storedRecord struct {
	sessionRecord
	State []byte `json:"state,omitzero"` // of the dialect.Session, if it does not fit into the id
}

func (key sessionKey) String() string { return hex.EncodeToString(key[:]) }

func (key sessionKey) storeKey() string { return "session." + key.String() }

// read returns the record of a session, which is empty if there is none.
func (a *sharedSessions) read(ctx context.Context, key sessionKey) (raw []byte, rec storedRecord, err error) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	raw, found, err := a.store.Get(ctx, key.storeKey())
	if err == nil && found {
		err = json.Unmarshal(raw, &rec)
	}
	return raw, rec, err
}

// storeState puts the state of a session into its record, because it does not fit into the id. If the
// Store fails, only this process serves the session.
func (a *sharedSessions) storeState(ctx context.Context, s *session) {
	if a.isUnavailable() {
		return
	}
	_, err := a.updateStored(ctx, s, func(rec *storedRecord) error {
		rec.State = s.Agreed().State()
		return nil
	})
	if err != nil {
		a.unavailable(ctx, "the capabilities of a client cannot be stored", err)
	}
}

// readState reads the state of a session whose id does not have it.
func (a *sharedSessions) readState(ctx context.Context, from *openedID) *refusal {
	if a == nil {
		return sessionTooLarge
	}
	if a.isUnavailable() {
		return storeFailed
	}
	switch _, rec, err := a.read(ctx, from.key); {
	case err != nil:
		a.unavailable(ctx, "the capabilities of a client cannot be read", err)
		return storeFailed
	case rec.Ended:
		return sessionUnknown
	case rec.State == nil:
		return sessionTooLarge
	default:
		return from.openState(a.table.core.Dialect(), rec.State)
	}
}

// recordOverhead is about what an engine needs for a record besides its value.
const recordOverhead = 256

// errConflict reports that others have changed a record again and again.
var errConflict = errors.New("the record changes all the time")

// update changes the record of a session. change returns an error to leave it as it is.
func (a *sharedSessions) update(ctx context.Context, s *session, change func(*sessionRecord) error) (sessionRecord, error) {
	rec, err := a.updateStored(ctx, s, func(rec *storedRecord) error {
		err := change(&rec.sessionRecord)
		if rec.Ended {
			rec.State = nil
		}
		return err
	})
	return rec.sessionRecord, err
}

func (a *sharedSessions) updateStored(ctx context.Context, s *session, change func(*storedRecord) error) (rec storedRecord, err error) {
	for range 16 {
		old, rec, err := a.read(ctx, s.key)
		if err != nil {
			return rec, err
		}
		if err := change(&rec); err != nil {
			return rec, err
		}
		value, err := json.Marshal(rec)
		if err != nil {
			return rec, err
		}
		if bytes.Equal(old, value) {
			return rec, nil
		}
		written, err := a.write(ctx, s, old, value)
		if written {
			a.records.add(s.key, s.Owner, s.expires, len(value)+recordOverhead)
		}
		if written || err != nil {
			return rec, err
		}
	}
	return rec, errConflict
}

// dropRecord deletes a record, because its owner has too many.
func (a *sharedSessions) dropRecord(key sessionKey) {
	a.group.Go(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
		defer cancel()
		if err := a.store.Delete(ctx, key.storeKey()); err != nil {
			a.unavailable(context.Background(), "the state of one cannot be deleted", err)
		}
	})
}

// write replaces a record that has not changed. Without a record, old is nil.
func (a *sharedSessions) write(ctx context.Context, s *session, old, value []byte) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, sharedTimeout)
	defer cancel()
	if len(old) == 0 {
		return a.store.Create(ctx, s.key.storeKey(), value, s.timeLeft())
	}
	return a.store.Swap(ctx, s.key.storeKey(), old, value, s.timeLeft())
}

// Limits of the subscriptions of a session.
const (
	maxSharedURIs     = 1024
	maxSharedURIBytes = 256 << 10
)

// subscribe adds a URI to a record.
func (rec *sessionRecord) subscribe(uri string) error {
	if slices.Contains(rec.URIs, uri) {
		return nil
	}
	size := len(uri)
	for _, u := range rec.URIs {
		size += len(u)
	}
	if len(rec.URIs) >= maxSharedURIs || size > maxSharedURIBytes {
		return exchange.ErrTooManyShared
	}
	rec.URIs = append(rec.URIs, uri)
	return nil
}

func (rec *sessionRecord) unsubscribe(uri string) error {
	rec.URIs = slices.DeleteFunc(rec.URIs, func(u string) bool { return u == uri })
	return nil
}
