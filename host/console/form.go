package console

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxDepth limits how deep objects are in a form. What is deeper is a field with JSON.
	maxDepth = 4
	// maxFields limits the fields of a form. A tool with more has one field with JSON.
	maxFields = 200
	// maxItems limits the items of a list of a form, each with fields of its own.
	maxItems = 50
	// maxAlternatives limits what one field can be. A field with more is one with JSON.
	maxAlternatives = 16
	// maxHops limits how many references and wrappers lead to what a field is.
	maxHops = 8
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
	// Format is the format of the schema, and Limits are those of a number.
	Format, Limits string
	// Items is the input of each line of linesInput.
	Items input
	// Options are the values to choose from, as JSON.
	Options []choice
	// Value is what the user has written, or the default of the schema. Of alternatives it is the index of the chosen
	// one, and of a file its content in base64.
	Value string
	// Values are those that are chosen of choicesInput.
	Values []string
	// Suggestions are values for a text that the server has suggested; HasMore says that it has more. IsSuggested means
	// that it was asked.
	Suggestions          []suggestion
	IsSuggested, HasMore bool
	// Fields are those of an object, the alternatives, or the items of a list.
	Fields []*field
}

// The names of inputs that are no values end in one of these, which no JSON Pointer has.
const (
	alternativeMark = "~2" // which alternative is chosen; with its index, the name of that
	itemsMark       = "~3" // how many items a list has
	fileMark        = "~4" // a file
	mediaTypeMark   = "~5" // behind that of a file: its media type
)

// Alternative is the name of the input that says which alternative is chosen, and Count that of how many items there
// are, and File that of a file.
func (f *field) Alternative() string { return f.Name + alternativeMark }
func (f *field) Count() string       { return f.Name + itemsMark }
func (f *field) File() string        { return f.Name + fileMark }

// Size is the number of bytes of a file.
func (f *field) Size() int { return base64.StdEncoding.DecodedLen(len(f.Value)) }

// maxEcho limits a file that the form has again after a call, in bytes of its text.
const maxEcho = 64 << 10

// IsLong reports whether a file is not in the form after a call.
func (f *field) IsLong() bool { return len(f.Value) > maxEcho }

// hasFile reports whether a form has a file among its fields.
func hasFile(fields []*field) bool {
	return slices.ContainsFunc(fields, func(f *field) bool { return f.Input == fileInput || f.Input == dataInput || hasFile(f.Fields) })
}

// IsChosen reports whether one of the values of choicesInput is chosen.
func (f *field) IsChosen(value string) bool { return slices.Contains(f.Values, value) }

// Hint is what the user has to know for the input.
func (f *field) Hint() string {
	help := sentences(sentences(f.Help, examples[f.Format]), f.Limits)
	switch f.Input {
	case linesInput:
		return sentences(help, "One value on each line.")
	case jsonInput:
		return sentences(help, "Written as JSON.")
	}
	return help
}

// examples are values of the formats that browsers have no input for.
var examples = map[string]string{
	"date-time": "Such as 1985-04-12T23:20:50+01:00.",
	"time":      "Such as 18:30:00+01:00.",
	"duration":  "Such as PT1H30M.",
	"uuid":      "Such as 123e4567-e89b-42d3-a456-426614174000.",
	"ipv4":      "Such as 192.0.2.7.",
	"ipv6":      "Such as 2001:db8::7.",
	"hostname":  "Such as www.example.com.",
	"regex":     "A regular expression.",
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
	textInput         input = "text"
	suggestInput      input = "suggest" // a text for which the server suggests values
	numberInput       input = "number"
	choiceInput       input = "choice"
	choicesInput      input = "choices" // an array of values to choose from
	linesInput        input = "lines"   // an array with one value on each line
	listInput         input = "list"    // an array whose items have fields
	jsonInput         input = "json"
	fileInput         input = "file"         // a string with the content of a file, in base64
	dataInput         input = "data"         // a string with a data URL of a file
	groupInput        input = "group"        // an object
	alternativesInput input = "alternatives" // one of several
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
// one, or of one and null. What is said about the value outside of it counts.
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

// set sets the value of a field, which may be nil.
func (f *field) set(value jsontext.Value) {
	if value == nil {
		return
	}
	switch f.Input {
	case textInput, fileInput, dataInput:
		f.Value = stringOf(value)
	case linesInput:
		f.Value = linesOf(value)
	case choicesInput:
		for _, item := range valuesIn(value) {
			f.Values = append(f.Values, string(item))
		}
	case groupInput:
		for name, member := range members(value) {
			if i := slices.IndexFunc(f.Fields, func(one *field) bool { return one.Label == name }); i >= 0 {
				f.Fields[i].set(member)
			}
		}
	case listInput:
		for i, item := range valuesIn(value) {
			if i < len(f.Fields) {
				f.Fields[i].set(item)
			}
		}
	case alternativesInput: // which one the value is for is not known
	default:
		f.Value = string(value)
	}
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

// fill puts what the user has sent into the fields. A file that was chosen stands for the text beside it.
func fill(fields []*field, form url.Values) {
	for _, f := range fields {
		switch f.Input {
		case groupInput, listInput:
			fill(f.Fields, form)
			continue
		case alternativesInput:
			f.Value = form.Get(f.Alternative())
			fill(f.Fields, form)
			continue
		case choicesInput:
			f.Values = form[f.Name]
			continue
		}
		f.Value = strings.ReplaceAll(form.Get(f.Name), "\r\n", "\n")
		if file := form.Get(f.File()); file != "" && f.Input == fileInput {
			f.Value = file
		} else if file != "" && f.Input == dataInput {
			f.Value = "data:" + form.Get(f.File()+mediaTypeMark) + ";base64," + file
		}
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
	case f.Input == listInput:
		return f.encodeItems(failed), nil
	case f.Input == alternativesInput:
		if chosen, err := strconv.Atoi(f.Value); err == nil && chosen >= 0 && chosen < len(f.Fields) {
			return f.Fields[chosen].encode(failed)
		}
		return nil, nil
	case f.Input == choicesInput:
		return encodeArray(f.Values, f.Required)
	case strings.TrimSpace(f.Value) == "":
		return nil, nil
	case f.Input == linesInput:
		var items []string
		for line := range strings.SplitSeq(strings.TrimRight(f.Value, "\n"), "\n") {
			item, err := encodeLine(f.Items, line)
			if err != nil {
				return nil, err
			}
			items = append(items, string(item))
		}
		return encodeArray(items, true)
	case f.Input == fileInput:
		if _, err := base64.StdEncoding.DecodeString(f.Value); err != nil {
			return nil, fmt.Errorf("found %.40q, want a file, or base64", f.Value)
		}
		return json.Marshal(f.Value)
	case f.Input == dataInput:
		return json.Marshal(f.Value)
	}
	return encodeLine(f.Input, f.Value)
}

// encodeItems returns the array of the items that have a value.
func (f *field) encodeItems(failed *[]error) jsontext.Value {
	var items []string
	for _, item := range f.Fields {
		value, err := item.encode(failed)
		if err != nil {
			*failed = append(*failed, fmt.Errorf("%s: %s: %w", f.Label, item.Label, err))
		} else if value != nil {
			items = append(items, string(value))
		}
	}
	array, _ := encodeArray(items, f.Required) // each was encoded above
	return array
}

// encodeArray returns an array of values that are JSON, or nil if it is empty and not required.
func encodeArray(items []string, required bool) (jsontext.Value, error) {
	if len(items) == 0 && !required {
		return nil, nil
	}
	array := jsontext.Value("[" + strings.Join(items, ",") + "]")
	if !array.IsValid() {
		return nil, errors.New("want values of the form")
	}
	return array, nil
}

// resize changes how many items a list has in what the user has sent, if a button of the form says so, and reports
// whether it does.
func resize(form url.Values) bool {
	for button, change := range map[string]int{"more": 1, "fewer": -1} {
		if name := form.Get(button); name != "" {
			n, _ := strconv.Atoi(form.Get(name + itemsMark))
			form.Set(name+itemsMark, strconv.Itoa(min(max(n+change, 0), maxItems)))
			return true
		}
	}
	return false
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
