package catalog

import (
	"context"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// NewSource returns a source that is not in the set yet, see Set.Add.
func (set *Set) NewSource(p SourceParams) *Source {
	s := &Source{
		SourceParams: p,
		sharedLists:  sharedLists{catalog: new(Catalog)},
		set:          set,
		unknownNames: newUnknownNames(),
		reads:        newListReads(),
		own:          newOwnFeatures(p.Log),
	}
	s.presenter = presenter{&s.SourceParams}
	s.capabilityLists = capabilityLists{
		SourceParams: &s.SourceParams,
		readFeatures: callerReads{s}.readCapabilityFeatures,
		again:        func(c link.Capabilities, owner mcpserver.Owner) { s.readCapabilityList(c, owner, false) },
		notify:       func(c link.Capabilities, changed changedLists) { changed.notifyClients(set.server, c) },
	}
	return s
}

// Refresh lists the features of the upstream over its shared connection, and registers them. A list that
// fails stays as it was, and is read again after a pause. started reports whether the upstream has just
// started. It returns whether the features are those that were listed before.
func (s *Source) Refresh(ctx context.Context, client *mcpclient.Client, started func() bool) (equal bool, err error) {
	s.ttl.reset()
	cat, err := readCatalog(ctx, client, s.Catalog())
	if err != nil {
		return false, err
	}
	s.retry.schedule(s.Pool, cat.hasFailed(), func() { s.Pool.SharedConn().RequestRefresh() })
	cat.read = time.Now()
	cat.maxAge, cat.ages = s.ttl.maxAge(s.Target, client)
	if err := s.filter(ctx, cat, host.Listing{Initial: s.initial.next(cat, started())}); err != nil {
		return false, err
	}
	s.findImitations(cat, s.set.otherKeys(s.Key))
	before := s.replace(cat)
	s.recordFiltered(before.admitted, cat.admitted)
	s.set.Merge()
	s.imitations.forgetCatalog(before)
	changed := !cat.lists(before) || !equalDefs(cat.resources, before.resources)
	if changed && !s.Program { // whose connections have lists of their own
		s.own.requestReads()
	}
	return !changed, nil
}

// ReadOwn lists the features of a caller's connection.
func (s *Source) ReadOwn(ctx context.Context, client *mcpclient.Client, c link.Caller, conn *link.Conn) link.FeatureRead {
	return callerReads{s}.readOwn(ctx, client, c, conn)
}

// DropOwn removes the features of a caller's connection that was lost.
func (s *Source) DropOwn(conn *link.Conn) { s.own.drop(conn) }

// ReadCapabilityList reads the features for callers with certain capabilities unless they are
// known, also while the upstream starts. The read counts to the owner. It returns a read for which to
// wait, or nil.
func (s *Source) ReadCapabilityList(c link.Capabilities, owner mcpserver.Owner) *ListRead {
	return s.readCapabilityList(c, owner, true)
}

// readCapabilityList is ReadCapabilityList for a request, or for a repetition of a failed read.
func (s *Source) readCapabilityList(c link.Capabilities, owner mcpserver.Owner, request bool) *ListRead {
	if s.Settings.Share || c.ForLists() == (link.Capabilities{}) || s.isWithdrawn() {
		return nil
	}
	if state, _ := s.Pool.SharedConn().State(); !state.ReadsLists() {
		return nil
	}
	return s.capabilityLists.begin(c, owner, s.Catalog(), request)
}

// Refilter filters the definitions again, after an approval.
func (s *Source) Refilter() {
	s.refilterCatalog()
	s.set.Merge()
	s.capabilityLists.refilter(s.refiltered)
	s.own.refilter(s.refiltered)
}

// refilterCatalog filters the last catalog again.
func (s *Source) refilterCatalog() {
	before := s.Catalog()
	if before.read.IsZero() {
		return
	}
	now := *before
	if err := s.filter(s.Pool.Context(), &now, host.Listing{Initial: before.initial}); err != nil {
		s.Log.Error("cannot compare the definitions with the approved ones", "error", err)
		return
	}
	s.findImitations(&now, s.set.otherKeys(s.Key))
	if s.replaceFiltered(before, &now) {
		s.imitations.forgetCatalog(before)
	}
}

// refiltered returns features that only some callers have, filtered again, or nil if there are none.
func (s *Source) refiltered(before *callerFeatures, on *link.Conn) *callerFeatures {
	if before == nil {
		return nil
	}
	now, err := callerReads{s}.newFeatures(s.Pool.Context(), before.found, new(Catalog), before, before.listing, on)
	if err != nil {
		s.Log.Error("cannot compare the definitions with the approved ones", "error", err)
		return nil
	}
	return now
}

// RequestFeatures is mcpserver.Options.RequestFeatures. Features of the caller's own connection
// are listed only in a session: a list of the stateless era must not depend on other requests.
//
// Spec: 2026-07-28 server/tools#listing-tools
func (set *Set) RequestFeatures(r *mcpserver.Request) (listed, unlisted []*mcpserver.FeatureSet) {
	if added, ok := set.unlisted.Load(r); ok {
		unlisted = append(unlisted, added.(*mcpserver.FeatureSet))
	}
	caller := link.CallerOf(r)
	for _, s := range set.list() {
		capable, own := s.View(caller).features()
		if capable != nil {
			listed = append(listed, capable.set)
		}
		for _, features := range own {
			if r.Session() != nil {
				listed = append(listed, features.set)
			} else {
				unlisted = append(unlisted, features.set)
			}
		}
	}
	return listed, unlisted
}

// FillStatus sets the fields of a status that describe features.
func (s *Source) FillStatus(status *host.Status) {
	cat := s.Catalog()
	status.Omitted = s.omissions()
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
