package mcpserver

import (
	"cmp"
	"context"
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
	"github.com/fondaco/fondaco/mcp/schema"
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

	// Dynamic declares the capabilities tools, resources, prompts and completions to every
	// client, even if none are registered yet. Set it for a server that registers features
	// after clients have connected. Default: only capabilities of which a feature was
	// registered at some time are declared.
	Dynamic bool

	// RequestFeatures returns the sets of features that a request sees in addition to the
	// registered features, which take precedence. The listed ones are in its lists and can be
	// called, read and completed; the unlisted ones are in no list. Of several features of one
	// name or URI the first counts, and a resource counts before all templates. For all other
	// requests these features are unknown.
	//
	// RequestFeatures is called for each list, and for each request that names a feature that is
	// not registered, on several goroutines at once, and must not wait. In the stateless era the
	// listed features may depend only on the identity and the capabilities of the request. All
	// lists are private. When the result for a client changes, call Session.ToolsChanged,
	// Server.ToolsChangedFor or their counterparts for prompts and resources. A server with
	// RequestFeatures should also be Dynamic. Default: none.
	//
	// Spec: 2026-07-28 server/tools#listing-tools
	RequestFeatures func(r *Request) (listed, unlisted []*FeatureSet)

	// HideForbidden hides features from callers that lack their scopes: for such a caller
	// the feature is unknown. A client that gets other scopes has to list features again.
	// Default: features are listed for all callers, and the error of a call without the
	// scopes names them.
	HideForbidden bool

	// Logger receives the server's own log. Default: slog.Default().
	Logger *slog.Logger
	// MaskErrors replaces the texts of errors that tool handlers return: the model gets a
	// general sentence with an incident id, and the log has the error with this id.
	// Recommended for servers on a public network.
	MaskErrors bool

	// Schemas are the schemas of types of other packages in arguments and results of typed
	// features: schema.Describe[big.Int](…). Forms of elicitation do not use them.
	Schemas []schema.Option
	// CheckTool is called with the definition of each tool that is about to be registered or
	// replaced, or added to a FeatureSet, after its options have been applied. If it returns an
	// error, the tool is not registered: SetTool, ReplaceTool and FeatureSet.AddTool return the error,
	// Tool and AddTool panic with it. It gets a copy of the definition and runs on the goroutine
	// of the registration, on several at once if tools are registered so. mcpmodel.CheckTool
	// refuses tools that model APIs do not take. Default: only the rules of the protocol are
	// checked.
	CheckTool func(mcp.Tool) error
	// AllowInvalidResults sends results of tools that are not valid under the tool's own output
	// schema, or have no structured content for it, and logs what is wrong. Clients may refuse
	// them, because the protocol requires valid results. Default: the caller gets an internal
	// error with an incident id, and the log has what is wrong, with this id.
	AllowInvalidResults bool

	// PageSize is the pagination of lists: the number of entries on one page. Default: 1000.
	PageSize int
	// ListCache are the caching hints of lists and of server/discover. Default: a TTL of 0,
	// private.
	ListCache Cache
	// MethodCache are the caching hints of single methods: server/discover, the four
	// lists, and resources/read for resources without CacheResource. It takes precedence
	// over ListCache.
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

	// Store keeps small pieces of state for all replicas of the server: markers of used
	// requestStates (AskOptions.SingleUse), requestStates that are too large to send to a
	// client, and the state of extensions. A Store other than a MemoryStore requires Keys.
	// LoadOptions.MaxKept limits the bytes of requestStates; when there are more, the oldest
	// state of the owner with the most bytes is deleted, and its call has to be made again.
	// Default: a MemoryStore, which no other server uses.
	Store mcp.Store
	// Bus carries messages between the replicas of the server, which are the servers of the
	// same name: a change on one replica is sent to the subscribers of all. With Keys and Store
	// as well, any replica takes any message of a session over Streamable HTTP. A Bus other
	// than a MemoryBus requires Keys. Default: none; the server has no replicas.
	Bus mcp.Bus
	// Keys encrypt what clients carry for the server: requestState, and the session ids of
	// Streamable HTTP. With the same keys, every replica serves every session, also after a
	// restart. Its Session.Value stays in each process; its subscriptions and log level are
	// shared with Store and Bus only. The first key encrypts, all keys decrypt, and all replicas
	// need the same list. To rotate, append the new key on all replicas, then move it to the
	// front on all, and remove the old key after AskOptions.Expiry, HTTPOptions.SessionLife and
	// the longest TTL of durable tasks. ParseKeys reads keys from text. Default: one random key,
	// for a single process.
	Keys []Key

	// Load limits the requests that run at once. Nil gives the defaults.
	Load *LoadOptions
	// OnLimit is called each time a limit is reached, for example to count it in a metric.
	// The log has rate-limited lines about limits in any case. OnLimit is called on the
	// goroutine that has reached the limit, on several at once, and must be fast.
	OnLimit func(mcp.LimitReached)
	// OnMessage is called for each message that the server reads or writes, as it is on
	// the wire, for example with mcpwire.NewLog(os.Stderr, nil).Record. A message can have
	// secrets. OnMessage is called on the goroutine of the message, on several at once, and
	// delays it. It must not use the server. Default: none, at no cost.
	OnMessage func(mcp.WireMessage)

	// Middleware wraps the handling of every message, as if it was added by [Server.Use] at first.
	// The first one is the outermost. Default: none.
	Middleware []Middleware
	// OnSession is called when a session of Streamable HTTP or a connection of another transport
	// begins, and when it has ended, for example to count them in a metric. It is called on
	// several goroutines at once and must be fast. Default: none.
	OnSession func(SessionEvent)
	// OnDetach is called when work continues in the background after its request was answered, such
	// as a task, with the context of the work. The work gets the context that OnDetach returns,
	// which must be derived from it; nil is the same context. The function that it returns is
	// called when the work has ended, and may be nil. Default: none.
	OnDetach func(ctx context.Context) (work context.Context, ended func())

	// Ask are the options of elicitation, sampling and roots. Nil gives the defaults.
	Ask *AskOptions
	// HTTP are the options of the HTTP transports. Nil gives the defaults.
	HTTP *HTTPOptions
}

// AskOptions are the options of questions to clients (elicitation, sampling, roots): time
// limits and numbers. Nil gives the defaults.
type AskOptions struct {
	// MaxRounds limits the rounds of one call that bring no new answer. Default: 8.
	MaxRounds int
	// Wait is how long a question of the session era waits for its answer.
	// Default: 10 minutes.
	Wait time.Duration
	// Expiry is how long a client of the stateless era has to answer, and how
	// long a value of Park is kept. Default: 10 minutes.
	Expiry time.Duration
	// SingleUse refuses a second retry with the answers to the same round. Each round costs
	// one bit until Expiry: with Options.Store in entries of the Store, for all replicas, of
	// up to 256 rounds each; without Options.Store in the process, which refuses answers to
	// rounds of another process.
	SingleUse bool
	// MaxQuestions limits the unanswered questions of the session era, and OwnerQuestions
	// those of one owner: an authenticated principal, or else one session or connection.
	// Calls that wait for an answer do not count as running. When a limit is reached,
	// questions of the owner that has most are cancelled with ErrAskExpired, first those
	// whose client has had no stream and sent no message for 30 seconds. In the stateless
	// era, calls with answers count while they wait for a place: as long as their owner is
	// within its limit, they go before its new calls, once for each requestState, and are not
	// refused. Default: 16,384 and 4,096.
	MaxQuestions   int
	OwnerQuestions int
	// MaxParked limits the values of Park that are kept between rounds, and
	// PrincipalParked those of one owner: an authenticated principal, or else one session
	// or connection. When MaxParked is reached, the newest values of the owner that has
	// most are closed; if that is the owner that parks, its call fails instead.
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
	// AllowedHosts are the host names under which the server may be reached, in addition
	// to those of the loopback interface, such as mcp.example.com, with or without a
	// port. New panics for an entry that is not a host name.
	AllowedHosts []string
	// AllowedOrigins are the origins of web pages, such as https://app.example.com, that
	// may send requests and read the responses, also those that refuse a request. The default
	// port of http and https counts as none. "*" allows all origins, except for requests with
	// an mcp.Identity. New panics for an entry that no browser sends: one without a scheme, or
	// with a path or another wildcard. Default: only the server's own origin.
	AllowedOrigins []string
	// HostAdvice and OriginAdvice end the refusals for AllowedHosts and AllowedOrigins, and say
	// what the operator can do, for example which flag of a program allows the host. Whoever
	// sends such a request sees them. Default: none.
	HostAdvice, OriginAdvice string
	// TrustedProxies are the networks of the reverse proxies in front of the server. For a
	// request from one of them, the client's address is the last address in X-Forwarded-For
	// that is not a trusted proxy. The header of other requests is ignored, because any
	// client can send it. The limits of anonymous clients are per address. Default: none.
	TrustedProxies []netip.Prefix
	// ResponseMode forces the form of responses. Default: ResponseAuto.
	ResponseMode ResponseMode
	// Events stores the events of sessions, so that clients that reconnect get the ones
	// that they have missed. If there are Options.Store, Options.Bus and Options.Keys, all
	// replicas must have the same Events, and clients reconnect to any. Default: a store in
	// memory that keeps 64 MiB for all clients and evicts the streams that were idle longest.
	Events mcp.EventStore
	// SessionLife is how long the id of a session is valid. A client whose id has expired opens
	// another session. Default: 24 hours.
	SessionLife time.Duration
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
	// context and the shutdown. During it the server continues to serve, but Ready is
	// false and connections are closed after their response, so that load balancers and
	// clients use other replicas, see Drain. It ends early when no connection is open and
	// ReadyHandler was never called. A negative time is none. Default: 2 seconds.
	LameDuck time.Duration

	// MaxConns limits the open connections of ListenAndServe and ServeListener, and of
	// ServeSocket, whose connections are never idle. When the limit is reached, a new connection replaces an idle one of the address that has
	// most: first one that was never used, then the one that has been idle longest. When
	// none is idle, the new connection is closed, unless another address has more. A connection
	// none of whose requests has passed to a handler of the server, because they were refused or
	// are for other handlers, counts as one that was never used, also during a request. Idle
	// connections are also closed while the process uses 95 percent of its file
	// descriptors; when none is idle then, new connections wait. Default: 20,000.
	MaxConns int
	// MaxSessions limits the sessions of all clients. Default: 65,536.
	MaxSessions int
	// MaxStreams limits the long-lived event streams of all clients. Default:
	// 20,000.
	MaxStreams int
	// PrincipalSessions and PrincipalStreams limit the sessions and streams of one
	// authenticated principal. At its limit, a principal loses the session that has been idle
	// longest for a new one. Default: 100 and 32.
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
	// ResponseAuto is JSON, unless the handler sends a message before its result or takes
	// longer than five seconds: then it is an event stream.
	ResponseAuto ResponseMode = iota
	// ResponseJSON is always JSON. Messages that handlers send before their result are
	// dropped, and Ask fails with ErrCannotAsk in the session era.
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

// copied returns a copy of the options with copies of their slices, maps and nested
// options. Values behind interfaces and functions are shared.
func (o *Options) copied() *Options {
	c := *o.orZero()
	c.Icons, c.Revisions = copyIcons(c.Icons), slices.Clone(c.Revisions)
	c.Experimental, c.MethodCache = copyValues(c.Experimental), maps.Clone(c.MethodCache)
	c.Load, c.Ask = copyPointer(c.Load), copyPointer(c.Ask)
	c.Keys, c.Schemas, c.Middleware = slices.Clone(c.Keys), slices.Clone(c.Schemas), slices.Clone(c.Middleware)
	for i := range c.Keys {
		c.Keys[i].Secret = slices.Clone(c.Keys[i].Secret)
	}
	if c.HTTP = copyPointer(c.HTTP); c.HTTP != nil {
		c.HTTP.AllowedHosts, c.HTTP.AllowedOrigins = slices.Clone(c.HTTP.AllowedHosts), slices.Clone(c.HTTP.AllowedOrigins)
		c.HTTP.TrustedProxies = slices.Clone(c.HTTP.TrustedProxies)
	}
	return &c
}

// check returns an error for an option that is not valid.
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
			return errors.New("the zero Revision is an entry of Revisions; want revisions such as mcp.V20251125")
		}
	}
	if err := checkIcons(o.Icons); err != nil {
		return fmt.Errorf("Icons: %w", err)
	}
	if _, err := schema.For[string](schema.Input, o.Schemas...); err != nil {
		return fmt.Errorf("options.Schemas: %w", err)
	}
	for method := range o.MethodCache {
		if !dialect.Cacheable(method) {
			return fmt.Errorf("MethodCache: %q: want server/discover, a list or resources/read", method)
		}
	}
	if err := o.Load.check(); err != nil {
		return err
	}
	if o.Load.orZero().SharedRates && (o.Store == nil || len(o.Keys) == 0) {
		return errors.New("Load.SharedRates without Options.Store and Options.Keys: want those that all replicas share")
	}
	if err := o.HTTP.check(); err != nil {
		return err
	}
	return o.checkDeclared()
}

// check returns an error for an entry of a list that could never match.
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

// checkDeclared returns an error for capabilities that cannot be encoded.
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

func (o *Options) schemas() []schema.Option { return o.orZero().Schemas }

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
	return jsonrpc.Limits{Depth: o.orZero().MaxDepth, Elements: o.orZero().MaxElements, Repaired: o.maxFrame()}
}

// cacheFor returns the hints for results of a list method or server/discover.
func (o *Options) cacheFor(method string) Cache {
	if c, ok := o.orZero().MethodCache[method]; ok {
		return c
	}
	return o.orZero().ListCache
}
