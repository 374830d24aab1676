package streamhttp

import (
	"cmp"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/replica"
	"github.com/fondaco/fondaco/mcp/internal/seal"
)

// Options of a Handler or SSEHandler. The zero value, like a nil pointer,
// gives the defaults.
type Options struct {
	// AllowedHosts are the names, besides those of the loopback interface, under
	// which the server may be reached. An entry with a port allows only that
	// port. Requests that arrive on a loopback address must always use one of these names
	// or a loopback name; other requests must do so if the list is not empty.
	AllowedHosts []string
	// AllowedOrigins are the web origins, such as https://app.example.com, whose
	// pages may send requests and read the answers. "*" allows all of them,
	// except for authenticated requests, because a browser adds cookies and client
	// certificates by itself. The default port of http and https counts as none. Default:
	// only the server's own origin.
	AllowedOrigins []string
	// HostAdvice and OriginAdvice end the refusals for AllowedHosts and AllowedOrigins.
	HostAdvice, OriginAdvice string
	// TrustedProxies are the networks of the reverse proxies in front of the server.
	// If a request comes from one of them, the client's address is the last one in
	// X-Forwarded-For that is not in these networks. Default: none.
	TrustedProxies []netip.Prefix
	// Answer forces the form of answers over Streamable HTTP. Default: AnswerAuto.
	Answer Answer
	// Draining reports whether the server is about to shut down. Then connections are closed
	// after their next reply, so that clients connect to another replica. Nil: never.
	Draining func() bool
	// Logger logs warnings and errors for operators. Default: slog.Default().
	Logger *slog.Logger

	// Reached is called for each limit that was reached. May be nil.
	Reached func(mcp.LimitReached)
	// OnMessage is called for each message and response over Streamable HTTP. May be nil.
	OnMessage func(mcp.WireMessage)

	// MaxBody bounds the body of one request in bytes. Default: 4 MiB.
	MaxBody int64
	// MaxSessions bounds the sessions of all clients. Default: 65,536.
	MaxSessions int
	// MaxStreams bounds the long-lived event streams of all clients: GET
	// streams, subscriptions, connections of HTTP+SSE. Default: 20,000.
	MaxStreams int
	// PrincipalSessions and PrincipalStreams bound the share of one
	// authenticated principal. Default: 100 and 32.
	PrincipalSessions int
	PrincipalStreams  int
	// Unsent bounds the bytes of large results that are being sent to all clients of the
	// server, over every transport. Nil is unbounded.
	Unsent *exchange.UnsentLimit

	// Kept counts the bytes that clients make the server keep. Nil is unbounded.
	Kept *limit.KeptBytes

	// Events stores the events of sessions for clients that resume a stream. Default: a
	// store in memory, of 64 MiB.
	Events mcp.EventStore

	// Keys make and open the ids of sessions. SharedKeys says that other processes have
	// them, too. Default: a key of this process.
	Keys       *seal.Ring
	SharedKeys bool
	// Replicas are the processes with which sessions are shared. Nil: nothing is shared but
	// the keys. SharedEvents says that they share Events, too.
	Replicas     *replica.Group
	SharedEvents bool
	// SessionLife is how long the id of a session is valid. Default: 24 hours.
	SessionLife time.Duration
	// SessionIdle is how long a session without requests and streams is kept.
	// Default: 30 minutes.
	SessionIdle time.Duration
	// KeepAlive is the time between comments on an event stream. Default: 15
	// seconds.
	KeepAlive time.Duration
	// WriteTimeout is how long a client may take to accept 64 KiB, or the rest of
	// a response if that is less. Default: 10 seconds.
	WriteTimeout time.Duration
}

// Answer is the form in which requests over Streamable HTTP are answered.
type Answer uint8

const (
	// AnswerAuto is JSON until the handler sends something or five seconds have
	// passed, then an event stream.
	AnswerAuto Answer = iota
	// AnswerJSON is always JSON, except for subscriptions. Handlers cannot send
	// notifications or requests before their result.
	AnswerJSON
	// AnswerStream is an event stream, except for errors that have an HTTP status.
	AnswerStream
)

func (o *Options) orZero() *Options {
	if o == nil {
		return new(Options)
	}
	return o
}

// setConnectionClose sets "Connection: close" while the server is draining.
func (o *Options) setConnectionClose(h http.Header) {
	if o != nil && o.Draining != nil && o.Draining() {
		h.Set(httpheader.Connection, "close")
	}
}

// reached calls Reached. The caller holds no lock.
func (o *Options) reached(l mcp.Limit, p mcp.Principal) {
	if r := o.orZero().Reached; r != nil {
		r(mcp.LimitReached{Limit: l, Principal: p})
	}
}

// report calls Reached if a request is refused because of a limit.
func (o *Options) report(refused *refusal, r *http.Request) {
	if refused.limit != "" {
		o.reached(refused.limit, exchange.PrincipalOf(mcp.IdentityFrom(r.Context())))
	}
}

func (o *Options) kept() *limit.KeptBytes { return o.orZero().Kept }

func (o *Options) answer() Answer { return o.orZero().Answer }

func (o *Options) logger() *slog.Logger {
	if o == nil || o.Logger == nil {
		return slog.Default()
	}
	return o.Logger
}

func (o *Options) events() mcp.EventStore {
	if o == nil || o.Events == nil {
		return newEventMemory(eventMemorySize)
	}
	return &boundedEvents{EventStore: o.Events}
}

// sharedEvents returns the events that all processes share, or nil.
func (o *Options) sharedEvents() mcp.EventStore {
	if o == nil || !o.SharedEvents {
		return nil
	}
	return o.Events
}

func (o *Options) maxBody() int64 { return cmp.Or(o.orZero().MaxBody, 4<<20) }

func (o *Options) maxSessions() int { return cmp.Or(o.orZero().MaxSessions, 65_536) }

func (o *Options) maxStreams() int { return cmp.Or(o.orZero().MaxStreams, 20_000) }

func (o *Options) unsent() *exchange.UnsentLimit { return o.orZero().Unsent }

func (o *Options) principalSessions() int { return cmp.Or(o.orZero().PrincipalSessions, 100) }

func (o *Options) principalStreams() int { return cmp.Or(o.orZero().PrincipalStreams, 32) }

func (o *Options) sessionIdle() time.Duration { return cmp.Or(o.orZero().SessionIdle, 30*time.Minute) }

func (o *Options) sessionLife() time.Duration { return cmp.Or(o.orZero().SessionLife, 24*time.Hour) }

func (o *Options) sessionKeys() *seal.Ring {
	if k := o.orZero().Keys; k != nil {
		return k
	}
	return seal.Random()
}

func (o *Options) sharesKeys() bool { return o.orZero().SharedKeys }

func (o *Options) keepAlive() time.Duration { return cmp.Or(o.orZero().KeepAlive, 15*time.Second) }

func (o *Options) writeTimeout() time.Duration {
	return cmp.Or(o.orZero().WriteTimeout, 10*time.Second)
}
