package catalog

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Source is what one upstream offers, and to whom. It is safe for concurrent use.
type Source struct {
	SourceParams
	set             *Set
	presenter       presenter
	ttl             listTTL
	unknownNames    unknownNames
	imitations      imitations
	reads           listReads // for certain callers
	own             ownFeatures
	capabilityLists capabilityLists
	initial         initialLists // only the goroutine of the shared connection uses it

	mu            sync.Mutex // guards the fields below
	catalog       *Catalog   // never nil; a catalog is not changed after it was set
	read          bool       // at least once
	withdrawn     bool       // its features are not registered for now
	notRegistered []string   // features that could not be registered, and why
	visibleTools  []mcp.Tool // as clients see them
}

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
	// Connect makes a connection that declares certain capabilities and serves no call.
	Connect func(context.Context, link.Capabilities, *link.Conn) (*mcpclient.Client, error)
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

// NewSource returns a source that is not in the set yet, see Set.Replace.
func (set *Set) NewSource(p SourceParams) *Source {
	s := &Source{
		SourceParams: p,
		set:          set,
		presenter:    presenter{p.Key, p.Settings.Rules},
		unknownNames: newUnknownNames(),
		reads:        newListReads(),
		own:          newOwnFeatures(),
		catalog:      new(Catalog),
	}
	s.unknownNames.source, s.own.source, s.capabilityLists.source = s, s, s
	return s
}

// Refresh lists the features of the upstream over its shared connection, and registers them. started
// reports whether the upstream has just started.
func (s *Source) Refresh(ctx context.Context, client *mcpclient.Client, started func() bool) error {
	s.ttl.reset()
	cat, err := readCatalog(ctx, client, new(Catalog))
	if err != nil {
		return err
	}
	cat.read = time.Now()
	cat.maxAge, cat.ages = s.ttl.maxAge(s.Target, client)
	if err := s.filter(ctx, cat, host.Listing{Initial: s.initial.next(cat, started())}); err != nil {
		return err
	}
	s.findImitations(cat, s.set.otherKeys(s))
	s.mu.Lock()
	before := s.catalog
	cat.generation = before.generation
	if !cat.lists(before) || !s.read {
		cat.generation++
	}
	s.catalog, s.read = cat, true
	s.mu.Unlock()
	s.recordFiltered(before.admitted, cat.admitted)
	s.set.Merge()
	s.imitations.forgetCatalog(before)
	if !cat.lists(before) || !equalDefs(cat.resources, before.resources) {
		s.own.requestReads()
	}
	return nil
}

// RecordAges is middleware of the client of the shared connection. It records how long lists may be kept.
func (s *Source) RecordAges(next mcpclient.Handler) mcpclient.Handler { return s.ttl.record(next) }

// Catalog returns the features that were listed last.
func (s *Source) Catalog() *Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catalog
}

// IsRead reports whether the features are known.
func (s *Source) IsRead() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read
}

// Visible returns the features for clients: none while the upstream is withdrawn.
func (s *Source) Visible() *Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.withdrawn {
		return new(Catalog)
	}
	return s.catalog
}

// Withdraw makes the set register no features of the upstream for now, or register them again.
func (s *Source) Withdraw(withdrawn bool) {
	s.mu.Lock()
	changed := s.withdrawn != withdrawn
	s.withdrawn = withdrawn
	s.mu.Unlock()
	if changed {
		s.set.Merge()
	}
}

func (s *Source) isWithdrawn() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.withdrawn
}

// setMerged stores which features of the upstream are registered after a merge.
func (s *Source) setMerged(now *mergedCatalog, notRegistered []string) {
	var offered []mcp.Tool
	for _, t := range s.Visible().admitted.Tools {
		if entry, ok := now.tools[host.WireName(s.Key, t.Name)]; ok && entry.Source == s && entry.UpstreamName == t.Name {
			offered = append(offered, entry.Definition)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notRegistered, s.visibleTools = notRegistered, offered
}

// Tools returns the tools of the upstream that clients see now.
func (s *Source) Tools() []mcp.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visibleTools
}

// FillStatus sets the fields of a status that describe features.
func (s *Source) FillStatus(status *host.Status) {
	s.mu.Lock()
	cat, notRegistered := s.catalog, s.notRegistered
	s.mu.Unlock()
	status.Omitted = slices.Concat(cat.omitted, cat.leftOut, notRegistered)
	waiting := slices.Concat(cat.admitted.Waiting, s.callerWaiting(cat))
	status.Waiting, status.WaitingCount = waiting[:min(len(waiting), host.MaxWaiting)], len(waiting)
	for i := range cat.tools {
		if t := &cat.tools[i]; s.Settings.Rules.Verdict(t) == host.Deny {
			status.Denied = append(status.Denied, t.Name)
		}
	}
	status.Tools, status.Prompts = len(cat.admitted.Tools), len(cat.admitted.Prompts)
	status.Resources, status.Templates = len(cat.resources), len(cat.admitted.Templates)
}

// IsOld reports whether the lists are to be read again before they are shown.
func (s *Source) IsOld() bool { return s.Catalog().tooOld() }

// ReadOnlyTools returns the fingerprints of the tools that claim to be read-only and that
// everybody can call.
func (s *Source) ReadOnlyTools() map[string]mcp.Fingerprint {
	all := make(map[string]mcp.Fingerprint)
	for _, t := range s.Visible().admitted.Tools {
		if !t.Annotations.ReadOnly() || s.Settings.Rules.Verdict(&t) == host.Deny {
			continue
		}
		if fingerprint, err := t.Fingerprint(); err == nil {
			all[t.Name] = fingerprint
		}
	}
	return all
}

// StillOffers reports whether a caller can call a tool now, as it is defined in entry.
func (s *Source) StillOffers(c link.Caller, entry Entry[mcp.Tool]) bool {
	asked, err := entry.Listed.Fingerprint()
	same := func(t mcp.Tool) bool {
		if t.Name != entry.UpstreamName {
			return false
		}
		now, nowErr := t.Fingerprint()
		return err == nil && nowErr == nil && now == asked
	}
	for _, cat := range append(s.callerCatalogs(c), s.Visible()) {
		if slices.ContainsFunc(cat.admitted.Tools, same) {
			return true
		}
	}
	return false
}

// HiddenTool returns the upstream's name of the tool with the given wire name that is denied
// or withheld from a caller, and the outcome of its calls. The name is empty if there is no
// such tool.
func (s *Source) HiddenTool(c link.Caller, wire string) (name string, outcome host.Outcome) {
	if name, outcome = s.hiddenToolIn(s.Catalog(), wire); name != "" {
		return name, outcome
	}
	return s.hiddenCallerTool(c, wire)
}

// hiddenToolIn is HiddenTool for the tools of one catalog.
func (s *Source) hiddenToolIn(cat *Catalog, wire string) (name string, outcome host.Outcome) {
	for i := range cat.tools {
		t := &cat.tools[i]
		switch {
		case host.WireName(s.Key, t.Name) != wire:
		case s.Settings.Rules.Verdict(t) == host.Deny:
			return t.Name, host.OutcomeDenied
		case !slices.ContainsFunc(cat.admitted.Tools, func(a mcp.Tool) bool { return a.Name == t.Name }):
			return t.Name, host.OutcomeWithheld
		}
	}
	return "", ""
}

// hiddenCallerTool is HiddenTool for the tools of one caller.
func (s *Source) hiddenCallerTool(c link.Caller, wire string) (name string, outcome host.Outcome) {
	for _, cat := range s.callerCatalogs(c) {
		if name, outcome = s.hiddenToolIn(cat, wire); name != "" {
			return name, outcome
		}
	}
	return "", ""
}
