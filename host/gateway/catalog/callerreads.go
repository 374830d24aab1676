package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// callerReads reads the features of an upstream that only some callers see.
type callerReads struct{ *Source }

// newFeatures returns the listed features that are not among the known ones. The same rules and
// approvals apply to them as to all features. l says who sees them. before are those that were read
// last, or nil. Requests for them use the connection on; nil stands for any connection of their
// caller.
func (s callerReads) newFeatures(ctx context.Context, listed, known *Catalog, before *callerFeatures, l host.Listing, on *link.Conn) (*callerFeatures, error) {
	var size callerFeatureSize
	c := &callerFeatures{
		set:     s.set.server.NewFeatureSet(),
		on:      on,
		listing: l,
		found: &Catalog{
			version:   listed.version,
			unread:    listed.unread,
			tools:     missing(listed.tools, known.tools, func(t *mcp.Tool) string { return t.Name }, &size),
			prompts:   missing(listed.prompts, known.prompts, func(p *mcp.Prompt) string { return p.Name }, &size),
			resources: missing(listed.resources, known.resources, func(r *mcp.Resource) string { return r.URI }, &size),
			templates: missing(listed.templates, known.templates, func(t *mcp.ResourceTemplate) string { return t.URITemplate }, &size),
		},
	}
	c.bytes = size.bytes
	if size.left > 0 {
		s.Log.Warn("features for some callers are left out", "number", size.left, "limit", maxCallerFeatures, "limit bytes", maxCallerFeatureBytes)
	}
	if err := s.filter(ctx, c.found, l); err != nil {
		return nil, err
	}
	s.recordFiltered(before.catalog().admitted, c.found.admitted)
	c.claimResources(before, &s.set.claimOrder)
	s.fillSet(c, on)
	return c, nil
}

// fillSet adds the features that were found to the set, except those that the server refuses.
func (s callerReads) fillSet(c *callerFeatures, on *link.Conn) {
	p, omitted, imitates := s.presenter, make(omissions), s.imitations.searchFor(s.set.otherKeys(s.Key))
	note := func(err error) {
		if err != nil {
			omitted.add(s.Key, "%v", err)
		}
	}
	holder := func(uri string) string {
		if offer, ok := s.set.merger.offer(uri); ok && offer.since < c.claims[mcpserver.NormalizeURI(uri)] {
			return offer.key
		}
		return s.Key
	}
	for _, t := range c.found.admitted.Tools {
		if entry, ok := p.toolEntry(t, holder, imitates, omitted); ok {
			note(c.set.AddTool(entry.Definition, s.Handlers.Tool(entry, on), s.toolOptions()...))
		}
	}
	for _, prompt := range c.found.admitted.Prompts {
		entry := p.promptEntry(prompt, imitates, omitted)
		note(c.set.AddPrompt(entry.Definition, s.Handlers.Prompt(prompt.Name, on), s.promptOptions(prompt.Name, on)...))
	}
	for _, r := range c.found.resources {
		p.markResource(omitted, &r, imitates)
		r.URI = p.clientURI(r.URI, holder(r.URI), "resource", omitted)
		note(c.set.AddResource(r, s.set.readResource, s.resourceOptions()...))
	}
	for _, t := range c.found.admitted.Templates {
		p.markTemplate(omitted, &t, imitates)
		uriTemplate := t.URITemplate
		t.URITemplate = p.clientTemplate(uriTemplate, s.Key, omitted)
		note(c.set.AddTemplate(t, s.set.readResource, s.templateOptions(uriTemplate, on)...))
	}
	for _, text := range omitted[s.Key].all() {
		s.Log.Warn("a feature for some callers is left out, or changed", "reason", text)
	}
}

// knownFeatures returns the features that an upstream lists for a caller before its first call.
func (s callerReads) knownFeatures(c link.Capabilities) *Catalog {
	known, capable := s.Catalog(), s.capabilityLists.of(c).catalog()
	return &Catalog{
		tools:     slices.Concat(known.tools, capable.tools),
		prompts:   slices.Concat(known.prompts, capable.prompts),
		resources: slices.Concat(known.resources, capable.resources),
		templates: slices.Concat(known.templates, capable.templates),
	}
}

// initialListsOf returns the lists of the upstream that are known for callers with certain
// capabilities: what the session of such a caller lists besides was added in it.
func (s callerReads) initialListsOf(c link.Capabilities) initialLists {
	unread, read := slices.Clone(s.Catalog().unread), s.IsRead()
	if c.ForLists() != (link.Capabilities{}) {
		features := s.capabilityLists.of(c)
		if features == nil {
			return nil
		}
		unread = append(unread, features.found.unread...)
	}
	if !read {
		return nil
	}
	initial := make(initialLists)
	for kind := range new(Catalog).namesByKind() { // without names, because what is known is not listed again
		if !slices.Contains(unread, kind) {
			initial[kind] = make(map[string]bool)
		}
	}
	return initial
}

// readOwn lists the features of a caller's connection. If a list cannot be read, the
// connection keeps those that it has. A read that waits too long for others is repeated later.
func (s callerReads) readOwn(ctx context.Context, client *mcpclient.Client, c link.Caller, conn *link.Conn) (read link.FeatureRead) {
	err := s.reads.run(ctx, conn.Owner, time.After(listTimeout), func(ctx context.Context) error {
		read.Began = time.Now()
		before := s.own.of(conn)
		listed, err := readCatalog(ctx, client, before.catalog())
		if err != nil {
			return err
		}
		for _, reason := range slices.Concat(listed.errorTexts(), listed.leftOut) {
			s.Log.Warn("cannot list features of a caller's connection", "reason", reason)
		}
		now, err := s.newFeatures(ctx, listed, s.knownFeatures(c.Capabilities), before, host.Listing{Session: true, Initial: s.initialListsOf(c.Capabilities)}, conn)
		if err != nil {
			return fmt.Errorf("comparing the definitions with the approved ones: %w", err)
		}
		s.own.set(conn, now)
		read.Equal = before.changedTo(now) == changedLists{}
		return nil
	})
	switch {
	case errors.Is(err, errManyReads):
		conn.RequestRefresh()
	case err != nil:
		s.Log.Warn("cannot list the features of a caller's connection", "error", link.RecordedText(err))
	}
	return read
}

// readCapabilityFeatures connects to the upstream as a client with the capabilities, reads its
// features, and closes the connection or keeps it for a caller. It also returns the generation of the shared catalog. It waits
// for its turn before it connects: a client of the stateless era can declare all combinations of
// capabilities at once, and each connection to a program starts it.
func (s callerReads) readCapabilityFeatures(ctx context.Context, c link.Capabilities, owner mcpserver.Owner, before *callerFeatures) (now *callerFeatures, generation uint64, err error) {
	if err := s.waitForFirstStart(ctx); err != nil {
		return nil, 0, err
	}
	err = s.reads.run(ctx, owner, nil, func(ctx context.Context) error {
		conn := link.New(ctx, link.Params{Kind: link.Own, Log: s.Log}) // asks nobody
		defer conn.Close()
		limited, cancel := context.WithTimeout(ctx, listTimeout)
		defer cancel()
		client, keep, err := s.Connect(limited, c, conn)
		if err != nil {
			return err
		}
		known, listed, err := s.listForCapabilities(ctx, client)
		if err == nil {
			generation = known.generation
			now, err = s.newFeatures(ctx, listed, known, before, host.Listing{Capabilities: c.Names()}, nil)
		}
		if err == nil && keep != nil {
			keep()
		} else {
			conn.CloseClient(client)
		}
		return err
	})
	return now, generation, err
}

// waitForFirstStart waits while a program starts for the first time over the shared connection. That
// may download its packages, which another process would begin anew.
func (s callerReads) waitForFirstStart(ctx context.Context) error {
	if !s.Program || s.IsRead() {
		return nil
	}
	s.WaitForStart(ctx) // starts an idle one
	for !s.IsRead() {
		state, changed := s.Pool.SharedConn().State()
		if state != host.Starting {
			return errNotKnownYet
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// errNotKnownYet says why there is nothing with which features for capabilities can be compared.
var errNotKnownYet = errors.New("the features of the upstream are not known yet")

// listForCapabilities lists the features of the upstream. It returns them with the shared catalog, for
// which it waits. A list that could be read over the shared connection alone is an error.
func (s callerReads) listForCapabilities(ctx context.Context, client *mcpclient.Client) (known, listed *Catalog, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	if listed, err = readCatalog(ctx, client, new(Catalog)); err != nil {
		return nil, nil, err
	}
	s.WaitForStart(ctx)
	if !s.IsRead() {
		return nil, nil, errNotKnownYet
	}
	if known = s.Catalog(); len(listed.omitted) > len(known.omitted) {
		return nil, nil, errors.New(strings.Join(listed.errorTexts(), "; "))
	}
	return known, listed, nil
}
