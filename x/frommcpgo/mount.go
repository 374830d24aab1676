package frommcpgo

import (
	"context"
	"fmt"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// Options are the options of Mount and NewServer. The zero value and nil mean the defaults.
type Options struct {
	// Features are the options of each feature, such as mcpserver.Scopes. Default: none.
	Features []mcpserver.Option
	// Context changes the context of each request that the other server handles, as the
	// context functions of the transports of mcp-go do. The request has the header and the
	// identity of its client. Default: the context of the request.
	Context func(ctx context.Context, r *mcpserver.Request) context.Context
	// ValidateArguments validates the arguments of each tool against its input schema before
	// the other server gets them. Default: they are left to the other server, as for its own
	// clients; mcp-go validates none, unless its server has
	// WithInputSchemaValidation.
	ValidateArguments bool
	// OnError is called when a later change of the other server cannot be registered, once at a
	// time. The feature is left out. Default: such errors are ignored.
	OnError func(error)
}

// Mount registers the tools, prompts, resources and resource templates of a server of mcp-go
// in a server, and keeps them the same when the other server changes, if that notifies of
// changes. The other server is not changed.
//
// The lists are those that the other server shows to an anonymous client that can answer elicitation
// and sampling; every client sees the same. Options such as mcpserver.Visible and
// mcpserver.Scopes restrict them. Tools and resources of a single session and tasks are not
// served.
//
// Mount returns an error if the server has a feature of the same name or URI already, or if a
// feature cannot be registered. It has registered none then.
//
// unmount removes the features and ends all sessions of the other server. Call it once.
func Mount(server *mcpserver.Server, other *mcpgo.MCPServer, o *Options) (unmount func(), err error) {
	unmount, err = mirror.Mount(server, newForeign(other, o), o.mirrored())
	if err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	return unmount, nil
}

// NewServer returns a server with all features of a server of mcp-go, and with its name,
// version, title and instructions, unless the options of the server have others. Both
// options may be nil. What it returns is served as any other server, such as by
// mcpserver.Main. It is for a server that lasts as long as the program: the other server is
// never unmounted.
func NewServer(other *mcpgo.MCPServer, server *mcpserver.Options, o *Options) (*mcpserver.Server, error) {
	mounted, err := mirror.NewServer(newForeign(other, o), server, o.mirrored())
	if err != nil {
		return nil, fmt.Errorf("server of mcp-go: %w", err)
	}
	return mounted, nil
}

func newForeign(other *mcpgo.MCPServer, o *Options) *foreign {
	if o == nil {
		return &foreign{other: other}
	}
	return &foreign{other: other, context: o.Context}
}

func (o *Options) mirrored() mirror.Options {
	if o == nil {
		return mirror.Options{}
	}
	return mirror.Options{Features: o.Features, ValidateArguments: o.ValidateArguments, OnError: o.OnError}
}
