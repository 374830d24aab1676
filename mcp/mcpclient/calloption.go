package mcpclient

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// CallOption adjusts one call.
type CallOption func(*callOptions)

type callOptions struct {
	progress func(mcp.ProgressParams)
	log      func(*mcp.LoggingMessageParams)
	timeout  time.Duration
	meta     mcp.Meta
	level    mcp.LoggingLevel
	manual   bool // input requests are returned to the caller
	input    *mcp.InputResponseParams
	noCache  bool
	hit      *bool // set to whether the result was a kept one
}

// WithProgress asks the server for progress and has f called with it, in order,
// on the goroutine of the call and before the call returns. Every progress
// starts the timeout of the call anew.
func WithProgress(f func(mcp.ProgressParams)) CallOption {
	return func(o *callOptions) { o.progress = f }
}

// WithTimeout replaces Options.Timeouts.Call for the call. A negative one is none;
// Options.Timeouts.MaxCall holds in any case.
func WithTimeout(d time.Duration) CallOption {
	return func(o *callOptions) { o.timeout = d }
}

// WithMeta sends metadata along, such as the trace context. The protocol's own
// keys are not sent.
func WithMeta(m mcp.Meta) CallOption {
	return func(o *callOptions) { o.meta = m }
}

// WithLog has f called with the log messages of this call, in place of
// Options.OnLog, in order, on the goroutine of the call and before the call returns.
// In the stateless era it asks for them, from info on unless WithLogLevel or
// SetLogLevel says otherwise.
//
// Messages do not name their call. Over Streamable HTTP they come on its own stream.
// Over other transports, and in sessions on the stream for everything, f gets those
// that come while no other call of the client is under way; the others go to
// Options.OnLog.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func WithLog(f func(*mcp.LoggingMessageParams)) CallOption {
	return func(o *callOptions) { o.log = f }
}

// WithLogLevel asks for log messages of this call, from the level on. In the
// session era it has no effect: there the level holds for the session.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func WithLogLevel(l mcp.LoggingLevel) CallOption {
	return func(o *callOptions) { o.level = l }
}

func callOptionsOf(opts []CallOption) callOptions {
	if len(opts) == 0 {
		return callOptions{}
	}
	var o callOptions // escapes to the options
	for _, set := range opts {
		set(&o)
	}
	return o
}
