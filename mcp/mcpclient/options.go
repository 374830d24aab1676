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
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Options of a Client. The zero value, like a nil pointer, gives the defaults.
// Connect copies them, with their slices and maps.
//
// A duration or a number that is zero means its default; a negative duration
// means none at all.
type Options struct {
	// Info is what the client says of itself. Default: path and version of the
	// program's main module.
	Info mcp.Implementation
	// Capabilities are declared as they are, but for elicitation, sampling and
	// roots, which are declared when their handler is set, and for extensions.
	// Sampling and Roots give the details then: tools, for instance, or that changes
	// are not announced.
	Capabilities mcp.ClientCapabilities
	// Extensions are what the client adds to the protocol. Default: none.
	Extensions []Extension

	// Revisions pins the revisions that may be spoken. Empty means all that were
	// published; mcp.DraftV1 is spoken only when it is named here.
	Revisions []mcp.Revision
	// LastRevision is the revision that was found the last time, see
	// Client.Revision. With one of the session era the client does not probe for a
	// newer one; when the server does not speak it any more, the usual search
	// follows.
	LastRevision mcp.Revision

	// ElicitForm asks the user to fill in a form. An accepted form is completed with
	// the defaults of its schema and checked against it.
	ElicitForm func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
	// ElicitURL opens a URL for the user, after consent. Fetch nothing before consent.
	// The URL is https, or http on this machine; others are refused. URLHost returns
	// its host. A server of 2025-11-25 can refuse a call until a URL elicitation is
	// complete: the client calls ElicitURL, and sends the call again when the server
	// reports it as complete, and after pauses of 2 to 30 s, until Timeouts.MaxCall.
	ElicitURL func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)
	// Sample asks the model.
	//
	// Deprecated: part of Sampling (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	Sample func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error)
	// Roots returns the roots, which are file URIs. RootsChanged says that they have
	// changed. When one that a server of the session era was told vanishes or comes
	// back, the client tells the server.
	//
	// Deprecated: part of Roots (SEP-2577), which the first revision released on
	// or after 2027-07-28 may remove.
	Roots func(context.Context) ([]mcp.Root, error)
	// Ask bounds and reviews what the server asks by ElicitForm, ElicitURL, Sample
	// and Roots.
	Ask AskOptions

	// OnToolsChanged, OnPromptsChanged and OnResourcesChanged are called when a list
	// may have changed, up to 250 ms after the notification, so that not every client
	// lists at the same moment. In the stateless era they open a subscription.
	OnToolsChanged     func(context.Context, *Client)
	OnPromptsChanged   func(context.Context, *Client)
	OnResourcesChanged func(context.Context, *Client)
	// OnResourceUpdated is called after every change of a watched resource, see Watch.
	OnResourceUpdated func(ctx context.Context, c *Client, uri string)
	// OnLog takes the server's log messages, in their order and maybe after the call
	// that they belong to has returned; WithLog takes those of one call before that.
	// LogLevel says which are wanted.
	//
	// Deprecated: part of Logging (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	OnLog func(context.Context, *mcp.LoggingMessageParams)
	// OnNotification takes notifications that have no handler of their own.
	OnNotification func(ctx context.Context, method string, params jsontext.Value)
	// OnEvent is called when something happens to the connection.
	OnEvent func(context.Context, Event)
	// OnLimit is called each time that the server has reached a limit, such as for a
	// metric. The log has a line about each limit now and then in any case. It is
	// called on whichever goroutine has reached the limit, at once from several, and
	// has to be quick.
	OnLimit func(mcp.LimitReached)

	// LogLevel is the least urgent level to ask for. Default: the server's
	// choice in the session era; in the stateless era info when OnLog is set,
	// and otherwise nothing. SetLogLevel changes it.
	LogLevel mcp.LoggingLevel

	// HTTP holds what concerns HTTP alone.
	HTTP HTTPOptions
	// Timeouts bound how long the client waits for the server.
	Timeouts TimeoutOptions
	// PingInterval is how long a session may be idle before the server is pinged,
	// within a tenth. After three pings without answer the connection is given
	// up. Default: 30 seconds.
	PingInterval time.Duration
	// Limits bound what the server sends.
	Limits LimitOptions

	// Icons say which images Client.Icon takes.
	Icons IconOptions

	// NoOutputCheck leaves structured results of tools unchecked. Otherwise they
	// have to satisfy the output schema, once the tool was listed.
	NoOutputCheck bool
	// NoRestart leaves a lost connection lost. Otherwise the next call makes it
	// anew, after a pause when that happens often: a command is started again.
	NoRestart bool

	// Logger receives the client's own log. Default: slog.Default().
	Logger *slog.Logger
}

// HTTPOptions hold what concerns HTTP alone.
type HTTPOptions struct {
	// Header is sent with every HTTP request, and never to another origin.
	Header http.Header
	// Client sends the HTTP requests. Its Timeout and CheckRedirect are not
	// used: event streams last, and redirects are followed within the origin
	// only. Default: one of its own, with the proxies of the environment.
	Client *http.Client
	// Auth gives HTTP requests their credentials, and Header must then have no
	// Authorization. Over other transports it is not used: a command takes
	// credentials from its environment, see CommandTarget.Env. Default: none but
	// Header.
	Auth Authorizer
}

// AskOptions say what a server may ask of the user, the model and this machine.
type AskOptions struct {
	// MaxRounds bounds how often one call may ask for input in the stateless
	// era. Default: 8.
	MaxRounds int
	// Rate is how often the server may ask by elicitation, and how often by
	// sampling. Other questions are refused; in the stateless era that ends the call
	// that asks. Default: 10 a second, 100 at once.
	Rate mcp.Rate
	// AllowSecretFields lets forms ask for what looks like a password, a key or the
	// like. Otherwise such forms are refused: URL elicitation is for that.
	AllowSecretFields bool
	// MaxTokens lowers what a server asks of the model at once. Requests without a
	// positive number are refused, and so are conversations in which the output of
	// tools goes back to the model more than 10 times. Default: what servers ask.
	//
	// Deprecated: part of Sampling (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	MaxTokens int64
	// BeforeSample sees what the server wants to ask the model, and may change it.
	// AfterSample sees the model's message before the server does, and may change
	// it. An error refuses; ErrRejected says that the user did.
	//
	// Deprecated: part of Sampling (SEP-2577), which the first revision released
	// on or after 2027-07-28 may remove.
	BeforeSample func(context.Context, *mcp.CreateMessageParams) error
	AfterSample  func(context.Context, *mcp.CreateMessageParams, *mcp.CreateMessageResult) error
	// ShareRoots is asked for consent each time before the server gets the roots.
	// An error refuses.
	//
	// Deprecated: part of Roots (SEP-2577), which the first revision released on
	// or after 2027-07-28 may remove.
	ShareRoots func(context.Context, []mcp.Root) error
	// RootsInterval is how often the client checks whether roots have vanished or
	// come back. A negative one is never. Default: 30 seconds.
	//
	// Deprecated: part of Roots (SEP-2577), which the first revision released on
	// or after 2027-07-28 may remove.
	RootsInterval time.Duration
}

// TimeoutOptions bound how long the client waits for the server. A negative one is
// no bound.
type TimeoutOptions struct {
	// Call is how long a call waits for its answer, or for its next progress
	// when progress was asked for. It does not run while a handler of this client
	// answers the server. Default: 60 seconds.
	Call time.Duration
	// MaxCall is how long a call takes at most, whatever progress it makes.
	// Default: 10 minutes.
	MaxCall time.Duration
	// Connect bounds the making of a connection. Default: 30 seconds.
	Connect time.Duration
	// Probe is how long a silent server may let the probe wait for the
	// stateless era. Default: 3 seconds, over HTTP 10.
	Probe time.Duration
	// Close bounds Client.Close. Default: 10 seconds.
	Close time.Duration
}

// LimitOptions bound what the server sends.
type LimitOptions struct {
	// MaxMessage bounds one message of the server, in bytes. Default: 16 MiB.
	MaxMessage int
	// MaxElements bounds the values in one message. Default: 1,000,000.
	MaxElements int
	// MaxDepth bounds the nesting of one message. Default: 128.
	MaxDepth int
	// MaxPages bounds the pages of one list. Default: 10,000.
	MaxPages int
	// MaxCache bounds the results that are kept for as long as the server allows,
	// in bytes; a negative one keeps none. Lists and resources that are fresh are
	// not asked for again, unless a notification says that they have changed.
	// Nothing is kept in the session era, which does not say for how long it may
	// be. What is kept belongs to this client alone, so HTTP.Client and HTTP.Header
	// have to act for one principal; see Client.ClearCache. When HTTP.Auth comes with
	// another token than before, everything is dropped. Default: 16 MiB.
	MaxCache int
}

func (o *Options) orZero() *Options {
	if o == nil {
		return new(Options)
	}
	return o
}

// copied returns options of the client's own. What interfaces and functions refer to
// is shared, and so are HTTP.Client and Logger.
func (o *Options) copied() *Options {
	c := *o.orZero()
	c.Info.Icons, c.Info.Extra = slices.Clone(c.Info.Icons), slices.Clone(c.Info.Extra)
	caps := &c.Capabilities
	caps.Sampling, caps.Roots, caps.Tasks = copyPointer(caps.Sampling), copyPointer(caps.Roots), copyPointer(caps.Tasks)
	caps.Extensions, caps.Experimental = maps.Clone(caps.Extensions), maps.Clone(caps.Experimental)
	c.Revisions, c.HTTP.Header = slices.Clone(c.Revisions), c.HTTP.Header.Clone()
	c.Icons.Origins, c.Icons.Prefixes = slices.Clone(c.Icons.Origins), slices.Clone(c.Icons.Prefixes)
	c.Extensions = slices.Clone(c.Extensions)
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

// check says which options make no sense.
func (o *Options) check() error {
	if err := o.checkAuth(); err != nil {
		return err
	}
	return o.checkExtensions()
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

// capabilities returns what is declared in a revision: details only for what
// has a handler.
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
		told := o.Capabilities.Roots == nil || o.Capabilities.Roots.ListChanged
		caps.Roots = &mcp.RootsCapability{ListChanged: told && f.Era == dialect.SessionEra}
	}
	o.declareExtensions(&caps, f)
	return caps
}

func (o *Options) logger() *slog.Logger {
	return usercode.Logger(cmp.Or(o.Logger, slog.Default()))
}

func (o *Options) timeout() time.Duration      { return cmp.Or(o.Timeouts.Call, time.Minute) }
func (o *Options) maxTimeout() time.Duration   { return cmp.Or(o.Timeouts.MaxCall, 10*time.Minute) }
func (o *Options) initTimeout() time.Duration  { return cmp.Or(o.Timeouts.Connect, 30*time.Second) }
func (o *Options) closeTimeout() time.Duration { return cmp.Or(o.Timeouts.Close, 10*time.Second) }
func (o *Options) pingInterval() time.Duration { return cmp.Or(o.PingInterval, 30*time.Second) }

func (o *Options) rootsInterval() time.Duration { return cmp.Or(o.Ask.RootsInterval, 30*time.Second) }

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
	return jsonrpc.Limits{Depth: o.Limits.MaxDepth, Elements: cmp.Or(o.Limits.MaxElements, 1_000_000)}
}
