package mcpclient

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// CallOption adjusts one call.
type CallOption func(*callOptions)

type callOptions struct {
	progress func(mcp.ProgressParams)
	timeout  time.Duration
	meta     mcp.Meta
	level    mcp.LoggingLevel
	byHand   bool
	input    *mcp.InputResponseParams
}

// WithProgress asks the server for progress and has f called with it, in order,
// on the goroutine of the call and before the call returns. Every progress
// starts the timeout of the call anew.
func WithProgress(f func(mcp.ProgressParams)) CallOption {
	return func(o *callOptions) { o.progress = f }
}

// WithTimeout replaces Options.Timeout for the call. A negative one is none;
// Options.MaxTimeout holds in any case.
func WithTimeout(d time.Duration) CallOption {
	return func(o *callOptions) { o.timeout = d }
}

// WithMeta sends metadata along, such as the trace context. The protocol's own
// keys are not sent.
func WithMeta(m mcp.Meta) CallOption {
	return func(o *callOptions) { o.meta = m }
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
	var o callOptions
	for _, set := range opts {
		set(&o)
	}
	return o
}
