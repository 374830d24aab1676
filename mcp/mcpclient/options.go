package mcpclient

import (
	"cmp"
	"context"
	"encoding/json/jsontext"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/stdio"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Options are the options of a Client. The zero value and a nil pointer mean the
// defaults. Connect copies them, with their slices and maps.
//
// A zero duration or number means its default. A negative duration means no limit.
//
// The groups, such as HTTP and Timeouts, are values, so each field can be set on its own
// and a copy of Options shares no group with the original.
type Options struct {
	// Info describes the client to servers. Default: the path and version of the
	// program's main module.
	Info mcp.Implementation
	// Capabilities are declared unchanged, except elicitation, sampling and roots,
	// which are declared if their handler is set, and extensions. If their handler is
	// set, Sampling and Roots have the details, such as support for tools, or that
	// changes are not notified.
	Capabilities mcp.ClientCapabilities
	// Extensions are the extensions of the protocol that the client supports.
	// Default: none.
	Extensions []Extension

	// Revisions are the revisions that the client may negotiate. Empty means all
	// published ones. mcp.DraftV1 is negotiated only if it is listed here.
	Revisions []mcp.Revision
	// Prior is the result of an earlier negotiation with this server, see Client.Prior.
	// It is used for the first connection alone:
	//
	//   - In the stateless era Connect sends nothing, if Prior is at most 24 hours old.
	//     Capabilities, instructions and the like are those of Prior. When the server
	//     refuses the first request because it no longer supports the revision, the
	//     client negotiates as usual and sends the request again.
	//   - In the session era, whose servers need a handshake, the client does not probe
	//     for the stateless era before it. A Prior with a Revision alone has the same
	//     effect. If the server no longer supports it, the client negotiates as usual.
	//
	// A client with a Prior does not list tools by itself, see NoOutputCheck. Over a
	// connection of Conn, which cannot be made again, a refused Prior is an error of the
	// request. Default: Connect negotiates.
	Prior *Prior

	// ElicitForm handles elicitation by a form: it asks the user to fill in a form. The client adds the defaults of the
	// schema to an accepted form and checks it against the schema.
	ElicitForm func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
	// ElicitURL handles elicitation by URL: it opens a URL for the user after consent. It must not fetch anything
	// before consent. The URL is https, or http on this machine; the client refuses
	// others. URLHost returns its host.
	//
	// A server of 2025-11-25 can refuse a call until a URL elicitation is complete.
	// The client then calls ElicitURL, and sends the call again when the server
	// reports the elicitation as complete, and after pauses of 2 to 30 s, until
	// Timeouts.MaxCall.
	ElicitURL func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
	// Sample handles sampling (sampling/createMessage): it gets a message from the model.
	//
	// Deprecated: part of Sampling (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	Sample func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)
	// Roots returns the roots (roots/list), which are file URIs. Call Client.RootsChanged when
	// they change. In the session era the client itself notifies the server when one
	// that it has sent is deleted or created again.
	//
	// Deprecated: part of Roots (SEP-2577), which the first revision released on
	// or after 2027-07-28 may remove.
	Roots func(context.Context) ([]mcp.Root, error)
	// Ask has limits and hooks for the questions that ElicitForm, ElicitURL, Sample
	// and Roots answer.
	Ask AskOptions

	// OnToolsChanged, OnPromptsChanged and OnResourcesChanged are called when a list
	// may have changed (list_changed), after a random delay of up to 250 ms, so that not all clients
	// list at the same moment. In the stateless era the client subscribes to the lists
	// that have a handler.
	OnToolsChanged     func(context.Context, *Client)
	OnPromptsChanged   func(context.Context, *Client)
	OnResourcesChanged func(context.Context, *Client)
	// OnResourceUpdated is called after each change of a resource that Watch watches.
	OnResourceUpdated func(ctx context.Context, c *Client, uri string)
	// OnLog is called for the server's log messages, in their order, possibly after
	// their call has returned. WithLog handles those of one call before it returns.
	// LogLevel sets the minimum level.
	//
	// Deprecated: part of Logging (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	OnLog func(context.Context, *mcp.LoggingMessageParams)
	// OnNotification is called for notifications that have no other handler.
	OnNotification func(ctx context.Context, method string, params jsontext.Value)
	// OnEvent is called when the connection changes.
	OnEvent func(context.Context, Event)
	// OnLimit is called each time the server reaches a limit, such as to count it in
	// a metric. The log also reports each limit, but not each time. OnLimit is called
	// from several goroutines at once, delays the message that reached the limit, and
	// so must return quickly.
	OnLimit func(mcp.LimitReached)
	// OnMessage is called for each message that the client reads or writes, as it is on
	// the wire, for example with mcpwire.NewLog(os.Stderr, nil).Record. A message can have
	// secrets. OnMessage is called on the goroutine of the message, on several at once, and
	// delays it. It must not use the client. Default: none, at no cost.
	OnMessage func(mcp.WireMessage)

	// OnSession is called when a connection begins, and when it has ended, for example to
	// count them in a metric. Over Streamable HTTP a connection is a session in the session
	// era, and in the stateless era all requests until Close. OnSession is called from several
	// goroutines at once and must return quickly. Default: none.
	OnSession func(SessionEvent)
	// Middleware wraps the handling of every message, as if it was added by Client.Use before
	// the connection is made. The first one is the outermost. Default: none.
	Middleware []Middleware

	// LogLevel is the minimum level of the server's log messages. Default: in the
	// session era the server chooses; in the stateless era it is info if OnLog is
	// set, and otherwise the client requests none. SetLogLevel changes it.
	LogLevel mcp.LoggingLevel

	// HTTP has options of the HTTP transports.
	HTTP HTTPOptions
	// Timeouts limit how long the client waits for the server.
	Timeouts TimeoutOptions
	// PingInterval is the time after which the client pings the server of an idle
	// session, up to a tenth less. After three pings without an answer it ends the
	// connection. Default: 30 seconds.
	PingInterval time.Duration
	// Limits limit the data that the server sends.
	Limits LimitOptions
	// Cache says where results are cached, and whether stale ones are used.
	Cache CacheOptions

	// Pins are the definitions that the user has approved.
	Pins PinOptions

	// NoOutputCheck turns off the check of structured results. By default they have to
	// satisfy the output schema of their tool. If the client has not listed the tool,
	// it lists the tools when a result has structured content, once for each
	// connection and after each change of the list. A list that fails or takes longer
	// than 5 seconds fails no call: the results are not checked then. With Prior the
	// client does not list tools for this purpose.
	NoOutputCheck bool
	// NoRestart turns off reconnecting. By default the next call after a lost
	// connection starts the command or connects again, after a pause if that happens
	// often.
	NoRestart bool

	// Logger gets the log of the client itself. Default: slog.Default().
	Logger *slog.Logger
}

// HTTPOptions are the options of the HTTP transports.
type HTTPOptions struct {
	// Header is sent with every HTTP request, but never to another origin.
	Header http.Header
	// Client sends the HTTP requests. Its Timeout and CheckRedirect are not used,
	// because event streams stay open and redirects are followed only within the
	// origin. A panic of its Transport is an error of the request, and is
	// logged. The functions of an *http.Transport other than Proxy must not
	// panic: net/http calls them on goroutines of its own, so that a panic ends the
	// process. Default: a client of this package, with the proxies of the environment.
	Client *http.Client
	// Auth adds credentials to HTTP requests. Header must then have no Authorization.
	// Other transports do not use it: a command gets credentials in its environment,
	// see CommandTarget.Env. Default: no credentials but those in Header.
	Auth Authorizer
}

// AskOptions limit what a server may ask of the user, the model and this machine.
type AskOptions struct {
	// MaxRounds is the maximum number of times that one call may require input in
	// the stateless era. Default: 8.
	MaxRounds int
	// Rate limits elicitations, and separately sampling requests. Those beyond it are
	// refused, which in the stateless era ends their call. Default: 10 per second,
	// with a burst of 100.
	Rate mcp.Rate
	// AllowSecretFields accepts forms that ask for a password, a key or another secret:
	// by the name, title, description, default or format of a field, by the message or
	// the title of the form, or by what can be chosen in it. By default such forms are
	// refused, because URL elicitation is intended for secrets. A form that asks in
	// other words than these of English, or a password of some other languages, is
	// not recognized.
	AllowSecretFields bool
	// MaxTokens is the maximum of CreateMessageParams.MaxTokens; a larger number is
	// lowered to it. Requests without a positive number are refused. So are
	// conversations with more than 10 rounds of tool results. Default: no maximum.
	//
	// Deprecated: part of Sampling (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	MaxTokens int64
	// BeforeSample is called with each sampling request before Sample, and may change
	// it. AfterSample is called with the result of Sample before the server gets it,
	// and may change it. If one returns an error, the server gets that error;
	// ErrRejected means that the user rejected the request.
	//
	// Deprecated: part of Sampling (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	BeforeSample func(context.Context, *mcp.CreateMessageParams) error
	AfterSample  func(context.Context, *mcp.CreateMessageParams, *mcp.CreateMessageResult) error
	// ShareRoots is called for consent each time before the server gets the roots.
	// If it returns an error, the server gets that error instead.
	//
	// Deprecated: part of Roots (SEP-2577), which the first revision released on
	// or after 2027-07-28 may remove.
	ShareRoots func(context.Context, []mcp.Root) error
	// RootsInterval is the time between checks whether roots were deleted or created.
	// A negative interval turns the checks off. Default: 30 seconds.
	//
	// Deprecated: part of Roots (SEP-2577), which the first revision released on
	// or after 2027-07-28 may remove.
	RootsInterval time.Duration
}

// TimeoutOptions limit how long the client waits for the server. A negative duration
// means no limit.
type TimeoutOptions struct {
	// Call is how long a call waits for its response, or with WithProgress for the
	// next progress notification. It is paused while a handler of this client answers
	// the server. Default: 60 seconds.
	Call time.Duration
	// MaxCall is the maximum duration of a call, whatever progress it makes.
	// Default: 10 minutes.
	MaxCall time.Duration
	// Connect is the maximum duration of connecting and negotiating. Default: 30
	// seconds.
	Connect time.Duration
	// Probe is how long the client waits for a response to the probe for the
	// stateless era before it tries the session era, and for lists of prompts and resources
	// that the server does not declare. Default: 3 seconds, over HTTP 10 seconds.
	Probe time.Duration
	// Close is the maximum duration of Client.Close. Default: 10 seconds.
	Close time.Duration
}

// LimitOptions limit the data that the server sends.
type LimitOptions struct {
	// MaxMessage is the maximum size of one message, in bytes. Default: 16 MiB.
	MaxMessage int
	// MaxElements is the maximum number of JSON values in one message. Default:
	// 1,000,000.
	MaxElements int
	// MaxDepth is the maximum nesting of one message. Default: 128.
	MaxDepth int
	// MaxPages is the maximum number of pages of one list, which ends with what was read then.
	// Default: 10,000.
	MaxPages int
	// MaxCache is the maximum size of the cache, in bytes. A negative number turns
	// the cache off. Default: 16 MiB.
	//
	// The cache has lists and resources for as long as the server allows, and until a
	// notification reports a change. In the session era servers do not declare how
	// long that is, so nothing is cached. The cache belongs to this client, so
	// HTTP.Client and HTTP.Header have to act for one principal; see
	// Client.ClearCache. It is cleared when HTTP.Auth sends another token.
	//
	// With CacheOptions.Store the size has no effect, but a negative number does.
	MaxCache int
}

func (o *Options) orZero() *Options {
	if o == nil {
		return new(Options)
	}
	return o
}

// copied returns a copy for the client. It shares HTTP.Client, Logger, and the values
// behind interfaces and functions with the original.
func (o *Options) copied() *Options {
	c := *o.orZero()
	c.Info.Icons, c.Info.Extra = slices.Clone(c.Info.Icons), slices.Clone(c.Info.Extra)
	caps := &c.Capabilities
	caps.Sampling, caps.Roots, caps.Tasks = copyPointer(caps.Sampling), copyPointer(caps.Roots), copyPointer(caps.Tasks)
	caps.Extensions, caps.Experimental = maps.Clone(caps.Extensions), maps.Clone(caps.Experimental)
	c.Prior = c.Prior.copied()
	c.Pins.Tools = maps.Clone(c.Pins.Tools)
	c.Cache.Key = slices.Clone(c.Cache.Key)
	c.Revisions, c.HTTP.Header = slices.Clone(c.Revisions), c.HTTP.Header.Clone()
	c.Extensions, c.Middleware = slices.Clone(c.Extensions), slices.Clone(c.Middleware)
	for i := range c.Extensions {
		e := &c.Extensions[i]
		e.Settings, e.ResultTypes = slices.Clone(e.Settings), slices.Clone(e.ResultTypes)
		e.Names, e.Requests, e.Notifications = maps.Clone(e.Names), maps.Clone(e.Requests), maps.Clone(e.Notifications)
	}
	return &c
}

func copyPointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// check returns an error for invalid options.
func (o *Options) check() error {
	return cmp.Or(o.checkAuth(), o.Cache.check(), o.checkExtensions())
}

func (o *Options) info() mcp.Implementation {
	if o.Info.Name != "" {
		return o.Info
	}
	info := mcp.Implementation{Name: "mcp-client", Version: "unknown"}
	if build, ok := debug.ReadBuildInfo(); ok && build.Main.Path != "" {
		info.Name = path.Base(build.Main.Path)
		info.Version = cmp.Or(build.Main.Version, info.Version)
	}
	return info
}

// capabilities returns what the client declares in a revision: elicitation, sampling and
// roots only if they have a handler.
func (o *Options) capabilities(f *dialect.Facts) mcp.ClientCapabilities {
	caps := o.Capabilities
	caps.Elicitation, caps.Sampling, caps.Roots = nil, nil, nil
	if o.ElicitForm != nil || o.ElicitURL != nil && f.ElicitURL {
		caps.Elicitation = new(mcp.ElicitationCapability)
		if o.ElicitForm != nil && f.ElicitURL {
			caps.Elicitation.Form = new(mcp.Capability)
		}
		if o.ElicitURL != nil && f.ElicitURL {
			caps.Elicitation.URL = new(mcp.Capability)
		}
	}
	if o.Sample != nil {
		caps.Sampling = cmp.Or(o.Capabilities.Sampling, new(mcp.SamplingCapability))
	}
	if o.Roots != nil {
		notifies := o.Capabilities.Roots == nil || o.Capabilities.Roots.ListChanged
		caps.Roots = &mcp.RootsCapability{ListChanged: notifies && f.Era == dialect.SessionEra}
	}
	o.declareExtensions(&caps, f)
	return caps
}

func (o *Options) logger() *slog.Logger {
	return usercode.Logger(cmp.Or(o.Logger, slog.Default()))
}

func (o *Options) timeout() time.Duration    { return cmp.Or(o.Timeouts.Call, time.Minute) }
func (o *Options) maxTimeout() time.Duration { return cmp.Or(o.Timeouts.MaxCall, 10*time.Minute) }

func (o *Options) connectTimeout() time.Duration { return cmp.Or(o.Timeouts.Connect, 30*time.Second) }
func (o *Options) closeTimeout() time.Duration   { return cmp.Or(o.Timeouts.Close, 10*time.Second) }
func (o *Options) pingInterval() time.Duration   { return cmp.Or(o.PingInterval, 30*time.Second) }

func (o *Options) rootsInterval() time.Duration { return cmp.Or(o.Ask.RootsInterval, 30*time.Second) }

// messageSetting names the option that bounds messages, for errors.
const messageSetting = "mcpclient.Options.Limits.MaxMessage"

// lines returns the options of a connection whose messages are lines.
func (o *Options) lines() *stdio.Options {
	return &stdio.Options{MaxLine: o.maxMessage(), Setting: messageSetting}
}

func (o *Options) maxMessage() int { return cmp.Or(o.Limits.MaxMessage, 16<<20) }
func (o *Options) maxPages() int   { return cmp.Or(o.Limits.MaxPages, 10_000) }
func (o *Options) maxCache() int   { return cmp.Or(o.Limits.MaxCache, 16<<20) }
func (o *Options) maxRounds() int  { return cmp.Or(o.Ask.MaxRounds, 8) }

func (o *Options) questionRate() mcp.Rate {
	if o.Ask.Rate.PerSecond == 0 {
		return mcp.Rate{PerSecond: 10, Burst: 100}
	}
	return o.Ask.Rate
}

func (o *Options) limits() jsonrpc.Limits {
	return jsonrpc.Limits{Depth: o.Limits.MaxDepth, Elements: cmp.Or(o.Limits.MaxElements, 1_000_000), Repaired: o.maxMessage()}
}
