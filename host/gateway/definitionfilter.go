package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
)

// filter sets which definitions of a catalog clients may see. The listing says who sees them, and
// what the upstream had listed before.
func (u *upstream) filter(ctx context.Context, c *catalog, l host.Listing) (err error) {
	c.initial = l.Initial
	l.Surface, l.Version, l.Unread, l.Others = c.surface(), c.version, c.unread, u.otherTools()
	c.admitted, err = u.gateway.options.filterDefinitions(ctx, &u.Upstream, l)
	c.parseTemplates()
	return err
}

// otherTools returns the names of the tools of the other upstreams by key.
func (u *upstream) otherTools() map[string][]string {
	if u.gateway.options.orZero().FilterDefinitions == nil {
		return nil
	}
	others := make(map[string][]string)
	for _, other := range u.gateway.list() {
		if other == u {
			continue
		}
		var names []string
		for _, t := range other.lastCatalog().tools {
			names = append(names, t.Name)
		}
		others[other.Key] = names
	}
	return others
}

// refilter filters the last catalog again, after an approval.
func (u *upstream) refilter() {
	before := u.lastCatalog()
	if before.read.IsZero() {
		return
	}
	now := *before
	if err := u.filter(u.pool.Context(), &now, host.Listing{Initial: before.initial}); err != nil {
		u.log.Error("cannot compare the definitions with the approved ones", "error", err)
		return
	}
	u.findImitations(&now, u.otherKeys(u.gateway.list()))
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.catalog == before { // otherwise a refresh has replaced it and filtered its own definitions
		u.catalog = &now
		u.imitations.forgetCatalog(before)
	}
}

// refilterCallerFeatures filters the features that only some callers have again, after an
// approval.
func (u *upstream) refilterCallerFeatures() {
	u.mu.Lock()
	lists := maps.Clone(u.capabilityLists)
	u.mu.Unlock()
	refilter := func(before *callerFeatures, on *link.Conn) *callerFeatures {
		if before == nil {
			return nil
		}
		now, err := u.newCallerFeatures(u.pool.Context(), before.found, new(catalog), before, before.listing, on)
		if err != nil {
			u.log.Error("cannot compare the definitions with the approved ones", "error", err)
			return nil
		}
		return now
	}
	for c, l := range lists {
		u.mu.Lock()
		before := l.features
		u.mu.Unlock()
		now := refilter(before, nil)
		u.mu.Lock()
		replaced := now != nil && l.features == before // otherwise a read has filtered its own features
		if replaced {
			l.features = now
		}
		u.mu.Unlock()
		if replaced {
			before.changedTo(now).notifyClients(u.gateway.server, c)
		}
	}
	for conn, before := range u.own.all() {
		if now := refilter(before, conn); now != nil && u.own.replace(conn, before, now) {
			before.changedTo(now).notifySession(conn.Session)
		}
	}
}

// callerWaiting returns the waiting definitions that only some callers have, each once. The
// caller holds mu.
func (u *upstream) callerWaiting() []host.WaitingDefinition {
	byName := make(map[string]host.WaitingDefinition)
	name := func(w host.WaitingDefinition) string { return string(w.Kind) + "/" + w.Name }
	add := func(features *callerFeatures) {
		for _, w := range features.catalog().admitted.Waiting {
			if len(byName) < maxCallerFeatures {
				byName[name(w)] = w
			}
		}
	}
	for _, l := range u.capabilityLists {
		add(l.features)
	}
	for _, own := range u.own.all() {
		add(own)
	}
	for _, w := range u.catalog.admitted.Waiting {
		delete(byName, name(w))
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b host.WaitingDefinition) int { return strings.Compare(name(a), name(b)) })
}

// recordFiltered records, in one decision each, that definitions wait now which did not
// before, and that there are findings in others.
func (u *upstream) recordFiltered(before, now host.Admitted) {
	record := func(before, now []host.WaitingDefinition, outcome host.Outcome) {
		now = slices.DeleteFunc(slices.Clone(now), func(w host.WaitingDefinition) bool {
			return slices.ContainsFunc(before, func(b host.WaitingDefinition) bool {
				return b.Kind == w.Kind && b.Name == w.Name && b.Change == w.Change && slices.Equal(b.Findings, w.Findings)
			})
		})
		if len(now) > 0 {
			u.gateway.record(host.Decision{Time: time.Now(), Upstream: u.Key, Action: host.ActionOffer, Outcome: outcome}, errors.New(describeWaiting(now)))
		}
	}
	record(before.Waiting, now.Waiting, host.OutcomeWithheld)
	record(before.Findings, now.Findings, host.OutcomeDone)
}

// maxDescribed limits the definitions that a description names.
const maxDescribed = 5

// describeWaiting names definitions, such as: new tool "a", changed prompt "b" and 3 more.
func describeWaiting(all []host.WaitingDefinition) string {
	var parts []string
	for _, w := range all[:min(len(all), maxDescribed)] {
		text := fmt.Sprintf("%s %s", w.Change, w.Kind)
		if w.Name != "" {
			text += fmt.Sprintf(" %q", host.CutText(w.Name, maxOmittedName))
		}
		if len(w.Findings) > 0 {
			text += " (" + strings.Join(w.Findings[:min(len(w.Findings), 2)], "; ") + ")"
		}
		parts = append(parts, text)
	}
	description := strings.Join(parts, ", ")
	if more := len(all) - maxDescribed; more > 0 {
		description += fmt.Sprintf(" and %d more", more)
	}
	return description
}
