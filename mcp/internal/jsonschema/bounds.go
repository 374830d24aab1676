package jsonschema

import (
	"fmt"
	"math"
)

// Limits bound the cost of a schema. Costs are counted before they are incurred, because a
// goroutine cannot be stopped by another one and a stack overflow ends the process. A nil
// *Limits and zero fields mean the defaults.
type Limits struct {
	Bytes      int // length of the text; 256 KiB
	Subschemas int // number of subschemas; 2,000
	Depth      int // nesting of subschemas, and length of a chain of references; 64
	Paths      int // ways in which one subschema applies others to one value; 10,000
	Work       int // steps of one validation, roughly applications of a subschema; 600,000
}

// MaxBytes is the default of Limits.Bytes.
const MaxBytes = 256 << 10

// MaxSubschemas is the default of Limits.Subschemas.
const MaxSubschemas = 2_000

const (
	// maxPlaces bounds the bytes of all JSON Pointers to subschemas together: the
	// library compares them with each other.
	maxPlaces = 1 << 20
	// maxNesting bounds the nesting of a JSON text, a schema or an instance.
	maxNesting = 256
	// dynamicWork is the cost of a $dynamicRef, which examines all enclosing applications.
	dynamicWork = 256
	// numberWork is the cost of a comparison of two numbers, which are exact.
	numberWork = 4
)

func (l *Limits) bytes() int {
	if l == nil || l.Bytes == 0 {
		return MaxBytes
	}
	return l.Bytes
}

func (l *Limits) subschemas() int {
	if l == nil || l.Subschemas == 0 {
		return MaxSubschemas
	}
	return l.Subschemas
}

func (l *Limits) depth() int {
	if l == nil || l.Depth == 0 {
		return 64
	}
	return l.Depth
}

func (l *Limits) paths() int {
	if l == nil || l.Paths == 0 {
		return 10_000
	}
	return l.Paths
}

func (l *Limits) work() int {
	if l == nil || l.Work == 0 {
		return 600_000
	}
	return l.Work
}

// visit is the state of a node in a depth-first walk.
type visit int

const (
	unseen visit = iota
	open         // on the current path
	done
)

// check refuses a schema that would apply a subschema to one value endlessly or too often, and
// computes the sums that the budget of a validation needs.
func (g *graph) check() error {
	for _, n := range g.order {
		if err := g.checkInPlace(n); err != nil {
			return err
		}
	}
	for _, n := range g.order {
		n.visited = unseen
	}
	g.root.sum()
	return nil
}

// checkInPlace counts the ways through in-place edges from n, each node once.
// There can be exponentially many in a short text.
func (g *graph) checkInPlace(n *node) error {
	switch n.visited {
	case done:
		return nil
	case open:
		return fmt.Errorf("%sapplies itself to the same value without end", where(n.at))
	}
	n.visited, n.paths = open, 1
	for _, next := range n.inPlace {
		if err := g.checkInPlace(next); err != nil {
			return err
		}
		n.paths += next.paths
		n.chain = max(n.chain, 1+next.chain)
	}
	n.visited = done
	if limit := g.limits.paths(); n.paths > limit {
		return fmt.Errorf("%sapplies subschemas to one value in more than %d ways", where(n.at), limit)
	}
	if limit := g.limits.depth(); n.chain > limit {
		return fmt.Errorf("%sapplies a chain of more than %d subschemas to one value", where(n.at), limit)
	}
	return nil
}

// unbounded is the total of a recursive schema.
const unbounded = math.MaxInt32

// sum returns the work of n and of all nodes that it reaches, counted once per path. It bounds
// the work for one byte of a value.
func (n *node) sum() int {
	switch n.visited {
	case done:
		return n.total
	case open:
		return unbounded
	}
	n.visited = open
	total := n.work
	if n.unique {
		total = unbounded
	}
	if n.pattern != nil {
		total += n.pattern.size
	}
	for _, p := range n.patternProps {
		total += p.size
	}
	for next := range n.edges() {
		total = min(total+next.sum(), unbounded)
	}
	n.visited, n.total = done, total
	return total
}
