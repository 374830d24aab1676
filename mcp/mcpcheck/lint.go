package mcpcheck

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"mime"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
	"github.com/fondaco/fondaco/mcp/mcpmodel"
)

// What Lint reports as large. Models read the definitions of all tools with each request.
const (
	largeDescription  = 4 << 10  // characters
	largeDefinition   = 16 << 10 // bytes of one tool
	largeDefinitions  = 64 << 10 // bytes of all tools
	largeInstructions = 16 << 10 // bytes
	// maxLint limits the findings of one rule.
	maxLint = 100
)

// Lint returns what should be changed in what a server shows: names, descriptions, schemas, annotations,
// sizes, and what the model APIs do not take, by the rules of mcpmodel. The order is that of the surface,
// tools first. Of one rule it returns at most 100 findings. mcpclient.Client.Surface reads the surface of a
// server.
func Lint(s mcp.Surface) []Finding {
	l := &linter{count: make(map[Rule]int)}
	l.tools(s.Tools)
	l.prompts(s.Prompts)
	l.resources(s.Resources)
	l.templates(s.Templates)
	l.text("", "/instructions", s.Instructions)
	if n := len(s.Instructions); n > largeInstructions {
		l.add(Finding{Rule: RuleSize, Place: "/instructions", Text: fmt.Sprintf("the instructions have %d bytes, want %d at most: a model reads all of them", n, largeInstructions)})
	}
	return l.found
}

type linter struct {
	found []Finding
	count map[Rule]int
}

func (l *linter) add(f Finding) {
	if l.count[f.Rule]++; l.count[f.Rule] <= maxLint {
		l.found = append(l.found, f)
	}
}

// toolName is what the specification allows.
//
// Spec: 2026-07-28 server/tools#tool-names
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

func (l *linter) tools(all []mcp.Tool) {
	l.names("tool", all, func(t mcp.Tool) string { return t.Name })
	total := 0
	for i := range all {
		total += l.tool(&all[i])
	}
	if total > largeDefinitions {
		l.add(Finding{Rule: RuleSize, Text: fmt.Sprintf("the definitions of the %d tools have %d bytes, want %d at most: a model reads all of them with each request", len(all), total, largeDefinitions)})
	}
	l.models(all)
}

// tool checks one tool, and returns the bytes of its definition.
func (l *linter) tool(t *mcp.Tool) (size int) {
	feature := fmt.Sprintf("tool %q", t.Name)
	if !toolName.MatchString(t.Name) {
		l.add(Finding{Rule: RuleName, Feature: feature, Place: "/name", Fault: true, Text: "want 1 to 128 of A-Z, a-z, 0-9, '_', '-' and '.'"})
	}
	l.description(feature, t.Description)
	l.text(feature, "/title", t.Title)
	l.schema(feature, "/inputSchema", t.InputSchema, true)
	l.schema(feature, "/outputSchema", t.OutputSchema, false)
	l.parameters(feature, t.InputSchema)
	l.annotations(feature, t)
	definition, err := json.Marshal(t)
	if err == nil && len(definition) > largeDefinition {
		l.add(Finding{Rule: RuleSize, Feature: feature, Text: fmt.Sprintf("the definition has %d bytes, want %d at most", len(definition), largeDefinition)})
	}
	return len(definition)
}

// description checks the description of a feature, which tells a model what it is for.
func (l *linter) description(feature, description string) {
	l.text(feature, "/description", description)
	switch n := utf8.RuneCountInString(description); {
	case strings.TrimSpace(description) == "":
		l.add(Finding{Rule: RuleDescription, Feature: feature, Place: "/description", Text: "the description is missing: a model has the name alone to choose it by"})
	case n > largeDescription:
		l.add(Finding{Rule: RuleDescriptionLength, Feature: feature, Place: "/description", Text: fmt.Sprintf("the description has %d characters, want %d at most", n, largeDescription)})
	}
}

// text looks for characters that a person does not see and a model reads.
func (l *linter) text(feature, place, text string) {
	for _, r := range text {
		if r != '\n' && r != '\t' && r != '\r' && (unicode.Is(unicode.Cc, r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || r == utf8.RuneError) {
			l.add(Finding{Rule: RuleHiddenText, Feature: feature, Place: place, Text: fmt.Sprintf("the text has the character %U, which is not shown; want it without", r)})
			return
		}
	}
}

// schema checks a schema. That of the arguments has to be one for objects; the other one may be missing.
func (l *linter) schema(feature, place string, schema jsontext.Value, arguments bool) {
	fault := func(format string, args ...any) {
		l.add(Finding{Rule: RuleSchema, Feature: feature, Place: place, Fault: true, Text: fmt.Sprintf(format, args...)})
	}
	var root struct {
		Type jsontext.Value `json:"type"`
	}
	switch {
	case schema == nil && !arguments:
		return
	case schema.Kind() != jsontext.KindBeginObject:
		fault("found no object, want a JSON Schema such as {\"type\":\"object\"}")
		return
	case arguments && (json.Unmarshal(schema, &root) != nil || string(root.Type) != `"object"`):
		fault("want \"type\": \"object\" at the root")
		return
	}
	_, err := jsonschema.Compile(schema, nil)
	if _, other := errors.AsType[*jsonschema.DialectError](err); err != nil && !other { // a server may use any dialect
		fault("%v", err)
	}
}

// parameters looks for parameters without a description.
func (l *linter) parameters(feature string, schema jsontext.Value) {
	var object struct {
		Properties map[string]jsontext.Value `json:"properties"`
	}
	if json.Unmarshal(schema, &object) != nil {
		return
	}
	var bare []string
	for name, property := range object.Properties {
		var p struct {
			Description string         `json:"description"`
			Ref         jsontext.Value `json:"$ref"`
		}
		if json.Unmarshal(property, &p) == nil && p.Description == "" && p.Ref == nil {
			bare = append(bare, name)
		}
	}
	if slices.Sort(bare); len(bare) > 0 {
		l.add(Finding{Rule: RuleParameter, Feature: feature, Place: "/inputSchema/properties", Text: fmt.Sprintf("parameters without a description: %s", shorten(bare))})
	}
}

// shorten lists the first of some names.
func shorten(names []string) string {
	const shown = 5
	if more := len(names) - shown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), more)
	}
	return strings.Join(names, ", ")
}

// destructive are the first words of names of tools that change or delete something.
var destructive = []string{"delete", "remove", "drop", "destroy", "erase", "purge", "write", "update", "create", "send"}

// annotations compares the annotations of a tool with each other and with its name.
//
// Spec: 2026-07-28 schema#toolannotations
func (l *linter) annotations(feature string, t *mcp.Tool) {
	a := t.Annotations
	add := func(r Rule, text string) {
		l.add(Finding{Rule: r, Feature: feature, Place: "/annotations", Text: text})
	}
	switch first := firstWord(t.Name); {
	case a == nil || a.ReadOnlyHint == nil && a.DestructiveHint == nil:
		add(RuleAnnotationsMissing, "neither readOnlyHint nor destructiveHint: clients have to treat the tool as one that destroys, and ask before each call")
	case a.ReadOnly() && a.DestructiveHint != nil && *a.DestructiveHint:
		add(RuleAnnotations, "readOnlyHint and destructiveHint are both true; a tool that only reads destroys nothing")
	case a.ReadOnly() && slices.Contains(destructive, first):
		add(RuleAnnotations, fmt.Sprintf("readOnlyHint is true, and the name begins with %q; one of them is wrong", first))
	}
}

// firstWord returns the first word of a name such as delete_note or deleteNote, in lower case.
func firstWord(name string) string {
	end := strings.IndexFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' || unicode.IsUpper(r) })
	if end <= 0 {
		return strings.ToLower(name)
	}
	return strings.ToLower(name[:end])
}

// models adds what model APIs do not take, once for all that do not. What one only ignores is added once for
// all places.
func (l *linter) models(tools []mcp.Tool) {
	type key struct{ tool, place, text string }
	places := make(map[key]int)
	apis := make(map[key][]string)
	var order []key
	findings := make(map[key]mcpmodel.Finding)
	for _, f := range mcpmodel.Lint(tools) {
		k := key{f.Tool, f.Place, f.Text}
		if !f.Refused {
			k = key{text: f.Text + " " + f.API}
		}
		if places[k]++; apis[k] == nil {
			order, findings[k] = append(order, k), f
		}
		if !slices.Contains(apis[k], f.API) {
			apis[k] = append(apis[k], f.API)
		}
	}
	for _, k := range order {
		f := findings[k]
		rule, text := RuleModel, f.Text+": refused by "+strings.Join(apis[k], ", ")
		if !f.Refused {
			rule, text = RuleModelIgnored, f.Text+": ignored by "+f.API
			if places[k] > 1 {
				text += fmt.Sprintf(", here and in %d more places", places[k]-1)
			}
		}
		feature := fmt.Sprintf("tool %q", f.Tool)
		if f.Place == "" { // the number of tools
			feature = ""
		}
		l.add(Finding{Rule: rule, Feature: feature, Place: f.Place, Fault: f.Refused, Text: text})
	}
}

// names looks for names that occur twice, or are easily mistaken for each other.
func (l *linter) names[T any](kind string, all []T, name func(T) string) {
	seen, folded := make(map[string]bool), make(map[string]string)
	for _, one := range all {
		n := name(one)
		if seen[n] {
			l.add(Finding{Rule: RuleDuplicate, Feature: fmt.Sprintf("%s %q", kind, n), Fault: true, Text: "it is listed twice; clients use one of them"})
			continue
		}
		seen[n] = true
		if kind != "tool" && kind != "prompt" {
			continue
		}
		f := strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(n))
		if other, ok := folded[f]; ok {
			l.add(Finding{Rule: RuleSimilarNames, Feature: fmt.Sprintf("%s %q", kind, n), Place: "/name", Text: fmt.Sprintf("a model mistakes it for %q, and clients that rename features may give both one name", other)})
		}
		folded[f] = n
	}
}

func (l *linter) prompts(all []mcp.Prompt) {
	l.names("prompt", all, func(p mcp.Prompt) string { return p.Name })
	for i := range all {
		p := &all[i]
		feature := fmt.Sprintf("prompt %q", p.Name)
		l.description(feature, p.Description)
		seen := make(map[string]bool)
		for _, a := range p.Arguments {
			if seen[a.Name] {
				l.add(Finding{Rule: RuleDuplicate, Feature: feature, Place: "/arguments", Fault: true, Text: fmt.Sprintf("the argument %q is there twice", a.Name)})
			}
			seen[a.Name] = true
		}
	}
}

func (l *linter) resources(all []mcp.Resource) {
	l.names("resource", all, func(r mcp.Resource) string { return r.URI })
	for i := range all {
		r := &all[i]
		feature := fmt.Sprintf("resource %q", r.URI)
		l.text(feature, "/description", r.Description)
		if u, err := url.Parse(r.URI); err != nil || u.Scheme == "" {
			l.add(Finding{Rule: RuleURI, Feature: feature, Place: "/uri", Fault: true, Text: "want a URI with a scheme, such as notes://today"})
		}
		l.mimeType(feature, r.MIMEType)
	}
}

func (l *linter) templates(all []mcp.ResourceTemplate) {
	l.names("resource template", all, func(t mcp.ResourceTemplate) string { return t.URITemplate })
	for i := range all {
		t := &all[i]
		feature := fmt.Sprintf("resource template %q", t.URITemplate)
		l.text(feature, "/description", t.Description)
		if _, err := uritemplate.Parse(t.URITemplate); err != nil {
			l.add(Finding{Rule: RuleTemplate, Feature: feature, Place: "/uriTemplate", Fault: true, Text: err.Error()})
		}
		l.mimeType(feature, t.MIMEType)
	}
}

func (l *linter) mimeType(feature, kind string) {
	if _, _, err := mime.ParseMediaType(kind); kind != "" && err != nil {
		l.add(Finding{Rule: RuleMIMEType, Feature: feature, Place: "/mimeType", Text: fmt.Sprintf("found %.100q, want a media type such as text/plain", kind)})
	}
}
