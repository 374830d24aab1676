package mcpware

import (
	"cmp"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpext/handles"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// LargeResultOptions are the options of StoreLargeResults. Nil gives the defaults.
type LargeResultOptions struct {
	// MaxResult is the maximum size of a result that is sent unchanged, in
	// bytes of JSON without its structured content. Default: 64 KiB.
	MaxResult int
	// MaxKept is the maximum number of stored pieces of 700 KiB; a smaller result is one piece. A
	// principal may have a quarter of them. Default: 64.
	MaxKept int
	// TTL is how long a result is stored after its last use. Default: 30
	// minutes.
	TTL time.Duration
}

// Limits of stored results. A piece is stored as Base64, which must fit into a value of the Store.
const (
	maxStored = 4 << 20
	pieceSize = 700 << 10
	pieceJSON = 1_000_000
)

func (o *LargeResultOptions) orZero() *LargeResultOptions {
	if o == nil {
		return new(LargeResultOptions)
	}
	return o
}

func (o *LargeResultOptions) maxResult() int { return cmp.Or(o.orZero().MaxResult, 64<<10) }

// kept are the options of the handles of stored pieces.
func (o *LargeResultOptions) kept() *handles.Options {
	maxKept := cmp.Or(o.orZero().MaxKept, 64)
	return &handles.Options{
		Prefix: "result_", Idle: cmp.Or(o.orZero().TTL, 30*time.Minute), MaxSize: pieceJSON, Max: maxKept, MaxPerPrincipal: max(maxKept/4, 1),
	}
}

// piece is a part of the JSON of a result.
type piece struct {
	Data []byte `json:"data"`
	Next string `json:"next,omitzero"` // the handle of the part behind it
}

// resultScheme is the scheme of the URIs of results.
const resultScheme = "result://"

// StoreLargeResults returns middleware that limits the size of the content of tool results. If a
// result is too large, its content is replaced by a link to a resource of the form result://{id},
// from which only the same principal can read the whole result as JSON. Structured content is sent
// unchanged, because clients validate it with the output schema of the tool. If the result is
// larger than 4 MiB, or there are too many results, the model gets an error.
//
// Results are stored in the Store of the server, so every replica can read them. StoreLargeResults
// registers the template of the resources; pass the middleware it returns to Server.Use. It panics
// if the server has that template already.
func StoreLargeResults(s *mcpserver.Server, o *LargeResultOptions) mcpserver.Middleware {
	o = new(*o.orZero())
	kept := handles.New[piece](o.kept())
	s.AddTemplate(mcp.ResourceTemplate{
		Name: "result", URITemplate: resultScheme + "{id}", MIMEType: mimeJSON,
		Description: "The result of a call that was too large to be sent",
	}, readStored(kept))
	return func(next mcpserver.Handler) mcpserver.Handler {
		return func(ctx context.Context, r *mcpserver.Request) (any, error) {
			result, err := next(ctx, r)
			whole, ok := result.(*mcp.CallToolResult)
			if r.Outbound() || r.Method() != mcp.MethodToolsCall || err != nil || !ok || whole == nil {
				return result, err
			}
			return storeLarge(ctx, kept, whole, o.maxResult())
		}
	}
}

const mimeJSON = "application/json"

// storeLarge returns the result, or one with a link if its content is too large.
func storeLarge(ctx context.Context, kept *handles.Handles[piece], whole *mcp.CallToolResult, maxResult int) (*mcp.CallToolResult, error) {
	raw, err := json.Marshal(whole)
	if err != nil {
		return nil, fmt.Errorf("measure the result: %w", err)
	}
	size := len(raw) - len(whole.StructuredContent)
	if size <= maxResult {
		return whole, nil
	}
	id, err := keep(ctx, kept, raw)
	if err != nil {
		text := mcp.Textf("The result is too large: %d bytes, the limit is %d. Ask for less.", size, maxResult)
		return &mcp.CallToolResult{Content: mcp.Contents{text}, IsError: true}, nil
	}
	short := *whole
	short.Content = mcp.Contents{
		mcp.Textf("The result is too large to be sent: %d bytes, the limit is %d. It can be read as a resource.", size, maxResult),
		mcp.ResourceLink{Resource: mcp.Resource{URI: resultScheme + id, Name: id, MIMEType: mimeJSON, Size: new(int64(len(raw)))}},
	}
	return &short, nil
}

// keep stores the JSON of a result, the last piece first, and returns the handle of the first one.
// It stores all pieces or none.
func keep(ctx context.Context, kept *handles.Handles[piece], raw []byte) (id string, err error) {
	if len(raw) > maxStored {
		return "", handles.ErrNoRoom
	}
	var made []string
	for start := (len(raw) - 1) / pieceSize * pieceSize; start >= 0; start -= pieceSize {
		id, err = kept.New(ctx, piece{Data: raw[start:min(start+pieceSize, len(raw))], Next: id})
		if err != nil {
			for _, id := range made {
				_, _ = kept.Delete(ctx, id)
			}
			return "", err
		}
		made = append(made, id)
	}
	return id, nil
}

// readStored reads the resource of a result.
func readStored(kept *handles.Handles[piece]) mcpserver.ResourceHandler {
	return func(ctx context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
		var raw []byte
		for id := p.URI[len(resultScheme):]; id != "" && len(raw) <= maxStored; {
			part, err := kept.Get(ctx, id)
			if errors.Is(err, handles.ErrUnknown) {
				return nil, mcp.Errorf(mcp.CodeResourceNotFound, "resource %q: not found", p.URI)
			}
			if err != nil {
				return nil, err
			}
			raw, id = append(raw, part.Data...), part.Next
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, MIMEType: mimeJSON, Text: string(raw)}}}, nil
	}
}
