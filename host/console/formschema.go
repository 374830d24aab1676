package console

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// schemaNode has the keywords of a JSON Schema that a form follows. The server checks the rest.
type schemaNode struct {
	Ref         string           `json:"$ref,omitzero"`
	Type        jsontext.Value   `json:"type,omitzero"`
	Title       string           `json:"title,omitzero"`
	Description string           `json:"description,omitzero"`
	Format      string           `json:"format,omitzero"`
	Default     jsontext.Value   `json:"default,omitzero"`
	Const       jsontext.Value   `json:"const,omitzero"`
	Enum        []jsontext.Value `json:"enum,omitzero"`
	OneOf       []jsontext.Value `json:"oneOf,omitzero"`
	AnyOf       []jsontext.Value `json:"anyOf,omitzero"`
	AllOf       []jsontext.Value `json:"allOf,omitzero"`
	Items       jsontext.Value   `json:"items,omitzero"`
	Properties  jsontext.Value   `json:"properties,omitzero"`
	Required    []string         `json:"required,omitzero"`

	Encoding  string         `json:"contentEncoding,omitzero"`
	MediaType string         `json:"contentMediaType,omitzero"`
	Minimum   jsontext.Value `json:"minimum,omitzero"`
	Maximum   jsontext.Value `json:"maximum,omitzero"`
}

// formBuilder makes the fields for a schema.
type formBuilder struct {
	root     jsontext.Value
	sent     url.Values // what the user has sent, which says how long lists are; nil for nothing
	fields   int
	followed int // bytes
}

// newForm returns the fields for the schema of an object, or false if a form cannot express it. They have the values
// of the schema; sent, which may be nil, says how many items lists have.
func newForm(schema jsontext.Value, sent url.Values) ([]*field, bool) {
	b := &formBuilder{root: schema, sent: sent}
	n, ok := b.node(schema)
	if !ok || len(n.alternatives())+len(n.AllOf) > 0 {
		return nil, false
	}
	fields := b.properties(&n, "", 0)
	return fields, b.fields <= maxFields
}

// node reads a schema. It follows a reference within the root, and looks into what wraps a single schema: a list of
// one, or of one and null. Its title, description and default come before those of that schema.
func (b *formBuilder) node(raw jsontext.Value) (schemaNode, bool) {
	var outer schemaNode
	for range maxHops {
		var n schemaNode
		if raw.Kind() != '{' || json.Unmarshal(raw, &n) != nil {
			return n, false
		}
		n.Title, n.Description = cmp.Or(outer.Title, n.Title), cmp.Or(outer.Description, n.Description)
		if outer.Default != nil {
			n.Default = outer.Default
		}
		outer = n
		pointer, local := strings.CutPrefix(n.Ref, "#")
		switch only := n.only(); {
		case n.Ref == "" && only == nil:
			return n, true
		case n.Ref == "":
			raw = only
			continue
		case !local:
			return n, false
		}
		if b.followed += len(b.root); b.followed > maxFollowed {
			return n, false
		}
		var ok bool
		if raw, ok = valueAt(b.root, pointer); !ok {
			return n, false
		}
	}
	return outer, false
}

// only returns the single schema that n wraps, or nil.
func (n *schemaNode) only() jsontext.Value {
	if n.Properties != nil {
		return nil
	}
	all := slices.Concat(n.AllOf, slices.DeleteFunc(n.alternatives(), isNull))
	if len(all) == 1 {
		return all[0]
	}
	return nil
}

// alternatives returns what a value can be. Those that only say which members an object has to have are left out,
// because a form shows all of them.
func (n *schemaNode) alternatives() []jsontext.Value {
	return slices.DeleteFunc(slices.Concat(n.OneOf, n.AnyOf), func(raw jsontext.Value) bool {
		keywords := 0
		for name := range members(raw) {
			if keywords++; name != "required" {
				return false
			}
		}
		return keywords == 1
	})
}

// isNull reports whether a schema allows nothing but null.
func isNull(raw jsontext.Value) bool {
	var n schemaNode
	return json.Unmarshal(raw, &n) == nil && (string(n.Type) == `"null"` || n.Const.Kind() == 'n')
}

// valueAt returns the value at a JSON Pointer.
func valueAt(raw jsontext.Value, pointer string) (jsontext.Value, bool) {
	for name := range jsontext.Pointer(pointer).Tokens() {
		found := false
		for key, value := range members(raw) {
			if key == name {
				raw, found = value, true
			}
		}
		if !found {
			return nil, false
		}
	}
	return raw, true
}

// members yields the members of an object, in their order.
func members(raw jsontext.Value) func(yield func(string, jsontext.Value) bool) {
	return func(yield func(string, jsontext.Value) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(raw))
		if begin, err := d.ReadToken(); err != nil || begin.Kind() != '{' {
			return
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil {
				return
			}
			key := name.String()
			value, err := d.ReadValue()
			if err != nil || !yield(key, value.Clone()) {
				return
			}
		}
	}
}

func (b *formBuilder) properties(n *schemaNode, path string, depth int) (fields []*field) {
	for name, raw := range members(n.Properties) {
		if b.fields++; b.fields > maxFields {
			return nil
		}
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		fields = append(fields, b.field(raw, name, at, slices.Contains(n.Required, name), depth))
	}
	return fields
}

// field returns the field for one value. What no other input can express is JSON.
func (b *formBuilder) field(raw jsontext.Value, name, path string, required bool, depth int) *field {
	n, ok := b.node(raw)
	f := &field{Name: path, Label: name, Help: n.Description, Required: required, Input: jsonInput}
	if n.Title != "" && n.Title != name {
		f.Help = sentences(n.Title, f.Help)
	}
	if !ok || len(n.AllOf) > 0 {
		return f
	}
	kind := n.kind()
	if f.Options, ok = b.choices(&n, kind); ok {
		f.Input = choiceInput
		if n.Const != nil && required {
			n.Default = n.Const
		}
	} else if all := slices.DeleteFunc(n.alternatives(), isNull); len(all) > 0 {
		f.Input, f.Fields = b.alternatives(&n, all, path, depth)
	} else {
		b.setInput(f, &n, kind, depth)
	}
	f.set(n.Default)
	return f
}

// setInput sets the input for a value of one kind. It stays JSON for a value of any other.
func (b *formBuilder) setInput(f *field, n *schemaNode, kind string, depth int) {
	switch kind {
	case "string":
		f.Input, f.Type, f.Format = textInput, inputType(n.Format), n.Format
		switch {
		case n.Encoding == "base64" || n.Format == "byte":
			f.Input, f.Type = fileInput, n.MediaType
		case n.Format == "data-url":
			f.Input, f.Type = dataInput, n.MediaType
		}
	case "integer", "number":
		f.Input, f.Limits = numberInput, limitsOf(n)
	case "array":
		b.setItems(f, n, depth)
	case "object":
		if n.Properties != nil && depth+1 < maxDepth {
			f.Input, f.Fields = groupInput, b.properties(n, f.Name, depth+1)
		}
	}
}

// setItems sets the input for an array: a line for each item or, if that cannot express one, fields for each.
func (b *formBuilder) setItems(f *field, n *schemaNode, depth int) {
	item, ok := b.node(n.Items)
	if !ok {
		return
	}
	if f.Options, ok = b.choices(&item, ""); ok {
		f.Input = choicesInput
		return
	}
	if f.Items = b.itemInput(&item); f.Items != "" {
		f.Input = linesInput
		return
	}
	if depth+1 == maxDepth {
		return
	}
	length := len(valuesIn(n.Default))
	if length == 0 && f.Required {
		length = 1
	}
	if sent := b.sent.Get(f.Count()); sent != "" {
		length, _ = strconv.Atoi(sent)
	}
	for i := range min(length, maxItems) {
		if b.fields++; b.fields > maxFields {
			return
		}
		f.Fields = append(f.Fields, b.field(n.Items, strconv.Itoa(i+1), f.Name+"/"+strconv.Itoa(i), true, depth+1))
	}
	f.Input = listInput
}

// alternatives returns a field for each alternative, or JSON if there is one that a form does not express.
func (b *formBuilder) alternatives(n *schemaNode, all []jsontext.Value, path string, depth int) (input, []*field) {
	if n.Properties != nil || depth+1 == maxDepth || len(all) > maxAlternatives {
		return jsonInput, nil
	}
	var fields []*field
	for i, raw := range all {
		one, ok := b.node(raw)
		if b.fields++; !ok || b.fields > maxFields {
			return jsonInput, nil
		}
		f := b.field(raw, cmp.Or(one.Title, one.kind(), "any value"), path+alternativeMark+strconv.Itoa(i), true, depth+1)
		if one.Title != "" {
			f.Help = one.Description // its title is its label
		}
		fields = append(fields, f)
	}
	return alternativesInput, fields
}

// limitsOf says which numbers a schema allows.
func limitsOf(n *schemaNode) string {
	switch {
	case n.Minimum != nil && n.Maximum != nil:
		return fmt.Sprintf("From %s to %s.", n.Minimum, n.Maximum)
	case n.Minimum != nil:
		return fmt.Sprintf("At least %s.", n.Minimum)
	case n.Maximum != nil:
		return fmt.Sprintf("At most %s.", n.Maximum)
	}
	return ""
}

// kind is the type of a value, without null. It is empty for several types and for none.
func (n *schemaNode) kind() string {
	var one string
	if json.Unmarshal(n.Type, &one) == nil {
		return one
	}
	var several []string
	_ = json.Unmarshal(n.Type, &several)
	several = slices.DeleteFunc(several, func(t string) bool { return t == "null" })
	if len(several) == 1 {
		return several[0]
	}
	return ""
}

// choices returns the values to choose from, if the schema lists them.
func (b *formBuilder) choices(n *schemaNode, kind string) (list []choice, ok bool) {
	values := n.Enum
	switch {
	case n.Const != nil:
		values = []jsontext.Value{n.Const}
	case kind == "boolean":
		values = []jsontext.Value{jsontext.Value("true"), jsontext.Value("false")}
	}
	for _, v := range values {
		list = append(list, choice{string(v), labelOf(v)})
	}
	for _, raw := range slices.DeleteFunc(n.alternatives(), isNull) {
		one, ok := b.node(raw)
		if !ok || one.Const == nil {
			return nil, false
		}
		label := labelOf(one.Const)
		if one.Title != "" && one.Title != label {
			label = one.Title + " (" + label + ")"
		}
		list = append(list, choice{string(one.Const), label})
	}
	return list, len(list) > 0
}

// itemInput is the input of the lines for an array, or empty if a line cannot express an item.
func (b *formBuilder) itemInput(n *schemaNode) input {
	if len(n.alternatives())+len(n.AllOf) > 0 {
		return ""
	}
	switch n.kind() {
	case "string":
		if n.Encoding != "" || n.Format == "byte" || n.Format == "data-url" {
			return ""
		}
		return textInput
	case "integer", "number":
		return numberInput
	}
	return ""
}

// inputType is the type of an HTML input for a format. Those that browsers write in another form
// than JSON Schema, such as times, are texts.
func inputType(format string) string {
	switch format {
	case "date", "email", "password":
		return format
	case "uri":
		return "url"
	}
	return "text"
}

func labelOf(raw jsontext.Value) string {
	if raw.Kind() == '"' {
		return stringOf(raw)
	}
	return string(raw)
}

// stringOf returns a JSON string, or nothing for another value.
func stringOf(raw jsontext.Value) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}

// valuesIn returns the items of an array, and none of another value.
func valuesIn(raw jsontext.Value) (items []jsontext.Value) {
	_ = json.Unmarshal(raw, &items)
	return items
}

func linesOf(raw jsontext.Value) string {
	var lines []string
	for _, item := range valuesIn(raw) {
		lines = append(lines, labelOf(item))
	}
	return strings.Join(lines, "\n")
}
