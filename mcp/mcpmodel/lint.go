package mcpmodel

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
)

// Finding is something in the definition of a tool that a model API does not take.
type Finding struct {
	// API is the name of the API.
	API string
	// Tool is the name of the tool.
	Tool string
	// Place is the JSON Pointer of the place in the definition, such as
	// /inputSchema/properties/city.
	Place string
	// Refused means that the API refuses requests with the tool as it is. Programs that pass
	// schemas on as they come, as some do, fail with it. Otherwise the API ignores what the
	// finding is about.
	Refused bool
	// Unusable means that Tools cannot convert the tool either.
	Unusable bool
	// Text says what was found and what would be right.
	Text string
}

// String returns the finding in one line.
func (f Finding) String() string { return fmt.Sprintf("tool %q: %s", f.Tool, f.reason()) }

// reason returns the finding without the name of the tool.
func (f Finding) reason() string {
	verb := "ignored by"
	if f.Refused {
		verb = "refused by"
	}
	return fmt.Sprintf("%s: %s: %s %s", f.Place, f.Text, verb, f.API)
}

// Lint returns what model APIs do not take of tools as they are: names, descriptions, keywords,
// formats, names of properties, and limits of schemas. It is for the authors of servers, because
// the programs that use a server are not known: in a test, or at registration by [CheckTool].
// Without apis it checks all four, without strict
// modes; give an API with Options.Strict for what strict mode refuses. Of one schema it reports
// at most 20 findings and one of its size for each API.
func Lint(tools []mcp.Tool, apis ...*API) []Finding {
	if len(apis) == 0 {
		apis = []*API{Anthropic, OpenAIChat, OpenAIResponses, Gemini}
	}
	var all []Finding
	for _, a := range apis {
		for i := range tools {
			all = append(all, a.lint(&tools[i])...)
		}
		if limit := a.rules.tools; over(len(tools), limit) {
			all = append(all, Finding{
				API: a.String(), Tool: tools[limit].Name, Refused: true, Unusable: true,
				Text: fmt.Sprintf("there are %d tools, want at most %d", len(tools), limit),
			})
		}
	}
	return all
}

// CheckTool returns a function for the option CheckTool of a server, which refuses each tool that
// one of the APIs refuses as it is, by the rules of [Lint]. What an API only ignores passes. For a
// log instead of an error call Lint in a function of your own.
func CheckTool(apis ...*API) func(mcp.Tool) error {
	return func(t mcp.Tool) error {
		var refused []error
		for _, f := range Lint([]mcp.Tool{t}, apis...) {
			if f.Refused {
				refused = append(refused, errors.New(f.reason()))
			}
		}
		return errors.Join(refused...)
	}
}

func (a *API) lint(t *mcp.Tool) []Finding {
	var all []Finding
	add := func(f Finding) {
		f.API, f.Tool = a.String(), t.Name
		all = append(all, f)
	}
	if err := a.rules.checkName(t.Name); err != nil {
		add(Finding{Place: "/name", Refused: true, Unusable: true, Text: err.Error()})
	}
	if n := utf8.RuneCountInString(t.Description); over(n, a.rules.description) {
		add(Finding{Place: "/description", Refused: true, Text: fmt.Sprintf("has %d characters, want at most %d", n, a.rules.description)})
	}
	r := a.strict()
	if r == nil {
		r = a.rules
	}
	_, err := a.lower(t.InputSchema)
	if err != nil {
		add(Finding{Place: "/inputSchema", Refused: true, Unusable: true, Text: err.Error()})
	}
	for _, f := range checkSchema(t.InputSchema, r) {
		if f.Text != foundReference || !r.references {
			add(f)
		}
	}
	return all
}

// maxFindings is the number of findings of one schema for one API.
const maxFindings = 20

// foundReference is the finding of a reference, which some APIs take.
const foundReference = "found a reference, want the schema itself"

// schemaChecker finds what in a schema, as it is, an API does not take.
type schemaChecker struct {
	rules *rules
	found []Finding
	seen  int // subschemas
	size  schemaSize
}

// checkSchema checks a schema for the arguments of a tool. It follows no references.
func checkSchema(text jsontext.Value, r *rules) []Finding {
	c := &schemaChecker{rules: r}
	c.root(text)
	c.schema(text, "/inputSchema", 0)
	if err := c.size.within(r); err != nil {
		c.found = append(c.found, Finding{Place: "/inputSchema", Refused: true, Text: err.Error()})
	}
	return c.found
}

func (c *schemaChecker) add(place string, refused bool, format string, args ...any) {
	if len(c.found) < maxFindings {
		c.found = append(c.found, Finding{Place: place, Refused: refused, Text: fmt.Sprintf(format, args...)})
	}
}

// root checks what all APIs ask of the root.
func (c *schemaChecker) root(text jsontext.Value) {
	all, err := membersOf(text)
	if err != nil {
		c.add("/inputSchema", true, "%v", err)
		return
	}
	if kind := member(all, "type"); string(kind) != `"object"` {
		c.add("/inputSchema/type", true, `found %s, want "object"`, excerpt(kind))
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf", "enum", "not"} {
		if member(all, keyword) != nil {
			c.add("/inputSchema/"+keyword, true, "%s at the root of the schema, want it in a property", keyword)
		}
	}
}

// annotations have no effect on values, and no API refuses them.
var annotations = []string{"$schema", "$id", "$comment", "$defs", "definitions", "deprecated", "readOnly", "writeOnly", "x-mcp-header", "title", "description"}

func (c *schemaChecker) schema(text jsontext.Value, place string, depth int) {
	if c.seen++; c.seen > maxSubschemas || depth > 2*maxSchemaDepth || text.Kind() != '{' {
		return
	}
	all, err := membersOf(text)
	if err != nil {
		c.add(place, true, "%v", err)
		return
	}
	level := depth
	if member(all, "properties") != nil || member(all, "additionalProperties").Kind() == '{' || member(all, "items") != nil {
		level++
	}
	c.size.depth = max(c.size.depth, level)
	for _, m := range all {
		at := place + "/" + m.name
		switch {
		case m.name == "$ref":
			c.add(at, true, foundReference)
		case !c.rules.takes(m.name) && !(slices.Contains(annotations, m.name) && !c.rules.refusesOther):
			c.add(at, c.rules.refusesOther, "the keyword %.64q is not taken", m.name)
			continue
		}
		c.keyword(m, at, level)
	}
	c.object(all, place)
	if kind := member(all, "type"); string(kind) == `"array"` && member(all, "items") == nil {
		c.add(place, true, "an array without items, want items")
	}
}

func (c *schemaChecker) keyword(m jsonMember, at string, level int) {
	r := c.rules
	switch m.name {
	case "properties":
		all, _ := membersOf(m.value)
		for _, p := range all {
			c.size.properties++
			c.size.stringLen += len(p.name)
			if r.propertyName != nil && !r.propertyName.MatchString(p.name) {
				c.add(at+"/"+p.name, true, "the name of the property is not like %s", r.propertyName)
			}
			c.schema(p.value, at+"/"+p.name, level)
		}
	case "items", "additionalProperties":
		c.schema(m.value, at, level)
	case "anyOf", "oneOf", "allOf", "prefixItems":
		var list []jsontext.Value
		_ = json.Unmarshal(m.value, &list)
		for i, sub := range list {
			c.schema(sub, fmt.Sprintf("%s/%d", at, i), level)
		}
	case "type":
		types, err := readTypes(m.value)
		if err != nil {
			c.add(at, true, "%v", err)
		}
		if n := len(slices.DeleteFunc(types, func(t string) bool { return t == "null" })); n > 1 && !r.typeLists {
			c.add(at, r.refusesOther, "several types, want anyOf")
		}
	case "enum":
		c.enum(m.value, at)
	case "format":
		var format string
		_ = json.Unmarshal(m.value, &format)
		if r.formats != nil && !slices.Contains(r.formats, format) {
			c.add(at, r.refusesOther, "the format %.64q is not taken", format)
		}
	case "minItems":
		if r.minItemsUpTo1 && string(m.value) != "0" && string(m.value) != "1" {
			c.add(at, true, "found %s, want 0 or 1", excerpt(m.value))
		}
	}
}

func (c *schemaChecker) enum(text jsontext.Value, at string) {
	var values []jsontext.Value
	_ = json.Unmarshal(text, &values)
	c.size.addEnum(values)
	for _, v := range values {
		if !strings.ContainsRune(c.rules.enumKinds, rune(kindOf(v))) {
			c.add(at, true, "found the value %s, want values of other types", excerpt(v))
			return
		}
	}
}

// object checks what strict modes ask of objects.
func (c *schemaChecker) object(all []jsonMember, place string) {
	if !c.rules.closed || member(all, "properties") == nil {
		return
	}
	if string(member(all, "additionalProperties")) != "false" {
		c.add(place, true, "additionalProperties is missing, want false")
	}
	if !c.rules.allRequired {
		return
	}
	var required []string
	_ = json.Unmarshal(member(all, "required"), &required)
	props, _ := membersOf(member(all, "properties"))
	for _, p := range props {
		if !slices.Contains(required, p.name) {
			c.add(place, true, "the property %.64q is not required", p.name)
		}
	}
}
