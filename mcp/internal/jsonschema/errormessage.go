package jsonschema

import (
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"slices"
	"strings"

	library "github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	// maxListed bounds the names and values that one message lists.
	maxListed = 10
	// maxAlternative bounds the characters of the reason why one alternative does not match,
	// because alternatives may be nested.
	maxAlternative = 160
)

// validationError turns the library's tree of causes into violations.
func (g *graph) validationError(e *library.ValidationError) *ValidationError {
	var vs violations
	g.collect(e, &vs)
	return &ValidationError{Violations: vs.first, More: vs.more}
}

// metaError reports that the metaschema refuses a schema. It is not a *ValidationError, which
// is for values.
func metaError(err error) error {
	if e, ok := errors.AsType[*library.ValidationError](err); ok {
		return errors.New((&graph{}).validationError(e).Error())
	}
	return err
}

// collect adds the violations in the tree below e. If a schema has alternatives, it adds one
// violation: that none matches.
func (g *graph) collect(e *library.ValidationError, vs *violations) {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			g.collect(cause, vs)
		}
		return
	}
	at := pointer(e.InstanceLocation)
	if vs.full(at) {
		vs.more++
		return
	}
	vs.add(Violation{at, g.message(e)})
}

func pointer(tokens []string) string {
	var b strings.Builder
	for _, token := range tokens {
		b.WriteString("/" + escapePointer(token))
	}
	return b.String()
}

// message describes one violation.
func (g *graph) message(e *library.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return g.missing(e, k.Missing)
	case *kind.AdditionalProperties:
		return g.unknown(e, k.Properties)
	case *kind.AnyOf:
		return g.noneFits(e)
	case *kind.OneOf:
		if len(k.Subschemas) == 2 {
			return fmt.Sprintf("fits alternatives %d and %d, want exactly one", k.Subschemas[0]+1, k.Subschemas[1]+1)
		}
		return g.noneFits(e)
	case *kind.PropertyNames:
		return fmt.Sprintf("property name %s: %s", Excerpt(k.Property), g.first(e.Causes[0]).Message)
	case *kind.Contains:
		return "want an element that fits; none does"
	case *kind.MinContains:
		return fmt.Sprintf("want at least %s that fit, got %d", count(k.Want, "element"), len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("want at most %s that fit, got %d", count(k.Want, "element"), len(k.Got))
	}
	if text := valueMessage(e.ErrorKind); text != "" {
		return text
	}
	return sizeMessage(e.ErrorKind)
}

// valueMessage describes violations of keywords for one value.
func valueMessage(k library.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return fmt.Sprintf("want %s, got %s", strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return fmt.Sprintf("want %s, got %s", oneOf(k.Want), show(k.Got))
	case *kind.Const:
		return fmt.Sprintf("want %s, got %s", show(k.Want), show(k.Got))
	case *kind.Format:
		return fmt.Sprintf("want format %s, got %s", k.Want, show(k.Got))
	case *kind.Pattern:
		return fmt.Sprintf("want a match of %s, got %s", Excerpt(k.Want), Excerpt(k.Got))
	case *kind.Minimum:
		return fmt.Sprintf("want at least %s, got %s", decimal(k.Want), decimal(k.Got))
	case *kind.Maximum:
		return fmt.Sprintf("want at most %s, got %s", decimal(k.Want), decimal(k.Got))
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("want more than %s, got %s", decimal(k.Want), decimal(k.Got))
	case *kind.ExclusiveMaximum:
		return fmt.Sprintf("want less than %s, got %s", decimal(k.Want), decimal(k.Got))
	case *kind.MultipleOf:
		return fmt.Sprintf("want a multiple of %s, got %s", decimal(k.Want), decimal(k.Got))
	case *kind.Not:
		return "is what the schema excludes"
	case *kind.FalseSchema:
		return "is not allowed here"
	}
	return ""
}

// sizeMessage describes violations of keywords for lengths and counts.
func sizeMessage(k library.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return fmt.Sprintf("want at least %s, got %d", count(k.Want, "character"), k.Got)
	case *kind.MaxLength:
		return fmt.Sprintf("want at most %s, got %d", count(k.Want, "character"), k.Got)
	case *kind.MinItems:
		return fmt.Sprintf("want at least %s, got %d", count(k.Want, "element"), k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("want at most %s, got %d", count(k.Want, "element"), k.Got)
	case *kind.AdditionalItems:
		return fmt.Sprintf("the last %s are too many", count(k.Count, "element"))
	case *kind.MinProperties:
		return fmt.Sprintf("want at least %s, got %d", count(k.Want, "property"), k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("want at most %s, got %d", count(k.Want, "property"), k.Got)
	case *kind.UniqueItems:
		return fmt.Sprintf("elements %d and %d are equal", k.Duplicates[0], k.Duplicates[1])
	case *kind.Dependency:
		return fmt.Sprintf("%s is there, so %s has to be", Excerpt(k.Prop), names(k.Missing))
	case *kind.DependentRequired:
		return fmt.Sprintf("%s is there, so %s has to be", Excerpt(k.Prop), names(k.Missing))
	}
	return "does not fit"
}

// missing lists missing properties with their types.
func (g *graph) missing(e *library.ValidationError, missing []string) string {
	texts := make([]string, 0, maxListed)
	for _, name := range missing[:min(len(missing), maxListed)] {
		text := Excerpt(name)
		if n := g.at(e); n != nil && n.props[name] != nil {
			if of, ok := n.props[name].keys["type"].(string); ok {
				text += " (" + of + ")"
			}
		}
		texts = append(texts, text)
	}
	return "missing " + enumerate(texts, len(missing))
}

// unknown lists properties that are not allowed, and the allowed ones.
func (g *graph) unknown(e *library.ValidationError, unknown []string) string {
	slices.Sort(unknown)
	text := "unknown property " + names(unknown)
	n := g.at(e)
	if n == nil || len(n.props) == 0 {
		return text + ": want none"
	}
	var known []string
	for name := range n.props {
		known = append(known, name)
	}
	slices.Sort(known)
	return text + ": want one of " + names(known)
}

// at returns the node of the schema to which e refers, or nil.
func (g *graph) at(e *library.ValidationError) *node {
	_, fragment, _ := strings.Cut(e.SchemaURL, "#")
	at, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	return g.nodes[at]
}

// noneFits describes why no alternative matches: the expected types if the type is wrong for
// all of them, otherwise the first violation of each.
func (g *graph) noneFits(e *library.ValidationError) string {
	var want []string
	for _, cause := range e.Causes {
		k, ok := cause.ErrorKind.(*kind.Type)
		if !ok || len(cause.InstanceLocation) != len(e.InstanceLocation) {
			return g.alternatives(e)
		}
		want = append(want, k.Want...)
	}
	if len(want) == 0 {
		return "fits no alternative"
	}
	slices.Sort(want)
	k := e.Causes[0].ErrorKind.(*kind.Type)
	return fmt.Sprintf("want %s, got %s", strings.Join(slices.Compact(want), " or "), k.Got)
}

func (g *graph) alternatives(e *library.ValidationError) string {
	const few = 4
	texts := make([]string, 0, few)
	for _, cause := range e.Causes[:min(len(e.Causes), few)] {
		v := g.first(cause)
		short, _ := clip(v.Message, maxAlternative)
		texts = append(texts, where(strings.TrimPrefix(v.Pointer, pointer(e.InstanceLocation)))+short)
	}
	text := "fits no alternative (" + strings.Join(texts, "; or ")
	if len(e.Causes) > few {
		text += "; or …"
	}
	return text + ")"
}

// first returns the first violation in the tree under e.
func (g *graph) first(e *library.ValidationError) Violation {
	var vs violations
	g.collect(e, &vs)
	if len(vs.first) == 0 {
		return Violation{pointer(e.InstanceLocation), "does not fit"}
	}
	return vs.first[0]
}

// show quotes one value.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case string:
		return Excerpt(v)
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	text, _ := numberText(v)
	return readable(text)
}

// decimal returns the decimal form of an exact number.
func decimal(r *big.Rat) string {
	if r.IsInt() {
		return readable(r.Num().String())
	}
	digits, _ := r.FloatPrec()
	return readable(r.FloatString(min(digits, maxQuoted)))
}

func oneOf(values []any) string {
	texts := make([]string, 0, maxListed)
	for _, v := range values[:min(len(values), maxListed)] {
		texts = append(texts, show(v))
	}
	text := enumerate(texts, len(values))
	if len(values) > 1 {
		text = "one of " + text
	}
	return text
}

func names(list []string) string {
	texts := make([]string, 0, maxListed)
	for _, name := range list[:min(len(list), maxListed)] {
		texts = append(texts, Excerpt(name))
	}
	return enumerate(texts, len(list))
}

// enumerate joins texts, which are the first of total.
func enumerate(texts []string, total int) string {
	text := strings.Join(texts, ", ")
	if more := total - len(texts); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func count(n int, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case noun == "property":
		return fmt.Sprintf("%d properties", n)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
