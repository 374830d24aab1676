package gateway

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Options of a Gateway. The zero value, like a nil pointer, gives the defaults.
// The functions are called from several goroutines, and must not call Reload or
// Close.
type Options struct {
	// StartTimeout is how long Start, and the first lists, wait for upstreams.
	// Those that take longer join when they are ready. Default: 10 seconds.
	StartTimeout time.Duration
	// Admit is asked each time before an upstream is started or connected to. It
	// returns the target to use, or an error that wraps host.ErrNeedsApproval.
	// Default: everything is admitted.
	Admit func(*host.Upstream) (mcpclient.Target, error)
	// Auth returns what gives the requests to an upstream their credentials, or nil.
	// It is asked once for each upstream, and must not wait for a user. Default: none.
	Auth func(*host.Upstream) mcpclient.Authorizer
	// Screen is asked which tools of an upstream may be offered as they are
	// defined now. An error offers none. Default: all.
	Screen func(*host.Upstream, []mcp.Tool) (kept []mcp.Tool, withheld []host.Withheld, err error)
	// OnStatus hears of an upstream whose state has changed.
	OnStatus func(host.Status)
	// OnDecision hears what became of each start and call, before the caller does.
	OnDecision func(host.Decision)
	// HTTP holds what concerns the handlers of the server for HTTP.
	HTTP *mcpserver.HTTPOptions
	// Logger receives what an operator should know. Default: slog.Default().
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

func (o *Options) logger() *slog.Logger { return cmp.Or(o.orZero().Logger, slog.Default()) }

func (o *Options) admit(u *host.Upstream) (mcpclient.Target, error) {
	if o.orZero().Admit == nil {
		return u.Target, nil
	}
	return o.Admit(u)
}

func (o *Options) auth(u *host.Upstream) mcpclient.Authorizer {
	if o.orZero().Auth == nil {
		return nil
	}
	return o.Auth(u)
}

// screen divides the tools of a catalog into those that are kept and the others.
func (o *Options) screen(u *host.Upstream, c *catalog) (err error) {
	c.kept = c.tools
	if o.orZero().Screen != nil {
		c.kept, c.withheld, err = o.Screen(u, c.tools)
	}
	return err
}

func (o *Options) tell(s host.Status) {
	if o.orZero().OnStatus != nil {
		o.OnStatus(s)
	}
}

func (o *Options) decided(d host.Decision) {
	if o.orZero().OnDecision != nil {
		o.OnDecision(d)
	}
}
