package mcpserver

import (
	"cmp"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Options of a Server. The zero value, like a nil pointer, gives the defaults. New
// copies them, with their slices and maps and the options that they point to.
type Options struct {
	// Title, Description, WebsiteURL and Icons are shown to users.
	Title       string
	Description string
	WebsiteURL  string
	Icons       []mcp.Icon
	// Instructions tell a model how to use the server.
	Instructions string

	// Revisions pins the protocol revisions that are served. Empty means all that
	// were published; mcp.DraftV1 is served only when it is named here.
	Revisions []mcp.Revision
	// Experimental is declared among the capabilities, by name with its settings
	// as a JSON object. Extensions of the protocol are added by Server.Extend.
	Experimental map[string]jsontext.Value

	// Dynamic declares tools, resources, prompts and completion to every client,
	// whether there are any yet or not: for a server whose features come after
	// its clients. Otherwise what was ever registered is declared.
	Dynamic bool

	// HideForbidden hides features from callers who were not granted their scopes:
	// for them they are the same as unknown. Who comes back with other scopes has to
	// list again. Default: everybody sees them, and who calls one is told which scopes
	// to ask for.
	HideForbidden bool

	// Logger receives the server's own log. Default: slog.Default().
	Logger *slog.Logger
	// MaskErrors hides the texts of errors that tool handlers return: the model
	// reads a general sentence with an id, under which the log has the error.
	// Recommended for servers that are reached by strangers.
	MaskErrors bool

	// PageSize is the number of entries on one page of a list. Default: 1000.
	PageSize int
	// ListCache says how long clients may keep lists, and who may share them.
	// Default: not at all, private.
	ListCache Cache
	// MethodCache says the same for single methods: server/discover, the four
	// lists, and resources/read for what has no CacheResource. It goes before
	// ListCache.
	MethodCache map[string]Cache

	// MaxElements bounds the values in one inbound message. Default: 100,000.
	MaxElements int
	// MaxDepth bounds the nesting of one inbound message. Default: 128.
	MaxDepth int
	// MaxFrame bounds one inbound message over stdio and other streams, in
	// bytes. Default: 16 MiB.
	MaxFrame int
	// MaxBody bounds one inbound message over HTTP, in bytes. Default: 4 MiB.
	MaxBody int64
	// MaxResult bounds one encoded result, in bytes. Default: 16 MiB.
	MaxResult int

	// Store keeps small pieces of state for all replicas of the server: used
	// states, and states that are too large for a client to carry. One other than
	// a MemoryStore needs Keys. Default: a MemoryStore.
	Store mcp.Store
	// Bus carries announcements of changes between the replicas of the server, which
	// are those of the same name: what one announces the subscribers of all hear of.
	// One other than a MemoryBus needs Keys. Default: none but this server.
	Bus mcp.Bus
	// Keys seal what clients carry for the server. The first one seals and all
	// open, so a new one is added at the end on all replicas, then moved to the
	// front on all, and the old one removed when AskOptions.Expiry has passed. All
	// replicas need the same ones. Default: a random one, for one process.
	Keys []Key

	// Load says how much the server takes on at once. Nil gives the defaults.
	Load *LoadOptions
	// OnLimit is told each time a limit is reached, such as for a metric. The log has
	// a line about each limit now and then in any case. It is called on whichever
	// goroutine has reached the limit, at once from several, and has to be quick.
	OnLimit func(mcp.LimitReached)

	// Ask holds what concerns handlers that ask. Nil gives the defaults.
	Ask *AskOptions
	// HTTP holds what concerns HTTP alone. Nil gives the defaults.
	HTTP *HTTPOptions
}

// AskOptions say how long and how often clients are asked. Nil gives the
// defaults.
type AskOptions struct {
	// MaxRounds bounds the rounds of one call that bring no new answer, and how often one
	// question is asked again in the session era. Default: 8.
	MaxRounds int
	// Wait is how long a question of the session era waits for its answer.
	// Default: 10 minutes.
	Wait time.Duration
	// Expiry is how long a client of the stateless era has to answer, and how
	// long a value of Park is kept. Default: 10 minutes.
	Expiry time.Duration
	// SingleUse refuses a client that sends the answer to one round twice. With
	// Options.Store this is kept there, for all replicas, in one entry for each answer
	// until Expiry; the Store bounds how many, so one client that answers very often can
	// take the room of others. Without it the process keeps one bit for each round, for
	// as many as clients can make, and refuses an answer to a round of another process.
	SingleUse bool
	// MaxQuestions bounds the questions of the session era that wait for their answers,
	// and OwnerQuestions those of one owner: an authenticated principal, or else one
	// session or connection. Calls that wait do not count as running. When one of the
	// bounds is reached, questions are given up with ErrAskExpired, of the owner who has
	// most, and first those whose client has had neither a stream nor a message for 30
	// seconds. Default: 16,384 and 4,096.
	MaxQuestions   int
	OwnerQuestions int
	// MaxParked bounds the values of Park that are kept between rounds, and
	// PrincipalParked those of one owner: an authenticated principal, or else one
	// session or connection. When MaxParked is reached, the newest values of the owner
	// who has most are closed, unless that is who wants to keep more, whose call fails.
	// Default: 1024 and 64.
	MaxParked       int
	PrincipalParked int
}

func (o *Options) asking() *AskOptions { return o.orZero().Ask }

func (o *AskOptions) orZero() *AskOptions {
	if o == nil {
		return new(AskOptions)
	}
	return o
}

func (o *AskOptions) maxRounds() int        { return cmp.Or(o.orZero().MaxRounds, 8) }
func (o *AskOptions) wait() time.Duration   { return cmp.Or(o.orZero().Wait, 10*time.Minute) }
func (o *AskOptions) expiry() time.Duration { return cmp.Or(o.orZero().Expiry, 10*time.Minute) }
func (o *AskOptions) maxQuestions() int     { return cmp.Or(o.orZero().MaxQuestions, 16_384) }
func (o *AskOptions) ownerQuestions() int   { return cmp.Or(o.orZero().OwnerQuestions, 4096) }
func (o *AskOptions) maxParked() int        { return cmp.Or(o.orZero().MaxParked, 1024) }
func (o *AskOptions) ownerParked() int      { return cmp.Or(o.orZero().PrincipalParked, 64) }

// HTTPOptions of a server's HTTP handlers. Nil gives the defaults.
type HTTPOptions struct {
	// AllowedHosts are the names, besides those of the loopback interface, under
	// which the server may be reached, such as mcp.example.com, with or without a
	// port. New panics for an entry that is no such name.
	AllowedHosts []string
	// AllowedOrigins are the origins of web pages, such as
	// https://app.example.com, that may send requests. "*" stands for all of them,
	// but not for requests with an mcp.Identity. Default: none but the server's own.
	AllowedOrigins []string
	// TrustedProxies are the networks of the reverse proxies in front of the server.
	// Of a request that comes from one of them, the client's address is the last one
	// in X-Forwarded-For that is none of a trusted proxy; without them the header is
	// not read, because a client can send it too. The limits of anonymous clients
	// count by address. Default: none.
	TrustedProxies []netip.Prefix
	// ResponseMode forces the form of responses. Default: ResponseAuto.
	ResponseMode ResponseMode
	// Events keeps what was sent in sessions, for clients that come back when their
	// connection broke. Default: one in the memory of the process, which keeps 64
	// MiB of all clients and forgets the streams that were silent for longest.
	Events mcp.EventStore
	// SessionIdle is how long a session without requests and streams is kept.
	// Default: 30 minutes.
	SessionIdle time.Duration
	// KeepAlive is the time between comments on an idle event stream. Default:
	// 15 seconds.
	KeepAlive time.Duration
	// WriteTimeout is how long a client may take to accept what is sent. Default:
	// 10 seconds for 64 KiB.
	WriteTimeout time.Duration

	// LameDuck is the time between the end of ListenAndServe's or ServeListener's
	// context and the shutdown. In it the server goes on, but is not Ready and closes
	// connections after their response, so that load balancers and clients go
	// elsewhere, see Drain. It ends early when no connection is open and nobody has
	// asked whether the server is ready. A negative time is none. Default: 2 seconds.
	LameDuck time.Duration

	// MaxConns bounds the connections that ListenAndServe and ServeListener have open
	// at once. When it is reached, a new one takes the place of the one that has been
	// idle longest, first of those that were never used, of the address that has most.
	// When none is idle it is closed, unless another address has more. Idle ones are
	// closed too while 95 percent of the descriptors are in use that the process may
	// have; when none is idle, new ones wait. Default: 20,000.
	MaxConns int
	// MaxSessions bounds the sessions of all clients. Default: 65,536.
	MaxSessions int
	// MaxStreams bounds the long-lived event streams of all clients. Default:
	// 20,000.
	MaxStreams int
	// MaxUnsent bounds the bytes of results of more than 64 KiB that are being sent to
	// clients, each counted until its client has accepted all of it. When it is reached,
	// the connection of the newest response of the owner that has most is closed, or a
	// new one of that owner answered with 503. Default: 1 GiB.
	MaxUnsent int64
	// PrincipalSessions and PrincipalStreams bound the share of one authenticated
	// principal. Default: 100 and 32.
	PrincipalSessions int
	PrincipalStreams  int
}

func (o *HTTPOptions) trustedProxies() []netip.Prefix {
	if o == nil {
		return nil
	}
	return o.TrustedProxies
}

func (o *HTTPOptions) lameDuck() time.Duration {
	if o == nil {
		o = new(HTTPOptions)
	}
	return cmp.Or(o.LameDuck, 2*time.Second)
}

func (o *HTTPOptions) maxConns() int {
	if o == nil {
		o = new(HTTPOptions)
	}
	return cmp.Or(o.MaxConns, 20_000)
}

// ResponseMode is the form of responses to requests over Streamable HTTP: a JSON body,
// or an event stream (SSE).
type ResponseMode int

const (
	// ResponseAuto is JSON until the handler sends something or five seconds have
	// passed, then an event stream.
	ResponseAuto ResponseMode = iota
	// ResponseJSON is always JSON. What handlers send before their result is
	// dropped, and they cannot ask the client anything.
	ResponseJSON
	// ResponseStream is always an event stream.
	ResponseStream
)

func (o *Options) implementation(name, version string) mcp.Implementation {
	info := mcp.Implementation{Name: name, Version: version}
	if o != nil {
		info.Title, info.Description, info.WebsiteURL, info.Icons = o.Title, o.Description, o.WebsiteURL, o.Icons
	}
	return info
}

// copied returns options of the server's own. What interfaces and functions refer to
// is shared.
func (o *Options) copied() *Options {
	c := *o.orZero()
	c.Icons, c.Revisions = copyIcons(c.Icons), slices.Clone(c.Revisions)
	c.Experimental, c.MethodCache = copyValues(c.Experimental), maps.Clone(c.MethodCache)
	c.Load, c.Ask = copyPointer(c.Load), copyPointer(c.Ask)
	c.Keys = slices.Clone(c.Keys)
	for i := range c.Keys {
		c.Keys[i].Secret = slices.Clone(c.Keys[i].Secret)
	}
	if c.HTTP = copyPointer(c.HTTP); c.HTTP != nil {
		c.HTTP.AllowedHosts, c.HTTP.AllowedOrigins = slices.Clone(c.HTTP.AllowedHosts), slices.Clone(c.HTTP.AllowedOrigins)
		c.HTTP.TrustedProxies = slices.Clone(c.HTTP.TrustedProxies)
	}
	return &c
}

// check says which option makes no sense.
func (o *Options) check() error {
	o = o.orZero()
	for name, n := range map[string]int64{
		"PageSize": int64(o.PageSize), "MaxElements": int64(o.MaxElements), "MaxDepth": int64(o.MaxDepth),
		"MaxFrame": int64(o.MaxFrame), "MaxBody": o.MaxBody, "MaxResult": int64(o.MaxResult),
	} {
		if n < 0 {
			return fmt.Errorf("%s: %d: want a positive number, or 0 for the default", name, n)
		}
	}
	for _, r := range o.Revisions {
		if r.IsZero() {
			return errors.New("revisions: one of them is none; want such as mcp.V20251125")
		}
	}
	if err := checkIcons(o.Icons); err != nil {
		return fmt.Errorf("Icons: %w", err)
	}
	for method := range o.MethodCache {
		if !dialect.Cacheable(method) {
			return fmt.Errorf("MethodCache: %q: want server/discover, a list or resources/read", method)
		}
	}
	if err := o.Load.check(); err != nil {
		return err
	}
	if err := o.HTTP.check(); err != nil {
		return err
	}
	return o.checkDeclared()
}

// check says which entry of a list could never match.
func (o *HTTPOptions) check() error {
	if o == nil {
		return nil
	}
	names := streamhttp.Options{AllowedHosts: o.AllowedHosts, AllowedOrigins: o.AllowedOrigins}
	if err := names.CheckNames(); err != nil {
		return fmt.Errorf("HTTPOptions.%w", err)
	}
	return nil
}

// checkDeclared makes sure that what the options declare can be sent.
func (o *Options) checkDeclared() error {
	for name, settings := range o.Experimental {
		if settings.Kind() != '{' || !settings.IsValid() {
			return fmt.Errorf("experimental capability %q: settings: want a JSON object, {} for none", name)
		}
	}
	return nil
}

func (o *Options) orZero() *Options {
	if o == nil {
		return new(Options)
	}
	return o
}

func (o *Options) revisions() []mcp.Revision { return o.orZero().Revisions }

func (o *Options) instructions() string { return o.orZero().Instructions }

func (o *Options) logger() *slog.Logger {
	if o == nil || o.Logger == nil {
		return usercode.Logger(slog.Default())
	}
	return usercode.Logger(o.Logger)
}

func (o *Options) pageSize() int { return max(cmp.Or(o.orZero().PageSize, 1000), 1) }

func (o *Options) maxResult() int { return cmp.Or(o.orZero().MaxResult, 16<<20) }

func (o *Options) maxFrame() int { return cmp.Or(o.orZero().MaxFrame, 16<<20) }

func (o *Options) limits() jsonrpc.Limits {
	return jsonrpc.Limits{Depth: o.orZero().MaxDepth, Elements: o.orZero().MaxElements}
}

// cacheFor returns the hints for results of a list method or server/discover.
func (o *Options) cacheFor(method string) Cache {
	if c, ok := o.orZero().MethodCache[method]; ok {
		return c
	}
	return o.orZero().ListCache
}
