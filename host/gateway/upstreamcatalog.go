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
	// maxListed limits the features of one kind that are read from one upstream.
	maxListed = 10_000
	// listTimeout limits the time for one page of a list.
	listTimeout = 30 * time.Second
)

// catalog holds the features of an upstream as they were listed last.
type catalog struct {
	tools          []mcp.Tool
	resources      []mcp.Resource
	templates      []mcp.ResourceTemplate
	prompts        []mcp.Prompt
	hasCompletions bool // for arguments of prompts and variables of templates
	instructions   string
	omitted        []string // what could not be listed, and why

	read   time.Time     // when they were listed
	ages   bool          // the upstream cannot announce changes of all lists
	maxAge time.Duration // after which lists that age are read again

	approved []mcp.Tool      // tools whose definition is approved
	withheld []host.Withheld // tools whose definition needs approval
}

// readCatalog lists the features of an upstream. If one list fails, it stays as it was before,
// the others are still read and omitted has the reason. The loss of the connection is an error.
func readCatalog(ctx context.Context, c *mcpclient.Client, before *catalog) (*catalog, error) {
	cat := catalog{instructions: c.Instructions(), hasCompletions: c.Capabilities().Completions != nil || c.Revision() == mcp.V20241105}
	var lostErr error
	note := func(kind string, failed error) {
		if failed == nil {
			return
		}
		cat.omitted = append(cat.omitted, fmt.Sprintf("%s: %v", kind, failed))
		if _, ok := errors.AsType[*mcpclient.LostError](failed); ok || ctx.Err() != nil {
			lostErr = failed
		}
	}
	fresh, timeout := mcpclient.NoCache(), mcpclient.WithTimeout(listTimeout)
	var failed error
	cat.tools, failed = collect(c.Tools(ctx, timeout, fresh), before.tools)
	note("tools", failed)
	cat.resources, failed = collect(c.Resources(ctx, timeout, fresh), before.resources)
	note("resources", failed)
	cat.templates, failed = collect(c.Templates(ctx, timeout, fresh), before.templates)
	note("resource templates", failed)
	cat.prompts, failed = collect(c.Prompts(ctx, timeout, fresh), before.prompts)
	note("prompts", failed)
	cat.fillIn()
	return &cat, lostErr
}

// collect reads all pages of a list. Method not found means an empty list: servers often
// declare resources without resources/templates/list. A list that fails is the one before.
func collect[T any](items iter.Seq2[T, error], before []T) ([]T, error) {
	var all []T
	for item, err := range items {
		switch {
		case mcp.CodeOf(err) == mcp.CodeMethodNotFound:
			return all, nil
		case err != nil:
			return before, err
		case len(all) == maxListed:
			return all, fmt.Errorf("more than %d; the rest is left out", maxListed)
		}
		all = append(all, item)
	}
	return all, nil
}
