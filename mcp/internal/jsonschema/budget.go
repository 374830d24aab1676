package jsonschema

import "errors"

// ErrTooCostly reports a value that would take too many steps to be checked
// against its schema.
var ErrTooCostly = errors.New("too large to be checked against its schema")

// Divisors that convert different costs to steps: a step is roughly one application of a
// subschema.
const (
	textSteps    = 128 // bytes of text
	patternSteps = 32  // bytes of text times instructions
	uniqueSteps  = 16  // comparisons of elements
)

// budget computes in advance how many steps the library will take for one value. It counts all
// paths to the same subschema and the same part of the value together, so that counting is
// cheap even where validation is not: a schema that recurses twice for one property takes
// 2^depth steps.
type budget struct{ left int64 }

// application is one subschema applied to one value a number of times.
type application struct {
	node  *node
	times int64
}

// withinBudget reports whether a value, of the given length in JSON, can be checked within the
// limit. The total work of the schema is an upper bound for each byte and is usually
// sufficient; otherwise the steps are counted.
func (g *graph) withinBudget(value any, length int) bool {
	limit := g.limits.work()
	if g.root.total < unbounded && length <= limit/g.root.total {
		return true
	}
	b := budget{left: int64(limit)}
	return b.apply(value, []application{{g.root, 1}})
}

// apply counts the steps for one value and all its parts. It reports whether the budget is
// sufficient.
func (b *budget) apply(value any, starts []application) bool {
	var all []application
	for _, a := range starts {
		if all = b.expand(all, a, value); b.left < 0 {
			return false
		}
	}
	switch value := value.(type) {
	case map[string]any:
		return b.applyMembers(value, all)
	case []any:
		return b.applyElements(value, all)
	}
	return true
}

// expand appends a and all applications to the same value that follow from it, and subtracts
// their cost from the budget.
func (b *budget) expand(all []application, a application, value any) []application {
	b.left -= a.times * a.node.cost(value)
	if b.left < 0 {
		return nil
	}
	all = append(all, a)
	for _, next := range a.node.inPlace {
		if all = b.expand(all, application{next, a.times}, value); b.left < 0 {
			return nil
		}
	}
	return all
}

// cost returns the steps of one application to a value, without those of other
// nodes.
func (n *node) cost(value any) int64 {
	cost := int64(n.work)
	switch value := value.(type) {
	case string:
		cost += int64(len(value)) / textSteps
		if n.pattern != nil {
			cost += n.pattern.steps(value)
		}
	case []any:
		cost += int64(len(value))
		if n.unique {
			cost += uniqueCost(value)
		}
	case map[string]any:
		cost += int64(len(value))
		for name := range value {
			for _, p := range n.patternProps {
				cost += 1 + p.steps(name)
			}
		}
	}
	return cost
}

func (p *pattern) steps(text string) int64 { return int64(len(text)) * int64(p.size) / patternSteps }

// uniqueCost returns the steps of finding equal elements. The library finds equal scalars by
// hash, but a peer can make the hashes of arrays and objects collide, and then all pairs are
// compared.
func uniqueCost(values []any) int64 {
	once := int64(comparisons(values))
	for _, v := range values {
		switch v.(type) {
		case []any, map[string]any:
			return once + once*int64(len(values))/uniqueSteps
		}
	}
	return once
}

func (b *budget) applyMembers(members map[string]any, all []application) bool {
	for name, value := range members {
		var names, parts sums
		for _, a := range all {
			names.add(a.node.names, a.times)
			a.node.member(name, a.times, &parts)
		}
		if !b.apply(name, names.list) || !b.apply(value, parts.list) {
			return false
		}
	}
	return true
}

// member adds what n applies to the member of the given name.
func (n *node) member(name string, times int64, to *sums) {
	prop := n.props[name]
	to.add(prop, times)
	for _, p := range n.patternProps {
		if p.MatchString(name) {
			to.add(p.node, times)
			prop = p.node
		}
	}
	if prop == nil {
		to.add(n.otherProps, times)
	}
	to.add(n.anyProps, times)
}

func (b *budget) applyElements(elements []any, all []application) bool {
	for i, value := range elements {
		var parts sums
		for _, a := range all {
			if i < len(a.node.prefix) {
				parts.add(a.node.prefix[i], a.times)
			}
			for _, n := range a.node.items {
				parts.add(n, a.times)
			}
		}
		if !b.apply(value, parts.list) {
			return false
		}
	}
	return true
}

// sums adds up the applications of each node to one value.
type sums struct {
	list []application
	at   map[*node]int // index in list, once the list is long
}

func (s *sums) add(n *node, times int64) {
	if n == nil {
		return
	}
	if i, ok := s.index(n); ok {
		s.list[i].times += times
		return
	}
	s.list = append(s.list, application{n, times})
	if s.at != nil {
		s.at[n] = len(s.list) - 1
	}
}

// index finds the entry of a node: in a short list by linear search, in a long one by map.
func (s *sums) index(n *node) (int, bool) {
	const few = 8
	if len(s.list) <= few {
		for i, a := range s.list {
			if a.node == n {
				return i, true
			}
		}
		return 0, false
	}
	if s.at == nil {
		s.at = make(map[*node]int, 2*len(s.list))
		for i, a := range s.list {
			s.at[a.node] = i
		}
	}
	i, ok := s.at[n]
	return i, ok
}
