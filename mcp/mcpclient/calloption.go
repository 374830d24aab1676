package mcpclient

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// CallOption changes the behaviour of one call. If two set the same, the last one
// counts.
type CallOption func(*callOptions)

type callOptions struct {
	progress   func(mcp.ProgressParams)
	log        func(*mcp.LoggingMessageParams)
	timeout    time.Duration
	meta       mcp.Meta
	level      mcp.LoggingLevel
	manual     bool // input requests are returned to the caller
	input      *mcp.InputResponseParams
	noCache    bool
	tool       *mcp.Tool
	receivedAt *time.Time // see reportHit
}

// WithProgress requests progress notifications and calls f for each of them, in order,
// on the goroutine of the call and before the call returns. Each one restarts the
// timeout of the call; while f runs, the timeout is paused.
func WithProgress(f func(mcp.ProgressParams)) CallOption {
	return func(o *callOptions) { o.progress = f }
}

// WithTimeout replaces Options.Timeouts.Call for the call. Zero has no effect, and a
// negative d means no timeout. Options.Timeouts.MaxCall applies in any case.
func WithTimeout(d time.Duration) CallOption {
	return func(o *callOptions) { o.timeout = d }
}

// WithMeta adds metadata to the _meta of the request. Keys that the protocol defines are
// left out. The trace context of the call is sent without it, see mcp.ContextWithTrace.
func WithMeta(m mcp.Meta) CallOption {
	return func(o *callOptions) { o.meta = m }
}

// WithLog calls f for the log messages of this call instead of Options.OnLog, in order,
// on the goroutine of the call and before the call returns. In the stateless era it
// also requests them, from level info on unless WithLogLevel or SetLogLevel sets
// another.
//
// Messages do not name their call. Over Streamable HTTP they arrive on the stream of
// their call. Over other transports, and on the GET stream of a session, f gets the
// messages that arrive while no other call of the client is in flight; all others go
// to Options.OnLog.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func WithLog(f func(*mcp.LoggingMessageParams)) CallOption {
	return func(o *callOptions) { o.log = f }
}

// WithLogLevel requests log messages of this call, from the level on. It has no effect
// in the session era, in which the level belongs to the session.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func WithLogLevel(l mcp.LoggingLevel) CallOption {
	return func(o *callOptions) { o.level = l }
}

// WithTool gives a call of a tool its definition, which another client of the same server has
// listed. The call then needs no list of its own: its arguments are repeated in the headers
// that the definition names (x-mcp-header), and its result is checked, as if this client had
// listed the tool. If it has, WithTool has no effect. The definition must not be modified.
//
// Spec: 2026-07-28 basic/transports#custom-headers-from-tool-parameters
func WithTool(definition *mcp.Tool) CallOption {
	return func(o *callOptions) { o.tool = definition }
}

func callOptionsOf(opts []CallOption) callOptions {
	if len(opts) == 0 {
		return callOptions{}
	}
	var o callOptions // allocated, because options are function values
	for _, set := range opts {
		set(&o)
	}
	return o
}
