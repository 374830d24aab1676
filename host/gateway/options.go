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

// Options of a Gateway. The zero value, like a nil pointer, gives the defaults. The
// functions are called from several goroutines, and must not call Reload or Close.
type Options struct {
	// StartTimeout is how long Start and the first list requests wait for upstreams.
	// Upstreams that take longer are added when they are ready. Default: 10 seconds.
	StartTimeout time.Duration
	// Admit is called each time before an upstream is started or connected to. It returns
	// the target to use, or an error that wraps host.ErrNeedsApproval. Default: every
	// upstream is admitted.
	Admit func(*host.Upstream) (mcpclient.Target, error)
	// Auth returns the authorizer for HTTP requests to an upstream, or nil. It is called
	// once for each upstream and must not wait for a user. Default: none.
	Auth func(*host.Upstream) mcpclient.Authorizer
	// FilterTools returns which tools of an upstream clients may see as they are defined
	// now. If it fails, clients see none. Default: all.
	FilterTools func(*host.Upstream, []mcp.Tool) (kept []mcp.Tool, withheld []host.Withheld, err error)
	// OnStatus is called when the state of an upstream has changed.
	OnStatus func(host.Status)
	// OnDecision is called with the outcome of each start and each call, before the
	// caller gets it.
	OnDecision func(host.Decision)
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

// filterTools divides the tools of a catalog into approved and withheld ones.
func (o *Options) filterTools(u *host.Upstream, c *catalog) (err error) {
	c.approved = c.tools
	if o.orZero().FilterTools != nil {
		c.approved, c.withheld, err = o.FilterTools(u, c.tools)
	}
	return err
}

func (o *Options) notifyStatus(s host.Status) {
	if o.orZero().OnStatus != nil {
		o.OnStatus(s)
	}
}

func (o *Options) notifyDecision(d host.Decision) {
	if o.orZero().OnDecision != nil {
		o.OnDecision(d)
	}
}
