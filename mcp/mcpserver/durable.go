package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/replay"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Durable is the option of a tool whose tasks survive the process that runs them: when it ends,
// another replica runs the handler again, from the top. Results of [Once] and answers of [Ask]
// are stored after each step, so that a later run gets them and does not repeat the step.
// [StartedAt], [NewID] and [Rand] return the same in every run.
//
// A step whose result is stored is never run again. A step that was running when its process
// ended is run again, because nobody knows how far it came. If it has a side effect, give the
// service that it uses an idempotency key: [NewID] returns the same id in every run. Code
// outside of a Once is repeated. Values of [Park] do not survive.
//
// The option has an effect for tools with the option AsTask of mcpext/tasks: for calls that are
// tasks, and for calls over Streamable HTTP in sessions of 2025-03-26 to 2025-11-25 if all replicas
// have the same Options.Keys, Store, Bus and HTTPOptions.Events. The client of such a call gets its
// result from any replica at which it resumes the event stream. Other calls end with their process:
// over stdio, over HTTP+SSE, in the stateless era, in batches, and those of clients that accept no
// event stream.
func Durable() ToolOption { return durable{} }

type durable struct{}

func (durable) tool(t *tool) { t.durable = true }

// Durable reports whether the request is a call of a tool with the option [Durable]. It is
// known once the tool was found, as it is in a function of [Wrap]. It is false when r is nil.
func (r *Request) Durable() bool { return r != nil && r.durable }

// HasDurable reports whether the server has a tool of that name with the option [Durable]. The
// tool may be hidden from some clients, or disabled.
func (s *Server) HasDurable(tool string) bool { return s.workers.hasDurable(tool) }

// storedCall is a call in the form in which it is sealed.
type storedCall struct {
	Method  string         `json:"method"`
	Params  jsontext.Value `json:"params,omitzero"`
	Session []byte         `json:"session,omitzero"` // what was negotiated; nil in the stateless era
	Sender  *sender        `json:"sender,omitzero"`
	Memory  []byte         `json:"memory"`
}

// sender is the part of an Identity that outlives its process.
type sender struct {
	Principal mcp.Principal  `json:"principal"`
	Scopes    []string       `json:"scopes,omitempty"`
	Expires   time.Time      `json:"expires,omitzero"`
	Claims    jsontext.Value `json:"claims,omitzero"`
}

// SealCall returns the call that r belongs to, with its params, its sender, the capabilities of
// its client, and the memory of its handler, encrypted with the keys of the server. Any server
// of the same name and Options.Keys can run it again with [Server.Replay], under the same label,
// until it expires. SealCall fails when r is nil.
func (r *Request) SealCall(label string, expires time.Time) ([]byte, error) {
	if r == nil {
		return nil, ErrNotInCall
	}
	memory := r.run.Snapshot()
	c := storedCall{Method: r.method, Params: r.call.Params, Memory: memory.Encode()}
	if r.call.Session != nil {
		c.Session = r.call.Session.State()
	}
	if who := r.in.Identity; who != nil {
		c.Sender = &sender{Principal: who.Principal, Scopes: who.Scopes, Expires: who.Expires, Claims: who.Claims}
	}
	plain, err := json.Marshal(&c)
	if err != nil {
		return nil, fmt.Errorf("%s: encode the call: %w", r.method, err)
	}
	return r.server.Seal(plain, callLabel+label, expires), nil
}

// callLabel distinguishes calls from what extensions seal.
const callLabel = "call\x00"

// Replay runs a call that [Request.SealCall] has sealed again: its middleware and its handler.
// It returns what they return, after their Once and Ask have found what is in memory. memory is
// the last one that Background.Record was called with, or nil for that of the call itself.
//
// The handler gets a Request like that of the original call, but without HTTP headers, TLS state
// and Session, and ctx is the parent of its context. The call is not counted by the limits of
// Options.Load and by the rate of its tool, because it was counted when it was made. Replay fails when the call was sealed by a server of another name or with other
// keys, and when the server is shutting down.
func (s *Server) Replay(ctx context.Context, label string, call, memory []byte) (result any, err error) {
	in, m, err := s.openCall(label, call, memory)
	if err != nil {
		return nil, err
	}
	c, err := s.dialect.Open(in.Message, in.TransportInfo())
	if err != nil {
		return nil, err
	}
	way := s.middleware.lookup(c)
	switch {
	case way.handler == nil:
		return nil, mcp.Errorf(mcp.CodeMethodNotFound, "method %q: not found", c.Method)
	case !s.requests.Enter():
		return nil, exchange.ShuttingDown(c.Method)
	}
	defer s.requests.Leave()
	r := &Request{method: c.Method, ctx: ctx, route: way, call: c, in: in, server: s, replayed: true}
	return s.rerun(r, m)
}

// openCall returns the message of a sealed call, and the memory of its handler.
func (s *Server) openCall(label string, call, memory []byte) (*exchange.Inbound, replay.Memory, error) {
	plain, err := s.Unseal(call, callLabel+label)
	if err != nil {
		return nil, replay.Memory{}, fmt.Errorf("replay: the call: %w", err)
	}
	var stored storedCall
	if err := json.Unmarshal(plain, &stored); err != nil {
		return nil, replay.Memory{}, fmt.Errorf("replay: decode the call: %w", err)
	}
	if memory == nil {
		memory = stored.Memory
	}
	m, err := replay.DecodeMemory(memory)
	if err != nil {
		return nil, replay.Memory{}, fmt.Errorf("replay: %w", err)
	}
	in := &exchange.Inbound{
		Message: jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.NumberID(1), Method: stored.Method, Params: stored.Params},
		Binding: dialect.Stream,
	}
	if stored.Session != nil {
		if in.Agreed, err = s.dialect.OpenState(stored.Session); err != nil {
			return nil, replay.Memory{}, fmt.Errorf("replay: %w", err)
		}
	}
	if who := stored.Sender; who != nil {
		in.Identity = &mcp.Identity{Principal: who.Principal, Scopes: who.Scopes, Expires: who.Expires, Claims: who.Claims}
	}
	return in, m, nil
}

// rerun is route for a call that was admitted in another process.
func (s *Server) rerun(r *Request, m replay.Memory) (result any, err error) {
	defer r.end()
	defer usercode.Contain(&err)
	if err := s.authorize(r); err != nil {
		return nil, err
	}
	defer r.releaseRun()
	r.replays = !r.call.CanRequest() && mayRequireInput[r.method]
	r.run.Start(m, &r.handlers, s.options.asking().maxRounds())
	result, err = r.route.run(r.beginHandlers(), r, 0)
	return r.endRun(result, err)
}

// Seal encrypts data with the first of Options.Keys, for an extension that keeps it where
// others can read it, such as the Store. [Server.Unseal] decrypts it in every server of the same
// name and keys, until it expires. Without Options.Keys the key is a random one of this server.
// The label says what the data is for, and is needed again for Unseal; it is not secret.
func (s *Server) Seal(data []byte, label string, expires time.Time) []byte {
	return []byte(s.keys.Seal(data, s.sealLabel(label), expires))
}

// Unseal decrypts what [Server.Seal] has returned. It fails with [ErrSealed] for every other
// data, under another label, and after the data has expired.
func (s *Server) Unseal(sealed []byte, label string) ([]byte, error) {
	plain, err := s.keys.Open(sealed, s.sealLabel(label), time.Now())
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}

// ErrSealed reports that data cannot be decrypted. It does not say why: the data was changed, has
// expired, or was sealed with another label, by a server of another name, or with other keys.
var ErrSealed = errors.New("cannot be decrypted here; want data that a server of this name and Options.Keys has sealed, and that has not expired")

// sealLabel returns what binds sealed data to the server and its use. It is no bound of a
// requestState, which is the digest of a text that begins with the length of the server's name.
func (s *Server) sealLabel(label string) []byte {
	text := append(make([]byte, 0, 256), "\xffserver.Seal"...)
	digest := sha256.Sum256(appendPart(appendPart(text, s.info.Name), label))
	return digest[:]
}

// beforeStep returns an error if detached work may run no further step.
func (r *Request) beforeStep() error {
	if r.detached == nil || r.detached.BeforeStep == nil {
		return nil
	}
	return r.detached.BeforeStep()
}

// record stores the memory of detached work, if that has a Record.
func (r *Request) record(ctx context.Context) error {
	if r.detached == nil || r.detached.Record == nil {
		return nil
	}
	return r.detached.Record(ctx, func() []byte {
		m := r.run.Snapshot()
		return m.Encode()
	})
}
