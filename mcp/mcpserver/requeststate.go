package mcpserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/internal/replay"
	"github.com/fondaco/fondaco/mcp/internal/replica"
	"github.com/fondaco/fondaco/mcp/internal/seal"
)

// maxState limits a requestState that is sent to a client, in bytes.
const maxState = 64 << 10

// initState sets the keys that encrypt requestStates, the Store and the Bus, and the tables
// of what clients can make the server keep.
func (s *Server) initState() (err error) {
	o := s.options.orZero()
	switch {
	case len(o.Keys) > 0:
		err = s.useKeys(o.Keys)
	case isSharedStore(o.Store):
		err = errors.New("Options.Store without Options.Keys: want the keys that all replicas share")
	case isShared(o.Bus):
		err = errors.New("Options.Bus without Options.Keys: want the keys that all replicas share")
	default:
		s.keys = seal.Random()
	}
	switch s.store = o.Store; {
	case s.store == nil:
		s.store = new(MemoryStore)
	case isSharedStore(s.store):
		s.store = recoveringStore{s.store, s}
	}
	if s.bus = o.Bus; isShared(s.bus) {
		s.bus = recoveringBus{s.bus, s}
	}
	instance := rand.Text()
	s.questions = newWaitingQuestions(o.Ask)
	s.answers.init(o.Load)
	s.urlElicitations = newURLElicitations()
	s.parked.Instance, s.usedStates.Instance = instance, instance
	s.storedUsedStates = storedUsedStates{store: s.store, instance: instance}
	s.kept = limit.NewKeptBytes(o.maxKept())
	s.storedStates = newStoredStates(s.store, s.kept)
	s.parkedPlaces = limit.NewPool(limit.PoolBounds{Total: int64(o.Ask.maxParked()), Each: int64(o.Ask.ownerParked())})
	s.unsent = exchange.NewUnsentLimit(o.Load.maxUnsent())
	watched := int64(o.Load.maxWatched())
	s.hub.Open(changeSource{s}, limit.NewPool(limit.PoolBounds{Total: watched, Each: max(watched/4, 1)}))
	if s.bus != nil {
		s.hub.OpenReplicas(s.bus, s.info.Name, instance)
	}
	if s.bus != nil && o.Store != nil && len(o.Keys) > 0 {
		s.replicas = replica.New(replica.Options{Name: s.info.Name, Store: s.store, Bus: s.bus, Keys: s.keys, Logger: s.options.logger()})
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

// errState returns the error for a state that was not issued for this request, or has
// expired. It does not give the reason.
func errState() error {
	return mcp.Errorf(mcp.CodeInvalidParams, "requestState: not valid for this request; make the call again without it")
}

// bound returns the digest to which the states of this call are bound: the server, the
// principal, and the method, name and arguments in canonical form with exact integers.
//
// Spec: RFC 8785
func (r *Request) bound() ([]byte, error) {
	if r.boundTo != nil {
		return r.boundTo[:], nil
	}
	return r.bind(r.call.CallParams())
}

// bind sets and returns the digest for bound.
func (r *Request) bind(p dialect.CallParams) ([]byte, error) {
	name, uri, err := r.target(p)
	if err != nil {
		return nil, err
	}
	arguments := p.Arguments
	if len(arguments) == 0 || arguments.Kind() == 'n' {
		arguments = jsontext.Value("{}")
	}
	if len(arguments) > len("{}") {
		arguments = slices.Clone(arguments)
		if err := arguments.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
			return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: arguments: %v", r.method, err)
		}
	}
	who, text := r.Principal(), make([]byte, 0, 512)
	for _, part := range [...]string{r.server.info.Name, who.Issuer, who.Subject, who.Client, r.method} {
		text = appendPart(text, part)
	}
	text = appendPart(appendPart(text, name), uri)
	digest := sha256.Sum256(append(text, arguments...))
	r.boundTo = &digest
	return digest[:], nil
}

func appendPart[Text ~string | ~[]byte](dst []byte, part Text) []byte {
	return append(binary.BigEndian.AppendUint64(dst, uint64(len(part))), part...)
}

// target returns the name of the tool or prompt, or the URI of the resource.
func (r *Request) target(p dialect.CallParams) (name, uri []byte, err error) {
	usual := (p.Name == nil || p.Name.Kind() == '"') && (p.URI == nil || p.URI.Kind() == '"')
	if usual {
		return rawjson.Unquote(p.Name), rawjson.Unquote(p.URI), nil
	}
	var target struct {
		Name string `json:"name"`
		URI  string `json:"uri"`
	}
	err = r.Decode(&target)
	return []byte(target.Name), []byte(target.URI), err
}

// readState decrypts the requestState of the call, if it brings one, and sets resumed. It is
// called once: before the call is admitted if it has to wait, otherwise afterwards. It does not
// read the Store, and decrypts no more than a client was sent.
func (r *Request) readState() {
	p := r.call.CallParams()
	token, err := r.call.RequestState(p)
	if token == nil && err == nil {
		return
	}
	r.resumed = &resumption{answers: p.InputResponses, invalid: err}
	if err == nil {
		r.resumed.plain, r.resumed.invalid = r.unsealState(token, p)
	}
	if r.resumed.invalid == nil {
		r.resumed.mark = markOf(token)
		r.resumed.first = r.server.answers.states.add(r.resumed.mark, r.server.options.asking().expiry())
	}
}

// unsealState decrypts a requestState of the call.
func (r *Request) unsealState(token []byte, p dialect.CallParams) ([]byte, error) {
	if len(token) > maxState {
		return nil, errState()
	}
	bound, err := r.bind(p)
	if err != nil {
		return nil, err
	}
	plain, err := r.server.keys.Open(token, bound, time.Now())
	if err != nil {
		return nil, errState()
	}
	return plain, nil
}

// openMemory returns the memory of the call from the requestState that readState has decrypted, or
// from the Store.
func (r *Request) openMemory(ctx context.Context) (m replay.Memory, err error) {
	plain := r.resumed.plain
	r.resumed.plain = nil
	if r.resumed.invalid != nil {
		return m, r.resumed.invalid
	}
	s := r.server
	if id, stored := cutStored(plain); stored {
		value, found, err := s.storedStates.get(ctx, id)
		if err != nil {
			return m, fmt.Errorf("requestState: %w", err)
		}
		if plain, err = s.keys.Open(value, r.boundTo[:], time.Now()); err != nil || !found {
			return m, errState()
		}
	}
	if m, err = replay.DecodeMemory(plain); err != nil {
		return m, errState()
	}
	r.resumed.state = m.ID
	return m, nil
}

// useState marks a state as used if AskOptions.SingleUse is set, and returns an error if it
// was used before. This costs one bit for each state: in this process, or with Options.Store
// in the Store, for all replicas.
func (r *Request) useState(ctx context.Context, id string) error {
	s := r.server
	if !s.options.asking().orZero().SingleUse {
		return nil
	}
	if s.options.orZero().Store == nil || id == "" { // without an ID: sealed where there was no Store
		if !s.usedStates.Use(id) {
			return errUsedState()
		}
		return nil
	}
	first, err := s.storedUsedStates.use(ctx, id, s.options.asking().expiry())
	if err == nil && !first {
		err = errUsedState()
	}
	return err
}

func errUsedState() error {
	return mcp.Errorf(mcp.CodeInvalidParams, "requestState: already answered")
}

// cutStored returns the id of a state in the Store, which follows a character that no
// encoded Memory begins with.
func cutStored(plain []byte) (id string, ok bool) {
	if len(plain) < 2 || plain[0] != '@' {
		return "", false
	}
	return string(plain[1:]), true
}

// sealState returns the state for the next round. A state that is too large for a client is
// kept in the Store.
func (r *Request) sealState(m *replay.Memory) (string, error) {
	s := r.server
	bound, err := r.bound()
	if err != nil {
		return "", err
	}
	ttl := s.options.asking().expiry()
	expires := time.Now().Add(ttl)
	switch {
	case !s.options.asking().orZero().SingleUse:
	case s.options.orZero().Store == nil:
		m.ID = s.usedStates.New(expires)
	default:
		m.ID = s.storedUsedStates.newID()
	}
	token := s.keys.Seal(m.Encode(), bound, expires)
	if len(token) <= maxState {
		return token, nil
	}
	if len(token) > largestValue {
		key, size := m.Largest()
		return "", fmt.Errorf("requestState: %d bytes, the limit is %d; the largest part is %d bytes under key %q: remember less", len(token), largestValue, size, key)
	}
	ctx := context.WithoutCancel(r.ctx) // the context of the run has ended with the question
	id := rand.Text()
	switch err := s.storedStates.put(ctx, r.in.Owner(), id, []byte(token), ttl); {
	case errors.Is(err, limit.ErrPoolFull), errors.Is(err, limit.ErrOwnerFull):
		r.ReportLimit(mcp.LimitKept)
		return "", mcp.PeerRetryLaterf(mcp.CodeOverloaded, ttl, "%s: there is no room for the state of the call; make the call again later", r.method)
	case errors.Is(err, errStoreFull): // the text of the error is not for clients
		s.options.logger().LogAttrs(ctx, slog.LevelError, "requestState not stored", slog.Any("error", err))
		return "", errors.New("requestState: the Store has no room; make the call again later")
	case err != nil:
		return "", fmt.Errorf("requestState: %w", err)
	}
	return s.keys.Seal([]byte("@"+id), bound, expires), nil
}
