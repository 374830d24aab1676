package jsonschema

import (
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"sync"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	library "github.com/santhosh-tekuri/jsonschema/v6"
)

// Validator checks values against one schema. It is immutable and safe for concurrent use.
type Validator struct {
	text jsontext.Value
	// Each function computes its values at the first call (sync.OnceValue).
	fast     func() *fastSchema // nil if the schema has no such form
	program  func() (*program, error)
	defaults func() (members, error)
}

// program is a compiled schema.
type program struct {
	graph  *graph
	schema *library.Schema
}

// Compile checks a schema against its dialect and compiles it. The dialect is
// the one that $schema names, JSON Schema 2020-12 by default or draft-07; any
// other is a *DialectError. A nil limits means the defaults.
//
// A schema that exceeds the limits is refused, as is one that refers to anything outside its
// own text: nothing is ever loaded. Patterns that RE2 does not support are not checked;
// Warnings reports them, and CompileStrict refuses them. Formats are checked.
//
// Compile keeps the validators of recent texts, so that the same text is compiled
// once.
//
// Spec: 2026-07-28 basic#json-schema-usage
func Compile(text jsontext.Value, limits *Limits) (*Validator, error) {
	v := Lazy(text, limits)
	if _, err := v.program(); err != nil {
		return nil, err
	}
	return v, nil
}

// Lazy is like Compile, but compiles at the first use. It is for schemas that are valid by
// construction. An error of the schema is an error of Validate.
func Lazy(text jsontext.Value, limits *Limits) *Validator { return validators.get(text, limits) }

// newValidator returns the Validator of a text, which must not change.
func newValidator(text jsontext.Value, limits Limits) *Validator {
	return &Validator{
		text: text,
		fast: sync.OnceValue(func() *fastSchema {
			doc, err := decode(text, maxNesting)
			if err != nil || len(text) > limits.bytes() {
				return nil
			}
			return newFastSchema(doc)
		}),
		program:  sync.OnceValues(func() (*program, error) { return compile(text, &limits) }),
		defaults: sync.OnceValues(func() (members, error) { return defaultsOf(text) }),
	}
}

// Text returns the schema. It must not be changed.
func (v *Validator) Text() jsontext.Value { return v.text }

// Warnings returns the keywords of the schema that are not checked. It compiles a lazy schema.
func (v *Validator) Warnings() []Warning {
	p, err := v.program()
	if err != nil {
		return nil
	}
	return p.graph.warnings
}

// UncheckedError is the error for a keyword that would not be checked.
type UncheckedError struct{ Warning }

func (e *UncheckedError) Error() string {
	return fmt.Sprintf("%s %s; want an expression in RE2 syntax", e.Pointer, e.Message)
}

// CompileStrict is like Compile for the schema of an author, who can change it: a keyword that would
// not be checked is an *UncheckedError.
func CompileStrict(text jsontext.Value) (*Validator, error) {
	v, err := Compile(text, nil)
	if err != nil {
		return nil, err
	}
	for _, w := range v.Warnings() {
		return nil, &UncheckedError{w}
	}
	return v, nil
}

// ordinary bounds the values that Validate looks at itself.
var ordinary = rawjson.Limits{Depth: maxNesting, Elements: 100_000}

// Admits returns true only for a value that satisfies the schema; if it returns false, Validate
// must decide. The value must be strict JSON, such as a part of a decoded message.
func (v *Validator) Admits(instance jsontext.Value) bool {
	q := v.fast()
	return q != nil && (!q.costly || len(instance) <= maxCostly) && q.admits(instance)
}

// Validate checks one JSON value. It returns a *ValidationError if the value does not satisfy
// the schema, an error that wraps ErrTooCostly if the check would take too long, and another
// error if the value is not JSON or a lazy schema does not compile.
func (v *Validator) Validate(instance jsontext.Value) error {
	if rawjson.Accepts(instance, ordinary) && v.Admits(instance) {
		return nil
	}
	return v.validate(instance)
}

// validate lets the library check the value.
func (v *Validator) validate(instance jsontext.Value) error {
	p, err := v.program()
	if err != nil {
		return err
	}
	value, err := decode(instance, maxNesting)
	if e, ok := errors.AsType[*placeError](err); ok {
		return &ValidationError{Violations: []Violation{{string(e.at), e.reason}}}
	}
	if err != nil {
		return fmt.Errorf("read value: %w", err)
	}
	if !p.graph.withinBudget(value, len(instance)) {
		return ErrTooCostly
	}
	return recoverPanic(func() error { return p.validate(value) })
}

func (p *program) validate(value any) error {
	err := p.schema.Validate(value)
	if e, ok := errors.AsType[*library.ValidationError](err); ok {
		return p.graph.validationError(e)
	}
	return err
}

// Check reads a schema and checks its bounds and references, as Compile does,
// but does not compile it. It is for schemas that are valid by construction.
func Check(text jsontext.Value, limits *Limits) error {
	_, _, err := parse(text, limits)
	return err
}

// compile turns the text of a schema into a program.
func compile(text jsontext.Value, limits *Limits) (*program, error) {
	doc, g, err := parse(text, limits)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	p := &program{graph: g}
	err = recoverPanic(func() error { return p.compile(doc) })
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return p, nil
}

// parse reads a schema and checks its bounds. The document is what the library
// may compile.
func parse(text jsontext.Value, limits *Limits) (doc any, g *graph, err error) {
	if limit := limits.bytes(); len(text) > limit {
		return nil, nil, fmt.Errorf("longer than %d bytes", limit)
	}
	if doc, err = decode(text, maxNesting); err != nil {
		return nil, nil, err
	}
	if g, err = newGraph(doc, limits); err != nil {
		return nil, nil, err
	}
	return doc, g, g.check()
}

// compile has the library check the document against its metaschema and compile
// it.
func (p *program) compile(doc any) error {
	c := library.NewCompiler()
	c.DefaultDraft(p.graph.draft)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(p.graph.regexp)
	c.AssertFormat()
	if err := c.AddResource(documentURL, doc); err != nil {
		return err
	}
	var err error
	p.schema, err = c.Compile(documentURL)
	if e, ok := errors.AsType[*library.SchemaValidationError](err); ok {
		return metaError(e.Err)
	}
	return err
}

// noLoader refuses to load anything. The default of the library opens files.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references outside the schema are not followed")
}

// regexp returns the patterns that the graph has compiled to the library. All other patterns
// are values with format regex, for which the library needs only the error.
func (g *graph) regexp(expr string) (library.Regexp, error) {
	if p, ok := g.patterns[expr]; ok {
		return p, nil
	}
	_, err := parsePattern(expr)
	return everyName, err
}

// recoverPanic calls f and returns a panic of the library as an error.
func recoverPanic(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("schema library: %v", r)
		}
	}()
	return f()
}
