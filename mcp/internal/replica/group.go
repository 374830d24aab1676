package replica

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/drain"
	"github.com/fondaco/fondaco/mcp/internal/seal"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

const (
	// callTimeout bounds one call of the Bus or the Store.
	callTimeout = 2 * time.Second
	// A process that cannot subscribe to its Bus tries again after a pause, which doubles each
	// time.
	minPause = 250 * time.Millisecond
	maxPause = 10 * time.Second
	// maxMessage bounds one message on the Bus, in bytes.
	maxMessage = 64 << 10
	// messageLife is how long a message is accepted. The clocks of the processes may differ by
	// this much.
	messageLife = 10 * time.Minute
)

// Errors of messages.
var (
	ErrTooLarge = errors.New("the message is too large for the Bus")
	errLeft     = errors.New("the server is shutting down")
)

// Options are what the processes of a Group share.
type Options struct {
	Name   string // of the server
	Store  mcp.Store
	Bus    mcp.Bus
	Keys   *seal.Ring // encrypt the messages: others may use the Bus, too
	Logger *slog.Logger
}

// Handler handles one kind of message. The result is the answer to Ask, and is dropped for
// other messages. The messages that a process has sent to this one, and those that it has sent to
// all, are each handled one at a time and in their order. They must not block: an answer that takes time is a func(context.Context)
// any, which is called on a goroutine of its own.
type Handler func(from string, body jsontext.Value) (answer any)

// Group is one process among those that serve a server of one name with the same Store and Bus.
// It is safe for concurrent use.
type Group struct {
	o        Options
	id       string
	topic    string
	handlers map[string]Handler // not changed after Start

	begin    sync.Once
	returned chan struct{} // has a token after a time in which others may have taken this process for dead
	joined   chan struct{} // closed when the process gets messages, and the others know it
	ctx      context.Context
	cancel   context.CancelFunc
	work     drain.Group

	mu      sync.Mutex
	waiting map[string]chan jsontext.Value // guarded by mu: calls of Ask by their id
	beat    time.Time                      // guarded by mu: when this process has reached the Store last
	settled time.Time                      // guarded by mu: see knowsTheDead
}

// envelope is a message on the Bus.
type envelope struct {
	From   string         `json:"from"`
	Kind   string         `json:"kind,omitzero"`
	Ask    string         `json:"ask,omitzero"`    // the id of a call of Ask
	Answer string         `json:"answer,omitzero"` // the id of the call of Ask that this answers
	Body   jsontext.Value `json:"body,omitzero"`
}

// New returns a process of a group. It sends and receives nothing before Start.
func New(o Options) *Group {
	digest := sha256.Sum256([]byte(o.Name))
	g := &Group{
		o:        o,
		id:       newID(),
		topic:    "replicas." + hex.EncodeToString(digest[:16]),
		handlers: make(map[string]Handler),
		joined:   make(chan struct{}),
		returned: make(chan struct{}, 1),
		waiting:  make(map[string]chan jsontext.Value),
	}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	return g
}

func newID() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return hex.EncodeToString(random[:])
}

// ID identifies the process: 8 random bytes as hexadecimal digits.
func (g *Group) ID() string { return g.id }

// Returned has a value each time after others may have taken this process for dead.
func (g *Group) Returned() <-chan struct{} { return g.returned }

// Store returns the Store of the group.
func (g *Group) Store() mcp.Store { return g.o.Store }

// Handle sets the handler of a kind of message. It must be called before Start.
func (g *Group) Handle(kind string, h Handler) { g.handlers[kind] = h }

// Start joins the group. It does not wait, and may be called again.
func (g *Group) Start() {
	g.begin.Do(func() {
		g.Go(func(context.Context) { g.join() })
	})
}

// Await calls Start and waits until this process gets messages and the others know it.
func (g *Group) Await(ctx context.Context) error {
	g.Start()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case <-g.joined:
		return nil
	case <-g.ctx.Done():
		return errLeft
	case <-ctx.Done():
		return fmt.Errorf("join the other replicas: %w", context.Cause(ctx))
	}
}

// Leave leaves the group, so that others know at once that this process is gone. It waits for
// handlers.
func (g *Group) Leave() {
	g.cancel()
	g.work.Close()
	_ = g.work.Drain(context.Background())
}

// join subscribes to the messages for all processes and for this one, until that succeeds.
func (g *Group) join() {
	var leave []func()
	defer func() {
		for _, l := range leave {
			l()
		}
	}()
	for pause := minPause; len(leave) < 2; {
		topic := []string{g.topic, g.topic + "." + g.id}[len(leave)]
		l, err := g.o.Bus.Subscribe(g.ctx, topic, func(msg []byte) { g.receive(topic, msg) })
		if err == nil {
			leave = append(leave, l)
			continue
		}
		if g.ctx.Err() != nil {
			return
		}
		g.warn("messages of other replicas are not received", err)
		select {
		case <-time.After(pause):
		case <-g.ctx.Done():
			return
		}
		pause = min(2*pause, maxPause)
	}
	g.beatUntilLeft()
}

// Publish sends a message to all other processes. The body is encoded as JSON.
func (g *Group) Publish(ctx context.Context, kind string, body any) error {
	return g.send(ctx, g.topic, envelope{Kind: kind}, body)
}

// Send sends a message to one process.
func (g *Group) Send(ctx context.Context, to, kind string, body any) error {
	return g.send(ctx, g.topic+"."+to, envelope{Kind: kind}, body)
}

// Ask sends a message to one process and decodes its answer into answer. It waits for at most
// two seconds, because the process may be gone.
func (g *Group) Ask(ctx context.Context, to, kind string, body, answer any) error {
	if err := g.Await(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("replica %s does not answer", to))
	defer cancel()
	id, got := rand.Text(), make(chan jsontext.Value, 1)
	g.mu.Lock()
	g.waiting[id] = got
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		delete(g.waiting, id)
		g.mu.Unlock()
	}()
	if err := g.send(ctx, g.topic+"."+to, envelope{Kind: kind, Ask: id}, body); err != nil {
		return err
	}
	select {
	case raw := <-got:
		return json.Unmarshal(raw, answer)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *Group) send(ctx context.Context, topic string, e envelope, body any) (err error) {
	g.Start()
	e.From = g.id
	if e.Body, err = json.Marshal(body); err != nil {
		return err
	}
	msg, err := json.Marshal(e)
	if err != nil {
		return err
	}
	sealed := g.o.Keys.Seal(msg, boundTo(topic), time.Now().Add(messageLife))
	if len(sealed) > maxMessage {
		return ErrTooLarge
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return g.o.Bus.Publish(ctx, topic, []byte(sealed))
}

// boundTo is what a message is bound to, so that it cannot be sent again on another topic.
func boundTo(topic string) []byte { return []byte("bus\x00" + topic) }

// receive handles a message of the Bus. It ignores those that were sealed with other keys.
func (g *Group) receive(topic string, sealed []byte) {
	var e envelope
	msg, err := g.o.Keys.Open(sealed, boundTo(topic), time.Now())
	if err != nil || json.Unmarshal(msg, &e) != nil || e.From == g.id {
		return
	}
	if e.Answer != "" {
		g.mu.Lock()
		got := g.waiting[e.Answer]
		delete(g.waiting, e.Answer)
		g.mu.Unlock()
		if got != nil {
			got <- e.Body
		}
		return
	}
	h := g.handlers[e.Kind]
	if h == nil {
		return // of a later version
	}
	var answer any
	if err := usercode.Run(func() error { answer = h(e.From, e.Body); return nil }); err != nil {
		g.warn("message of another replica", err)
		return
	}
	if e.Ask != "" {
		g.Go(func(ctx context.Context) {
			if wait, ok := answer.(func(context.Context) any); ok {
				answer = wait(ctx)
			}
			if err := g.send(ctx, g.topic+"."+e.From, envelope{Answer: e.Ask}, answer); err != nil {
				g.warn("answer to another replica", err)
			}
		})
	}
}

// Go runs f on a goroutine for which Leave waits. The context ends when the process leaves. Go
// reports false and does not run f if it has left.
func (g *Group) Go(f func(ctx context.Context)) bool {
	if !g.work.Enter() {
		return false
	}
	go func() {
		defer g.work.Leave()
		f(g.ctx)
	}()
	return true
}

func (g *Group) warn(what string, err error) {
	if g.ctx.Err() == nil {
		g.o.Logger.LogAttrs(g.ctx, slog.LevelWarn, "replicas: "+what, usercode.Attrs(err)...)
	}
}
