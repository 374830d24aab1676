package console

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

const (
	// maxDepth limits how deep objects are in a form. What is deeper is a field with JSON.
	maxDepth = 4
	// maxFields limits the fields of a form. A tool with more has one field with JSON.
	maxFields = 200
	// maxFollowed limits the bytes that are read to follow references in a schema: each is looked up
	// in the whole schema. A field with a further reference is one with JSON.
	maxFollowed = 16 << 20
)

// field is a part of a form for a JSON Schema.
type field struct {
	// Name is the JSON Pointer of the value, which is the name of the input, too.
	Name, Label, Help string
	Required          bool
	// Input is what the user fills in.
	Input input
	// Type is that of an HTML input, for one line of text.
	Type string
	// Items is the input of each line of linesInput.
	Items input
	// Options are the values to choose from, as JSON.
	Options []choice
	// Value is what the user has written, or the default of the schema.
	Value string
	// Fields are those of an object.
	Fields []*field
}

// Hint is what the user has to know for the input.
func (f *field) Hint() string {
	switch f.Input {
	case linesInput:
		return sentences(f.Help, "One value on each line.")
	case jsonInput:
		return sentences(f.Help, "Written as JSON.")
	}
	return f.Help
}

// sentences joins two texts.
func sentences(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return strings.TrimRight(first, ". ") + ". " + second
}

// choice is a value that can be chosen.
type choice struct{ Value, Label string }

// input is a kind of field.
type input string

// The inputs.
const (
	textInput   input = "text"
	numberInput input = "number"
	choiceInput input = "choice"
	linesInput  input = "lines" // an array with one value on each line
	jsonInput   input = "json"
	groupInput  input = "group" // an object
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
}

// formBuilder makes the fields for a schema.
type formBuilder struct {
	root     jsontext.Value
	fields   int
	followed int // bytes
}

// newForm returns the fields for the schema of an object, or false if a form cannot express it.
func newForm(schema jsontext.Value) ([]*field, bool) {
	b := &formBuilder{root: schema}
	n, ok := b.node(schema)
	if !ok || len(n.OneOf)+len(n.AnyOf)+len(n.AllOf) > 0 {
		return nil, false
	}
	fields := b.properties(&n, "", 0)
	return fields, b.fields <= maxFields
}

// node reads a schema, of which it follows a reference within the root.
func (b *formBuilder) node(raw jsontext.Value) (n schemaNode, ok bool) {
	for range maxDepth {
		n = schemaNode{}
		if raw.Kind() != '{' || json.Unmarshal(raw, &n) != nil {
			return n, false
		}
		pointer, local := strings.CutPrefix(n.Ref, "#")
		switch {
		case n.Ref == "":
			return n, true
		case !local:
			return n, false
		}
		if b.followed += len(b.root); b.followed > maxFollowed {
			return n, false
		}
		if raw, ok = valueAt(b.root, pointer); !ok {
			return n, false
		}
	}
	return n, false
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
	f.Value = string(n.Default)
	if f.Options, ok = b.choices(&n, kind); ok {
		f.Input = choiceInput
		return f
	}
	if len(n.OneOf)+len(n.AnyOf) > 0 {
		return f
	}
	switch kind {
	case "string":
		f.Input, f.Type, f.Value = textInput, inputType(n.Format), stringOf(n.Default)
	case "integer", "number":
		f.Input = numberInput
	case "array":
		f.Items = b.itemInput(n.Items)
		if f.Items == "" {
			break
		}
		f.Input, f.Value = linesInput, linesOf(n.Default)
	case "object":
		if n.Properties == nil || depth+1 == maxDepth {
			break
		}
		f.Input, f.Fields = groupInput, b.properties(&n, path, depth+1)
	}
	return f
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
	for _, raw := range slices.Concat(n.OneOf, n.AnyOf) {
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
func (b *formBuilder) itemInput(raw jsontext.Value) input {
	n, ok := b.node(raw)
	if !ok || len(n.OneOf)+len(n.AnyOf)+len(n.AllOf) > 0 {
		return ""
	}
	switch n.kind() {
	case "string":
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
	case "date", "email":
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

func linesOf(raw jsontext.Value) string {
	var items []jsontext.Value
	_ = json.Unmarshal(raw, &items)
	var lines []string
	for _, item := range items {
		lines = append(lines, labelOf(item))
	}
	return strings.Join(lines, "\n")
}

// fill puts what the user has written into the fields.
func fill(fields []*field, form url.Values) {
	for _, f := range fields {
		if f.Input == groupInput {
			fill(f.Fields, form)
			continue
		}
		f.Value = strings.ReplaceAll(form.Get(f.Name), "\r\n", "\n")
	}
}

// encodeForm returns the object that the user has written. Fields without a value are left out, and
// so are objects without members, unless they are required.
func encodeForm(fields []*field) (jsontext.Value, error) {
	var failed []error
	object := encodeFields(fields, &failed)
	return object, errors.Join(failed...)
}

func encodeFields(fields []*field, failed *[]error) jsontext.Value {
	var b bytes.Buffer
	for _, f := range fields {
		value, err := f.encode(failed)
		switch {
		case err != nil:
			*failed = append(*failed, fmt.Errorf("%s: %w", f.Label, err))
			continue
		case value == nil:
			continue
		}
		name, err := json.Marshal(f.Label)
		if err != nil { // it is from JSON, but may have been no UTF-8
			*failed = append(*failed, err)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", name, value)
	}
	return jsontext.Value("{" + b.String() + "}")
}

// encode returns the value of a field, or nil if it has none.
func (f *field) encode(failed *[]error) (jsontext.Value, error) {
	switch {
	case f.Input == groupInput:
		object := encodeFields(f.Fields, failed)
		if len(object) == len("{}") && !f.Required {
			return nil, nil
		}
		return object, nil
	case strings.TrimSpace(f.Value) == "":
		return nil, nil
	case f.Input == linesInput:
		var items [][]byte
		for line := range strings.SplitSeq(strings.TrimRight(f.Value, "\n"), "\n") {
			item, err := encodeLine(f.Items, line)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return jsontext.Value("[" + string(bytes.Join(items, []byte(","))) + "]"), nil
	}
	return encodeLine(f.Input, f.Value)
}

// encodeLine returns one value that is no array.
func encodeLine(as input, text string) (jsontext.Value, error) {
	if as == textInput {
		return json.Marshal(text)
	}
	raw := jsontext.Value(strings.TrimSpace(text))
	switch {
	case as == numberInput && raw.Kind() != '0':
		return nil, fmt.Errorf("found %.40q, want a number", text)
	case !raw.IsValid():
		return nil, fmt.Errorf("found %.40q, want JSON", text)
	}
	return raw, nil
}
