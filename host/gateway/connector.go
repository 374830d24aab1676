package gateway

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// programStartTimeout limits the start of a program. The first start of one that npx or uvx
// runs downloads its packages.
const programStartTimeout = 2 * time.Minute

// connector starts one upstream, if it is a program, and connects to it. It knows what all connections
// have in common: the revision, the sign-in and standard error.
type connector struct {
	upstream *host.Upstream
	options  *Options
	record   func(host.Decision, error)
	log      *slog.Logger
	stderr   stderrTail

	mu            sync.Mutex           // guards the fields below
	lastRevision  mcp.Revision         // of the last connection
	withheld      []string             // by a program that could not be connected to, see host.Status
	connectFailed bool                 // at least once, unless over HTTP
	admitted      *host.Upstream       // for which auth was made, or nil
	auth          mcpclient.Authorizer // or nil
}

// clientOptions returns options without capabilities and callbacks. Requests have no timeout of their
// own: relay.Relay decides how long a call waits. The client does not reconnect, because link.Conn does.
func (c *connector) clientOptions() *mcpclient.Options {
	o := &mcpclient.Options{
		Info: mcp.Implementation{Name: "fondaco", Title: "Fondaco", Version: host.Version},
		// Its presence also keeps the client from listing the tools over each connection.
		Prior: &mcpclient.Prior{Revision: c.expectedRevision()},
		Timeouts: mcpclient.TimeoutOptions{
			Call:    -1,
			MaxCall: -1,
			Connect: c.startupTimeout(),
		},
		NoRestart: true,
		Logger:    c.log,
		OnMessage: c.onMessage(mcp.PrincipalLocal),
	}
	if c.isProgram() && len(c.upstream.Settings.Timeouts) > 0 { // it may be too busy for pings until then
		o.PingInterval = -1
	}
	return o
}

// onMessage returns the function that gets the messages of a connection, nil if there is none. p is the caller whose
// connection it is.
func (c *connector) onMessage(p mcp.Principal) func(mcp.WireMessage) {
	f := c.options.onMessage(c.upstream.Key)
	if f == nil {
		return nil
	}
	return func(m mcp.WireMessage) {
		m.Principal = p
		f(m)
	}
}

// startupTimeout returns the limit of one start. Zero is the default of the client.
func (c *connector) startupTimeout() time.Duration {
	if c.upstream.Settings.StartupTimeout == 0 && c.isProgram() {
		return programStartTimeout
	}
	return c.upstream.Settings.StartupTimeout
}

// connect starts the server, if it is a program that is approved, and connects to it.
func (c *connector) connect(ctx context.Context, o *mcpclient.Options) (*mcpclient.Client, error) {
	d := host.Decision{Time: time.Now(), Upstream: c.upstream.Key, Action: host.ActionStart}
	admitted, err := c.options.admit(ctx, c.upstream)
	var client *mcpclient.Client
	if err == nil {
		o.HTTP.Header, o.HTTP.Auth = admitted.Header, c.authorizer(admitted)
		client, err = mcpclient.Connect(ctx, c.captureStderr(admitted.Target), c.options.clientOptions(c.upstream.Key, o))
		c.setWithheld(withheldBy(admitted.Target, err))
		err = hidePrivatePath(err, admitted)
	}
	switch {
	case err == nil:
		d.Outcome = host.OutcomeDone
		c.setRevision(client.Revision())
	case errors.Is(err, host.ErrNeedsApproval):
		d.Outcome = host.OutcomeWithheld
		c.record(d, nil) // the reason contains the command line, which may hold private arguments
		return nil, err
	case ctx.Err() == context.Canceled: // nothing is known of the upstream
		d.Outcome = host.OutcomeCancelled
		c.record(d, errStartEnded)
		return nil, err
	case link.WantsCredentials(err): // the revision is still unknown
		d.Outcome = host.OutcomeFailed
	default:
		d.Outcome = host.OutcomeFailed
		c.mu.Lock()
		c.connectFailed = !c.isOverHTTP()
		c.mu.Unlock()
	}
	c.record(d, err)
	return client, err
}

// errStartEnded is the reason of a start that the host has ended, such as that of a command which is done before.
var errStartEnded = errors.New("the host ended the start before the server was ready")

// maxWithheld limits the variables in a status that a program did not get.
const maxWithheld = 100

// withheldBy returns the names of the variables that a program did not get with which connecting
// has failed, those first that the error mentions: it has the last lines of standard error. The
// secrets of the host itself are for no program.
func withheldBy(t mcpclient.Target, err error) []string {
	program, ok := t.(*mcpclient.CommandTarget)
	if !ok || err == nil {
		return nil
	}
	names := slices.DeleteFunc(program.WithheldVariables(), func(name string) bool { return strings.HasPrefix(name, "FONDACO_") })
	text := err.Error()
	slices.SortStableFunc(names, func(a, b string) int {
		switch inA, inB := strings.Contains(text, a), strings.Contains(text, b); {
		case inA == inB:
			return 0
		case inA:
			return -1
		}
		return 1
	})
	return names[:min(len(names), maxWithheld)]
}

func (c *connector) setWithheld(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.withheld = names
}

func (c *connector) withheldVariables() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.withheld)
}

// authorizer returns the authorizer of the upstream as it was admitted. All connections
// share it, because it remembers tokens.
func (c *connector) authorizer(admitted *host.Upstream) mcpclient.Authorizer {
	c.mu.Lock()
	auth, before := c.auth, c.admitted
	c.mu.Unlock()
	if before != nil && before.Equal(admitted) {
		return auth
	}
	auth = c.options.auth(admitted)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.auth, c.admitted = auth, admitted
	return auth
}

// lastAdmitted returns the upstream as it was connected to last.
func (c *connector) lastAdmitted() *host.Upstream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.admitted
}

// captureStderr makes a program's target keep the last lines of standard error.
func (c *connector) captureStderr(t mcpclient.Target) mcpclient.Target {
	program, ok := t.(*mcpclient.CommandTarget)
	if !ok || program.Stderr != nil {
		return t
	}
	captured := *program
	captured.Stderr = func(line string, omitted int) {
		c.stderr.add(line, omitted)
		c.options.notifyStderr(c.upstream.Key, line)
	}
	return &captured
}

func (c *connector) setRevision(r mcp.Revision) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lastRevision = r
}

// revision returns the revision of the last connection, or zero.
func (c *connector) revision() mcp.Revision {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastRevision
}

// expectedRevision returns the revision of the last connection. If a program was never
// connected to, it returns the latest session revision: negotiation would start a failing
// program twice each time, and a stateless server rejects the revision with a clear
// error.
func (c *connector) expectedRevision() mcp.Revision {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lastRevision.IsZero() && c.connectFailed {
		return latestSessionRevision()
	}
	return c.lastRevision
}

func latestSessionRevision() (latest mcp.Revision) {
	for _, r := range mcp.Revisions() {
		if !r.Stateless() {
			latest = r
		}
	}
	return latest
}

// isOverHTTP reports whether the upstream is at a URL, where an attempt to connect starts nothing.
func (c *connector) isOverHTTP() bool {
	return reflect.TypeOf(c.upstream.Target) == reflect.TypeOf(mcpclient.URL(""))
}

// isProgram reports whether the upstream is a program, which each connection starts once more.
func (c *connector) isProgram() bool {
	_, program := c.upstream.Target.(*mcpclient.CommandTarget)
	return program
}

// mayHaveSessions reports whether the upstream is, or may be, of the session era. Only such a
// one sends log messages outside of calls.
func (c *connector) mayHaveSessions() bool { return !c.revision().Stateless() }

// mayHaveOwnFeatures reports whether a caller connection may have features that the shared one
// lacks: those that a server of the session era has added for the session, or those that a
// program has added, because each connection starts it once more.
//
// Spec: 2026-07-28 server/tools#listing-tools
func (c *connector) mayHaveOwnFeatures() bool { return c.isProgram() || c.mayHaveSessions() }
