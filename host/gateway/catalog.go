package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const (
	// maxListed bounds the features of one kind that one upstream can bring.
	maxListed = 10_000
	// listTimeout is how long an upstream may take for one page of a list.
	listTimeout = 30 * time.Second
)

// catalog is what an upstream has, as it was listed last.
type catalog struct {
	tools     []mcp.Tool
	resources []mcp.Resource
	templates []mcp.ResourceTemplate
	prompts   []mcp.Prompt
	completes bool     // arguments of prompts and templates
	omitted   []string // what could not be listed, and why

	kept     []mcp.Tool      // the tools whose definition is approved
	withheld []host.Withheld // the others
}

// list reads the catalog. A list that the upstream does not give leaves the
// others as they are, and is told in omitted. The loss of the connection is an
// error.
func list(ctx context.Context, c *mcpclient.Client) (*catalog, error) {
	cat := catalog{completes: c.Capabilities().Completions != nil || c.Revision() == mcp.V20241105}
	var lost error
	note := func(kind string, failed error) {
		if failed == nil {
			return
		}
		cat.omitted = append(cat.omitted, fmt.Sprintf("%s: %v", kind, failed))
		if _, ok := errors.AsType[*mcpclient.LostError](failed); ok || ctx.Err() != nil {
			lost = failed
		}
	}
	patience := mcpclient.WithTimeout(listTimeout)
	var failed error
	cat.tools, failed = gather(c.Tools(ctx, patience))
	note("tools", failed)
	cat.resources, failed = gather(c.Resources(ctx, patience))
	note("resources", failed)
	cat.templates, failed = gather(c.Templates(ctx, patience))
	note("resource templates", failed)
	cat.prompts, failed = gather(c.Prompts(ctx, patience))
	note("prompts", failed)
	return &cat, lost
}

// gather takes a whole list. A server that declares a kind of feature and does
// not know the method to list it has none; that is common with templates.
func gather[T any](items iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for item, err := range items {
		switch {
		case mcp.CodeOf(err) == mcp.CodeMethodNotFound:
			return all, nil
		case err != nil:
			return nil, err
		case len(all) == maxListed:
			return all, fmt.Errorf("more than %d; the rest is left out", maxListed)
		}
		all = append(all, item)
	}
	return all, nil
}
