package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
)

// filter sets which definitions of a catalog clients may see. The listing says who sees them, and
// what the upstream had listed before.
func (s *Source) filter(ctx context.Context, c *Catalog, l host.Listing) (err error) {
	c.initial = l.Initial
	l.Surface, l.Version, l.Unread, l.Others = c.surface(), c.version, c.unread, s.otherTools()
	c.admitted, err = s.Filter(ctx, l)
	c.parseTemplates()
	return err
}

// otherTools returns the names of the tools of the other upstreams by key.
func (s *Source) otherTools() map[string][]string {
	if !s.FiltersAll {
		return nil
	}
	others := make(map[string][]string)
	for _, other := range s.set.list() {
		if other == s {
			continue
		}
		var names []string
		for _, t := range other.Catalog().tools {
			names = append(names, t.Name)
		}
		others[other.Key] = names
	}
	return others
}

// callerWaiting returns the waiting definitions that only some callers have, each once. Those of
// everybody are in cat.
func (s *Source) callerWaiting(cat *Catalog) []host.WaitingDefinition {
	byName := make(map[string]host.WaitingDefinition)
	name := func(w host.WaitingDefinition) string { return string(w.Kind) + "/" + w.Name }
	add := func(features *callerFeatures) {
		for _, w := range features.catalog().admitted.Waiting {
			if len(byName) < maxCallerFeatures {
				byName[name(w)] = w
			}
		}
	}
	for _, features := range s.capabilityLists.all() {
		add(features)
	}
	for _, features := range s.own.all() {
		add(features)
	}
	for _, w := range cat.admitted.Waiting {
		delete(byName, name(w))
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b host.WaitingDefinition) int { return strings.Compare(name(a), name(b)) })
}

// recordFiltered records, in one decision each, that definitions wait now which did not
// before, and that there are findings in others.
func (s *Source) recordFiltered(before, now host.Admitted) {
	record := func(before, now []host.WaitingDefinition, outcome host.Outcome) {
		now = slices.DeleteFunc(slices.Clone(now), func(w host.WaitingDefinition) bool {
			return slices.ContainsFunc(before, func(b host.WaitingDefinition) bool {
				return b.Kind == w.Kind && b.Name == w.Name && b.Change == w.Change && slices.Equal(b.Findings, w.Findings)
			})
		})
		if len(now) > 0 {
			s.Record(host.Decision{Time: time.Now(), Upstream: s.Key, Action: host.ActionOffer, Outcome: outcome}, errors.New(describeWaiting(now)))
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
