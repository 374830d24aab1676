package uritemplate

import "slices"

// program is a nondeterministic finite automaton that accepts the URIs of a template. It
// is built from the end of the template to its beginning.
type program struct {
	states []state
	start  int
}

type state struct {
	op    op
	next  int
	other int // of opEither

	literal segment // of opLiteral

	// Of opValue and opEmpty.
	expression *expression
	variable   *variable
	stop       string // characters at which the value ends
}

type op uint8

const (
	// opAccept is the end of the URI.
	opAccept op = iota
	// opLiteral reads its text.
	opLiteral
	// opEither continues at next, or else at other.
	opEither
	// opValue reads a value.
	opValue
	// opEmpty is an empty value.
	opEmpty
)

func compile(parts []part) program {
	p := program{states: []state{{op: opAccept}}}
	for i := len(parts) - 1; i >= 0; i-- {
		switch e := parts[i].expression; {
		case e == nil:
			for _, s := range slices.Backward(parts[i].segments) {
				p.start = p.add(state{op: opLiteral, literal: s, next: p.start})
			}
		case e.operator.named:
			p.start = p.addNamed(e, p.start)
		default:
			p.start = p.addUnnamed(e, p.start)
		}
	}
	return p
}

// add adds a state and returns its index.
func (p *program) add(s state) int {
	p.states = append(p.states, s)
	return len(p.states) - 1
}

func (p *program) literal(text string, next int) int {
	return p.add(state{op: opLiteral, literal: segment{text: text}, next: next})
}

func (p *program) either(next, other int) int {
	return p.add(state{op: opEither, next: next, other: other})
}

func (p *program) value(e *expression, v *variable, next int) int {
	return p.add(state{op: opValue, next: next, expression: e, variable: v, stop: e.stop(v)})
}

// stop returns the characters at which a value of v ends.
func (e *expression) stop(v *variable) string {
	alone := len(e.variables) == 1 && !e.operator.splits
	if alone || v.explode && !e.operator.named {
		return e.operator.stop
	}
	return e.operator.stop + e.operator.separator
}

// addUnnamed adds an expression whose values are identified by their order. An
// exploded value is read with its separators.
func (p *program) addUnnamed(e *expression, next int) int {
	end := next
	for i := len(e.variables) - 1; i >= 0; i-- {
		next = p.value(e, e.variables[i], next)
		switch {
		case i > 0:
			next = p.literal(e.operator.separator, next)
		case e.operator.first != "":
			next = p.literal(e.operator.first, next)
		}
		if !e.operator.required {
			next = p.either(next, end)
		}
	}
	return next
}

// addNamed adds an expression whose values have names. Each of them may be absent, so
// there are two paths through it: one after a value, where the next value follows a
// separator, and one before any value.
func (p *program) addNamed(e *expression, next int) int {
	begun, fresh := next, next
	for i := len(e.variables) - 1; i >= 0; i-- {
		v, rest := e.variables[i], begun
		begun = p.addVariable(e, v, e.operator.separator, rest, rest)
		fresh = p.addVariable(e, v, e.operator.first, rest, fresh)
	}
	return fresh
}

// addVariable adds one variable with its name. It continues at next, or at absent if the
// URI does not have it.
func (p *program) addVariable(e *expression, v *variable, delimiter string, next, absent int) int {
	if v.explode {
		repeat := p.either(0, next)
		p.states[repeat].next = p.addPair(e, v, e.operator.separator, repeat)
		next = repeat
	}
	return p.either(p.addPair(e, v, delimiter, next), absent)
}

// addPair adds a name and its value. If the operator writes empty values without "=", they
// are also accepted with it.
func (p *program) addPair(e *expression, v *variable, delimiter string, next int) int {
	rest := p.literal("=", p.value(e, v, next))
	if e.operator.ifEmpty == "" {
		rest = p.either(rest, p.add(state{op: opEmpty, next: next, expression: e, variable: v}))
	}
	return p.literal(delimiter+v.name, rest)
}
