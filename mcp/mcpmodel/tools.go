package mcpmodel

import (
	"cmp"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
)

// ToolSet is a list of tools as an API takes it. It encodes as the value of the member "tools"
// of a request. It does not change, and its methods may be called concurrently.
type ToolSet struct {
	api   *API
	names []string
	value jsontext.Value
	// loose holds the schemas of tools whose arguments may have nulls that strict mode asked
	// for.
	loose map[string]*schema
}

// ToolsError reports the tools that an API cannot take.
type ToolsError struct {
	// API is the name of the API.
	API string
	// Tools holds the error of each tool by its name.
	Tools map[string]error
}

// Error lists the errors, ordered by tool, one per line.
func (e *ToolsError) Error() string {
	lines := make([]string, 0, len(e.Tools))
	for _, name := range slices.Sorted(maps.Keys(e.Tools)) {
		lines = append(lines, fmt.Sprintf("%s: tool %.128q: %v", e.API, name, e.Tools[name]))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the errors, ordered by tool.
func (e *ToolsError) Unwrap() []error {
	errs := make([]error, 0, len(e.Tools))
	for _, name := range slices.Sorted(maps.Keys(e.Tools)) {
		errs = append(errs, e.Tools[name])
	}
	return errs
}

// toolDefinition is a tool as APIs have it.
type toolDefinition struct {
	name, description string
	schema            jsontext.Value
	strict            bool
}

// Tools converts tools. The error is a *ToolsError with the tools that the API cannot take,
// because of their name, their schema or their number; the ToolSet has the others, in order.
func (a *API) Tools(tools []mcp.Tool) (*ToolSet, error) {
	set := &ToolSet{api: a, loose: make(map[string]*schema)}
	failed := make(map[string]error)
	var defs []toolDefinition
	budget := strictBudget{rules: a.strict()}
	for i := range tools {
		t := &tools[i]
		def, l, err := a.tool(t, len(defs), &budget)
		if err == nil && slices.Contains(set.names, t.Name) {
			err = errors.New("is given twice, want each name once")
		}
		if err != nil {
			failed[t.Name] = cmp.Or(failed[t.Name], err)
			continue
		}
		if l.loose != nil {
			set.loose[t.Name] = l.loose
		}
		set.names = append(set.names, t.Name)
		defs = append(defs, def)
	}
	set.value = encode(a.wire.tools(defs))
	if len(failed) > 0 {
		return set, &ToolsError{a.String(), failed}
	}
	return set, nil
}

func (a *API) tool(t *mcp.Tool, taken int, budget *strictBudget) (toolDefinition, *lowered, error) {
	if err := a.rules.checkName(t.Name); err != nil {
		return toolDefinition{}, nil, err
	}
	if limit := a.rules.tools; limit > 0 && taken >= limit {
		return toolDefinition{}, nil, fmt.Errorf("is one too many, the API takes %d tools", limit)
	}
	l, err := a.lower(t.InputSchema)
	if err == nil && l.strict && !budget.take(l.size) {
		l, err = a.With(Options{MaxText: a.opts.MaxText}).lower(t.InputSchema)
	}
	if err != nil {
		return toolDefinition{}, nil, fmt.Errorf("input schema %w", err)
	}
	description := cutText(cmp.Or(t.Description, t.DisplayName()), a.rules.description)
	return toolDefinition{t.Name, description, l.text, l.strict}, l, nil
}

// checkName returns an error for a name that the API refuses.
func (r *rules) checkName(name string) error {
	if r.toolName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("the API refuses the name, want %s; mcp.QualifiedName and mcpclient.Group make such names", r.toolNameWanted)
}

// strictBudget counts what an API limits for all strict tools of a request together.
type strictBudget struct {
	rules                   *rules
	tools, optional, unions int
}

// take reports whether there is room for one more strict tool.
func (b *strictBudget) take(z schemaSize) bool {
	r := b.rules
	if over(b.tools+1, r.strictTools) || over(b.optional+z.optional, r.optionalParams) || over(b.unions+z.unions, r.unionParams) {
		return false
	}
	b.tools++
	b.optional += z.optional
	b.unions += z.unions
	return true
}

func over(n, limit int) bool { return limit > 0 && n > limit }

// cutText returns text with at most limit characters; 0 means no limit.
func cutText(text string, limit int) string {
	if limit == 0 || utf8.RuneCountInString(text) <= limit {
		return text
	}
	runes := []rune(text)
	return string(runes[:limit-1]) + "…"
}

// Names returns the names of the tools.
func (t *ToolSet) Names() []string { return slices.Clone(t.names) }

// JSON returns the value of the member "tools" of a request. It belongs to the caller.
func (t *ToolSet) JSON() jsontext.Value { return t.value.Clone() }

// MarshalJSONTo writes the value of the member "tools" of a request.
func (t *ToolSet) MarshalJSONTo(enc *jsontext.Encoder) error { return enc.WriteValue(t.value) }
