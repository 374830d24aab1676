package gateway

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Options of a Gateway. The zero value, like a nil pointer, gives the defaults. The
// functions are called from several goroutines, and must not call Reload or Close.
type Options struct {
	// StartTimeout is how long Start and the first list requests wait for upstreams.
	// Upstreams that take longer are added when they are ready. Default: 10 seconds.
	StartTimeout time.Duration
	// CallStartTimeout is how long a call waits until its upstream has started, with a
	// progress notification every 5 seconds if the caller has asked for progress. Then it ends
	// with "still starting, call again", and the start goes on. Default: 50 seconds, because many clients
	// wait 60 seconds for a call.
	CallStartTimeout time.Duration
	// Admit is called each time before an upstream is started or connected to. It returns
	// the upstream with the target, headers and sign-in to use, or an error that wraps
	// host.ErrNeedsApproval. Default: every upstream is admitted.
	Admit func(context.Context, *host.Upstream) (*host.Upstream, error)
	// AdmitRoots is called each time before an upstream gets the roots of its configuration, with their paths. It
	// returns those that it may get, as absolute paths. If the error wraps host.ErrNeedsApproval, all connections of
	// the upstream are made again, so that Admit decides about it. Default: all.
	AdmitRoots func(ctx context.Context, u *host.Upstream, paths []string) ([]string, error)
	// Auth returns the authorizer for HTTP requests to an admitted upstream, or nil. It is
	// called again when what Admit returns has changed, and must not wait for a user.
	// Default: none.
	Auth func(*host.Upstream) mcpclient.Authorizer
	// MissingScopes returns the scopes that refused calls of an admitted upstream have lacked since its user signed in
	// last, for its status: calls of earlier processes, too. It is called each time the upstream was connected to, and
	// must not wait for a user. Default: those of this gateway are known.
	MissingScopes func(context.Context, *host.Upstream) ([]string, error)
	// FilterDefinitions returns which definitions of an upstream clients may see as they
	// are now. It is called each time the upstream has listed them, and again after Retry.
	// If it fails, clients see none that were just listed. Default: all.
	FilterDefinitions func(context.Context, *host.Upstream, host.Listing) (host.Admitted, error)
	// Consent asks the user of the host whether a call may be made that needs consent, and
	// waits for the answer. The error is a *host.NoConsentError if the call may not be
	// made, or says why nobody could be asked. Default: no such call is made.
	Consent func(context.Context, *host.ConsentRequest) (host.Consent, error)
	// ClientMayConsent reports whether the client that makes a call may ask its user for
	// consent itself, by an elicitation form, before Consent is called. A client can answer
	// its own form. Default: none may.
	ClientMayConsent func(*host.ConsentRequest) bool
	// AskPerson asks the user of the host a question of an upstream that the client of the call cannot
	// show, and waits for the answer. The error is a *host.UnansweredError if nobody has answered, or
	// says why nobody could be asked. If it is set, upstreams can ask for forms and addresses in calls of
	// all clients. Default: only clients are asked.
	AskPerson func(context.Context, *host.ServerQuestion) (*host.ServerAnswer, error)
	// OnStderr is called for each line that a program of an upstream with that key writes to standard error. The text
	// is not trusted. Default: none.
	OnStderr func(key, line string)
	// OnStatus is called when the state of an upstream has changed.
	OnStatus func(host.Status)
	// OnDecision records a decision: the outcome of each start and each call, before the
	// caller gets it. For a call that needed consent, and with RecordFirst for every
	// call, read and prompt, it is also called before the upstream gets the request, with
	// host.OutcomeBegun; if that fails, the upstream does not get it. Other errors are
	// logged. Default: nothing is recorded.
	OnDecision func(host.Decision) error
	// RecordFirst records every call, read and prompt before the upstream gets it, and not
	// only calls that needed consent.
	RecordFirst bool
	// OnMessage returns the function that gets each message of an upstream as it is on the
	// wire, and with an empty key each message of the clients, see mcpserver.Options. The messages
	// of an upstream have the principal of the caller whose connection it is, or else
	// mcp.PrincipalLocal. It may return nil. Default: none.
	OnMessage func(key string) func(mcp.WireMessage)
	// OnLimit is called each time a limit is reached: of an upstream with that key, or with an
	// empty key of the server, see mcpserver.Options. Default: none.
	OnLimit func(key string, l mcp.LimitReached)
	// ServerOptions returns the options of the server of the gateway, and ClientOptions those of each
	// client of an upstream with that key. They get the options of the gateway, and may wrap their
	// functions, for example to report telemetry. Default: the options of the gateway.
	ServerOptions func(*mcpserver.Options) *mcpserver.Options
	ClientOptions func(key string, o *mcpclient.Options) *mcpclient.Options
	// Keys are shared by hosts with the same upstreams, so that each can serve the sessions of
	// the others, see mcpserver.Options. Default: a key of this process.
	Keys []mcpserver.Key
	// Store and Bus are shared by hosts with the same Keys, so that each can serve the sessions
	// of the others with all that they have, see mcpserver.Options. Default: memory.
	Store mcp.Store
	Bus   mcp.Bus
	// HTTP configures the server's HTTP handlers.
	HTTP *mcpserver.HTTPOptions
	// Logger receives messages for the operator. Default: slog.Default().
	Logger *slog.Logger
}

func (o *Options) orZero() *Options {
	if o == nil {
		return new(Options)
	}
	return o
}

func (o *Options) startTimeout() time.Duration {
	return cmp.Or(o.orZero().StartTimeout, 10*time.Second)
}

func (o *Options) onMessage(key string) func(mcp.WireMessage) {
	if f := o.orZero().OnMessage; f != nil {
		return f(key)
	}
	return nil
}

func (o *Options) notifyStderr(key, line string) {
	if f := o.orZero().OnStderr; f != nil {
		f(key, line)
	}
}

func (o *Options) notifyLimit(key string, l mcp.LimitReached) {
	if f := o.orZero().OnLimit; f != nil {
		f(key, l)
	}
}

func (o *Options) serverOptions(s *mcpserver.Options) *mcpserver.Options {
	if f := o.orZero().ServerOptions; f != nil {
		return f(s)
	}
	return s
}

func (o *Options) clientOptions(key string, c *mcpclient.Options) *mcpclient.Options {
	if f := o.orZero().ClientOptions; f != nil {
		return f(key, c)
	}
	return c
}

func (o *Options) callStartTimeout() time.Duration {
	return cmp.Or(o.orZero().CallStartTimeout, 50*time.Second)
}

func (o *Options) logger() *slog.Logger { return cmp.Or(o.orZero().Logger, slog.Default()) }

func (o *Options) admit(ctx context.Context, u *host.Upstream) (*host.Upstream, error) {
	if o.orZero().Admit == nil {
		return u.Resolved(ctx)
	}
	return o.Admit(ctx, u)
}

func (o *Options) admitRoots(ctx context.Context, u *host.Upstream, paths []string) ([]string, error) {
	if o.orZero().AdmitRoots == nil {
		return paths, nil
	}
	return o.AdmitRoots(ctx, u, paths)
}

func (o *Options) auth(u *host.Upstream) mcpclient.Authorizer {
	if o.orZero().Auth == nil {
		return nil
	}
	return o.Auth(u)
}

func (o *Options) missingScopes(ctx context.Context, u *host.Upstream) ([]string, error) {
	if o.orZero().MissingScopes == nil {
		return nil, nil
	}
	return o.MissingScopes(ctx, u)
}

// filterDefinitions returns which listed definitions clients may see.
func (o *Options) filterDefinitions(ctx context.Context, u *host.Upstream, l host.Listing) (host.Admitted, error) {
	if o.orZero().FilterDefinitions == nil {
		return host.Admitted{Surface: l.Surface}, nil
	}
	return o.FilterDefinitions(ctx, u, l)
}

func (o *Options) notifyStatus(s host.Status) {
	if o.orZero().OnStatus != nil {
		o.OnStatus(s)
	}
}

// records reports whether decisions are recorded.
func (o *Options) records() bool { return o.orZero().OnDecision != nil }

func (o *Options) notifyDecision(d host.Decision) error {
	if !o.records() {
		return nil
	}
	return o.OnDecision(d)
}
