package jsonschema

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
)

// Limits of one regular expression. The engine runs in time linear in the text,
// times the size of the program that the expression becomes.
const (
	maxPattern        = 1 << 10 // bytes of the expression
	maxPatternProgram = 10_000  // instructions of one expression
	maxPrograms       = 50_000  // instructions of all expressions of a schema
)

// pattern is a compiled regular expression with the size of its program.
type pattern struct {
	*regexp.Regexp
	size int
}

// compilePattern compiles an expression in RE2 syntax. JSON Schema uses ECMA-262 expressions.
// Their common subset has the same meaning in both; RE2 refuses lookaround and backreferences.
func compilePattern(expr string) (*pattern, error) {
	size, err := parsePattern(expr)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, patternError(err)
	}
	return &pattern{re, size}, nil
}

// CheckPattern returns an error unless an expression is of RE2 syntax and within
// the limits for the length of an expression and the size of its program.
func CheckPattern(expr string) error {
	_, err := compilePattern(expr)
	return err
}

// parsePattern checks an expression and returns the size of its program.
func parsePattern(expr string) (size int, err error) {
	if len(expr) > maxPattern {
		return 0, fmt.Errorf("longer than %d bytes", maxPattern)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return 0, patternError(err)
	}
	if size = programSize(tree); size > maxPatternProgram {
		return 0, fmt.Errorf("its repetitions need more than %d steps", maxPatternProgram)
	}
	return size, nil
}

// programSize estimates the number of instructions without compiling, because a
// kilobyte of nested repetitions can compile to a hundred megabytes.
func programSize(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size += programSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min+1, re.Max)
	}
	return min(size, maxPatternProgram+1)
}

func patternError(err error) error {
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		return errors.New(e.Code.String())
	}
	return err
}

// Warning reports a keyword that is not checked, because its pattern is not supported. The rest
// of the schema is checked.
type Warning struct {
	Pointer string // JSON Pointer of the keyword
	Message string
}

// takePatterns compiles the patterns of one subschema. It removes a pattern that cannot be
// checked from the document; in patternProperties it replaces it by a pattern that matches every
// name, so that no name is refused because of the missing pattern.
func (g *graph) takePatterns(n *node) error {
	if expr, ok := n.keys["pattern"].(string); ok {
		p, err := g.takePattern(n.at+"/pattern", expr)
		if err != nil {
			return err
		}
		if n.pattern = p; p == nil {
			delete(n.keys, "pattern")
		}
	}
	named, _ := n.keys["patternProperties"].(map[string]any)
	for _, expr := range slices.Sorted(maps.Keys(named)) {
		p, err := g.takePattern(n.at+"/patternProperties", expr)
		if err != nil {
			return err
		}
		if p != nil {
			continue
		}
		delete(named, expr)
		if _, ok := named[""]; !ok {
			named[""] = true
			g.patterns[""] = everyName
		}
	}
	return nil
}

// takePattern compiles the expression of a keyword; equal expressions are compiled once. For an
// expression that cannot be checked it adds a warning and returns nil. It returns an error if
// there are too many.
func (g *graph) takePattern(at, expr string) (*pattern, error) {
	if p, ok := g.patterns[expr]; ok {
		return p, nil
	}
	p, err := compilePattern(expr)
	if err != nil {
		g.warnings = append(g.warnings, Warning{at, fmt.Sprintf("%s is not checked: %v", Excerpt(expr), err)})
		return nil, nil
	}
	g.patterns[expr] = p
	if g.programs += p.size; g.programs > maxPrograms {
		return nil, fmt.Errorf("patterns: more than %d steps in all", maxPrograms)
	}
	return p, nil
}

// everyName is the pattern that matches everything.
var everyName = &pattern{regexp.MustCompile(""), 1}
