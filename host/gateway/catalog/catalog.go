package catalog

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	// maxListed limits the features of one kind that are read from one upstream.
	maxListed = 10_000
	// listTimeout limits the time for one page of a list, and allListsTimeout that for all lists.
	listTimeout     = 30 * time.Second
	allListsTimeout = 2 * time.Minute
)

// Catalog holds the features of an upstream as they were listed last.
type Catalog struct {
	tools          []mcp.Tool
	resources      []mcp.Resource
	templates      []mcp.ResourceTemplate
	prompts        []mcp.Prompt
	hasCompletions bool // for arguments of prompts and variables of templates
	instructions   string
	resourcesRead  bool        // the list of resources is whole
	omitted        []listError // lists that could not be read to their end
	leftOut        []string    // features that exceed the limits

	read time.Time // when they were listed, or the attempt was made
	// generation changes when other tools, prompts or templates are listed. It is 0 before the first
	// read.
	generation uint64
	ages       bool          // the upstream cannot announce changes of all lists
	maxAge     time.Duration // after which lists that age are read again

	version string                // of the upstream, as it says
	unread  []host.DefinitionKind // the lists that could not be read
	initial initialLists          // of which the upstream had started with, see host.Listing
	// admitted are the definitions that clients may see. Resources are not among them.
	admitted host.Admitted
	// parsed are the admitted templates that can be used, in their order, and competing those
	// among them that answer for plain URIs, too.
	parsed, competing []*mcpserver.URITemplate
	unparsed          []string // the beginnings, up to the first variable, of those that cannot be parsed
}

// HasCompletions reports whether the upstream completes arguments of prompts and variables of templates.
func (c *Catalog) HasCompletions() bool { return c.hasCompletions }

// HasWaiting reports whether definitions wait for the approval of the user.
func (c *Catalog) HasWaiting() bool { return len(c.admitted.Waiting) > 0 }

// Instructions returns the admitted instructions of the upstream.
func (c *Catalog) Instructions() string { return c.admitted.Instructions }

// surface returns the listed definitions whose texts a model reads.
func (c *Catalog) surface() mcp.Surface {
	return mcp.Surface{Instructions: c.instructions, Tools: c.tools, Prompts: c.prompts, Templates: c.templates}
}

// readCatalog lists the features of an upstream. If one list fails, it stays as it was before,
// the others are still read and omitted says why, and how old it is. The loss of the connection is an error.
// Features beyond the limits are left out. The resources come last, because servers have most of
// them.
func readCatalog(ctx context.Context, c *mcpclient.Client, before *Catalog) (*Catalog, error) {
	cat := Catalog{
		version:        strings.Clone(host.CutText(c.Server().Version, maxOmittedName)),
		instructions:   strings.Clone(host.CutText(c.Instructions(), maxText)),
		hasCompletions: c.Capabilities().Completions != nil || !c.Revision().HasCompletionsCapability(),
	}
	var lostErr error
	note := func(kind host.DefinitionKind, failed error) {
		if failed == nil {
			return
		}
		cat.unread = append(cat.unread, kind)
		cat.omitted = append(cat.omitted, newListError(kind, failed, before))
		if _, ok := errors.AsType[*mcpclient.LostError](failed); ok || ctx.Err() != nil {
			lostErr = failed
		}
	}
	limited, cancel := context.WithTimeout(ctx, allListsTimeout)
	defer cancel()
	fresh, timeout := mcpclient.NoCache(), mcpclient.WithTimeout(listTimeout)
	budget := new(catalogBudget)
	var failed error
	cat.tools, failed = collect(c.Tools(limited, timeout, fresh), before.tools, func(t *mcp.Tool) bool { return budget.admit("tool", t.Name, t, &t.Icons) }, budget)
	note(host.KindTool, failed)
	cat.prompts, failed = collect(c.Prompts(limited, timeout, fresh), before.prompts, func(p *mcp.Prompt) bool { return budget.admit("prompt", p.Name, p, &p.Icons) }, budget)
	note(host.KindPrompt, failed)
	cat.templates, failed = collect(c.Templates(limited, timeout, fresh), before.templates, func(t *mcp.ResourceTemplate) bool {
		return budget.admit("resource template", t.URITemplate, t, &t.Icons)
	}, budget)
	note(host.KindTemplate, failed)
	cat.resources, failed = collect(c.Resources(limited, timeout, fresh), before.resources, func(r *mcp.Resource) bool { return budget.admit("resource", r.URI, r, &r.Icons) }, budget)
	note("resource", failed)
	cat.resourcesRead = failed == nil
	cat.leftOut = budget.leftOut.all()
	cat.fillIn()
	return &cat, lostErr
}

// collect reads all pages of a list, and keeps the items that are admitted. Method not found
// means an empty list: servers often declare resources without resources/templates/list. A list
// that fails is the one before.
func collect[T any](items iter.Seq2[T, error], before []T, admit func(*T) bool, budget *catalogBudget) ([]T, error) {
	var all []T
	kept := budget.kept
	if budget.exhausted() {
		return all, errListedTooMuch
	}
	for item, err := range items {
		switch {
		case mcp.CodeOf(err) == mcp.CodeMethodNotFound:
			return all, nil
		case err != nil:
			budget.kept = kept
			return admitted(before, admit), err
		case len(all) == maxListed:
			return all, errListTooLong
		case admit(&item):
			all = append(all, item)
		case budget.exhausted():
			return all, errListedTooMuch
		}
	}
	return all, nil
}

// admitted returns the items of a list that are admitted.
func admitted[T any](list []T, admit func(*T) bool) (all []T) {
	for _, item := range list {
		if admit(&item) {
			all = append(all, item)
		}
	}
	return all
}

// lists reports whether two catalogs list the same features. Resources do not count: in many
// servers they change all the time, and each read for capabilities may start a process.
func (c *Catalog) lists(other *Catalog) bool {
	return c == other || equalDefs(c.tools, other.tools) && equalDefs(c.prompts, other.prompts) && equalDefs(c.templates, other.templates)
}

// equalDefs reports whether two lists are equal, which is fast for a list and itself.
func equalDefs[Def any](a, b []Def) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0] || reflect.DeepEqual(a, b))
}
