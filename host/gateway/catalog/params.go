package catalog

import (
	"context"
	"log/slog"
	"reflect"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// SourceParams are the parameters of a Source.
type SourceParams struct {
	*host.Upstream
	Pool     *link.Pool
	Handlers Handlers
	// Filter returns which listed definitions clients may see. It gets the tools of the other upstreams
	// if FiltersAll is set.
	Filter     func(context.Context, host.Listing) (host.Admitted, error)
	FiltersAll bool
	// Record records that definitions are withheld, or that there are findings in them.
	Record func(host.Decision, error)
	// Connect makes a connection that declares certain capabilities and serves no call. keep is called
	// instead of Conn.CloseClient once the features were read; it may be nil.
	Connect func(context.Context, link.Capabilities, *link.Conn) (client *mcpclient.Client, keep func(), err error)
	// Program says that each connection starts the upstream once more, with lists of its own.
	Program bool
	// HasOwnFeatures reports whether the connection of a caller may have features that the shared one
	// lacks.
	HasOwnFeatures func() bool
	// IsStarting reports whether the upstream still starts for the first time, together with the
	// gateway.
	IsStarting func() bool
	// WaitForStart starts an idle upstream whose lists were not read yet, and waits until it has
	// started.
	WaitForStart func(context.Context)
	// Wait limits how long requests wait for a read of lists for certain capabilities.
	Wait time.Duration
	Log  *slog.Logger
}

// Handlers handle the requests for the features of one upstream, over a connection; nil stands for
// one that serves the caller.
type Handlers struct {
	Tool            func(Entry[mcp.Tool], *link.Conn) mcpserver.ToolHandler
	Prompt          func(name string, on *link.Conn) mcpserver.PromptHandler
	PromptOptions   func(name string, on *link.Conn) []mcpserver.PromptOption
	TemplateOptions func(uriTemplate string, on *link.Conn) []mcpserver.ResourceOption
}

// Entry is a feature as clients see it, and the upstream that has it.
type Entry[Def any] struct {
	source       *SourceParams
	UpstreamName string // the name at the upstream
	Definition   Def
	// Listed is the definition of a tool as the upstream has it, to which consent is bound.
	Listed Def
	// Verdict says whether calls of a tool need consent.
	Verdict host.Verdict
}

// equal reports whether two entries stand for the same feature, and need consent to the same.
func (e Entry[Def]) equal(other Entry[Def]) bool {
	return e.source == other.source && e.Verdict == other.Verdict && reflect.DeepEqual(e.Definition, other.Definition) &&
		(e.Verdict != host.Confirm || reflect.DeepEqual(e.Listed, other.Listed))
}
