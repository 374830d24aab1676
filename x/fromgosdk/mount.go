package fromgosdk

import (
	"fmt"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options are the options of Mount and NewServer. The zero value and nil mean the defaults.
type Options struct {
	// Features are the options of each feature, such as mcpserver.Scopes. Default: none.
	Features []mcpserver.Option
	// InputRequests gives handlers a session of 2026-07-28 for each request of the stateless
	// era. Set it for a server whose handlers return InputRequests there: its questions are
	// sent to the client, and it gets the answers in the next round. The requests that
	// handlers send to such a session fail, as they do in go-sdk. Default: every session is
	// one of 2025-11-25, and handlers can send requests in both eras.
	InputRequests bool
	// ValidateArguments validates the arguments of each tool against its input schema before
	// the other server gets them. Default: they are left to the other server, as for its own
	// clients; go-sdk validates those of typed handlers itself.
	ValidateArguments bool
	// OnError is called when a later change of the other server cannot be registered, once at a
	// time. The feature is left out. Default: such errors are ignored.
	OnError func(error)
}

// Mount registers the tools, prompts, resources and resource templates of a server of go-sdk
// in a server, and keeps them the same when the other server changes. The other server may
// have middleware and any options. It is not changed, except that each Mount adds one
// receiving middleware to it.
//
// The lists are those that the other server shows to an anonymous client that can answer elicitation
// and sampling; every client sees the same. Options such as mcpserver.Visible and
// mcpserver.Scopes restrict them.
//
// Mount returns an error if the server has a feature of the same name or URI already, or if a
// feature cannot be registered. It has registered none then.
//
// unmount removes the features and closes all sessions of the other server. It waits for the
// calls that run in them. Call it once.
func Mount(server *mcpserver.Server, other *gosdk.Server, o *Options) (unmount func(), err error) {
	unmount, err = mirror.Mount(server, newForeign(other), o.mirrored())
	if err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	return unmount, nil
}

// NewServer returns a server with all features of a server of go-sdk, and with its name,
// version, title and instructions, unless the options of the server have others. Both
// options may be nil. What it returns is served as any other server, such as by
// mcpserver.Main. It is for a server that lasts as long as the program: the other server is
// never unmounted.
func NewServer(other *gosdk.Server, server *mcpserver.Options, o *Options) (*mcpserver.Server, error) {
	mounted, err := mirror.NewServer(newForeign(other), server, o.mirrored())
	if err != nil {
		return nil, fmt.Errorf("server of go-sdk: %w", err)
	}
	return mounted, nil
}

func (o *Options) mirrored() mirror.Options {
	if o == nil {
		return mirror.Options{}
	}
	return mirror.Options{Features: o.Features, ValidateArguments: o.ValidateArguments, InputRequired: o.InputRequests, OnError: o.OnError}
}
