package mcpware

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// SpillOptions are the options of Spill. Nil gives the defaults.
type SpillOptions struct {
	// MaxResult is up to how many bytes of JSON a result is sent whole. Default: 64
	// KiB.
	MaxResult int
	// MaxKept bounds the results that are kept, each of at most 4 MiB. Default: 64.
	MaxKept int
	// TTL is for how long one is kept that nobody reads. Default: 30 minutes.
	TTL time.Duration
}

func (o *SpillOptions) orZero() *SpillOptions {
	if o == nil {
		return new(SpillOptions)
	}
	return o
}

func (o *SpillOptions) maxResult() int { return cmp.Or(o.orZero().MaxResult, 64<<10) }

// handles are the options of what is kept: a principal may have a quarter of it.
func (o *SpillOptions) handles() *mcpserver.HandlesOptions {
	most := cmp.Or(o.orZero().MaxKept, 64)
	return &mcpserver.HandlesOptions{
		Idle: cmp.Or(o.orZero().TTL, 30*time.Minute), MaxSize: 4 << 20, Max: most, MaxPerPrincipal: max(most/4, 1),
	}
}

// spillScheme begins the URIs of results.
const spillScheme = "result://"

// Spill caps the results of a server's tools. One that is too large is kept in the
// process, and what is sent is a link to a resource of the form result://{id} from which
// its JSON can be read, by the same principal alone; the structured content is left out,
// so it is for tools without an output schema. When there is no room to keep it, or it is
// larger than 4 MiB, the model is told that the result is too large. Spill registers the
// template of the resources; the middleware it returns is for Use. It panics when the
// server serves that template already.
func Spill(s *mcpserver.Server, o *SpillOptions) mcpserver.Middleware {
	o = new(*o.orZero())
	kept := mcpserver.NewHandles[mcp.CallToolResult](o.handles())
	s.AddTemplate(mcp.ResourceTemplate{
		Name: "result", URITemplate: spillScheme + "{id}", MIMEType: mimeJSON,
		Description: "The result of a call that was too large to be sent",
	}, readSpilled(kept))
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			result, err := next(ctx, r)
			whole, ok := result.(*mcp.CallToolResult)
			if r.Outbound || r.Method != mcp.MethodToolsCall || err != nil || !ok || whole == nil {
				return result, err
			}
			return spill(ctx, kept, whole, o.maxResult())
		}
	}
}

const mimeJSON = "application/json"

// spill returns a result that is small enough.
func spill(ctx context.Context, kept *mcpserver.Handles[mcp.CallToolResult], whole *mcp.CallToolResult, most int) (*mcp.CallToolResult, error) {
	raw, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("measure the result: %w", err)
	}
	if len(raw) <= most {
		return whole, nil
	}
	id, err := kept.New(ctx, *whole)
	if err != nil {
		text := mcp.Textf("The result is too large: %d bytes of %d. Ask for less.", len(raw), most)
		return &mcp.CallToolResult{Content: mcp.Contents{text}, IsError: true}, nil
	}
	return &mcp.CallToolResult{
		Content: mcp.Contents{
			mcp.Textf("The result is too large to be sent: %d bytes of %d. It can be read as a resource.", len(raw), most),
			mcp.ResourceLink{Resource: mcp.Resource{URI: spillScheme + id, Name: id, MIMEType: mimeJSON, Size: new(int64(len(raw)))}},
		},
		IsError: whole.IsError,
	}, nil
}

// readSpilled reads the resource of a result.
func readSpilled(kept *mcpserver.Handles[mcp.CallToolResult]) mcpserver.ResourceHandler {
	return func(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
		whole, err := kept.Get(ctx, p.URI[len(spillScheme):])
		if errors.Is(err, mcpserver.ErrUnknownHandle) {
			return nil, mcp.Errorf(mcp.CodeResourceNotFound, "resource %q: not found", p.URI)
		}
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(whole)
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, MIMEType: mimeJSON, Text: string(raw)}}}, nil
	}
}
