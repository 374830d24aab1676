package mcp

import "encoding/json/v2"

// ElicitSchema is the schema of a form: a flat list of fields, in the order in
// which they are shown. As JSON it is the restricted JSON Schema that the
// protocol allows there; keywords beyond it are dropped on decoding.
//
// Spec: 2026-07-28 client/elicitation#requested-schema
type ElicitSchema struct {
	Fields []ElicitField
}

// ElicitField is one field of a form.
type ElicitField struct {
	// Name is the name of the member in the answer.
	Name string
	// Required means that the form cannot be submitted without the field.
	Required bool
	// Schema is the schema of the field's value.
	Schema PrimitiveSchema
}

// PrimitiveSchema is the schema of one field: a StringSchema, NumberSchema,
// BooleanSchema or EnumSchema, as values.
type PrimitiveSchema interface {
	json.MarshalerTo
	primitive()
}

// StringSchema is the schema of a string.
type StringSchema struct {
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	// Format is empty or one of the formats below.
	Format StringFormat `json:"format,omitzero"`
	// MinLength and MaxLength count characters.
	MinLength *int64  `json:"minLength,omitzero"`
	MaxLength *int64  `json:"maxLength,omitzero"`
	Default   *string `json:"default,omitzero"`
}

// StringFormat is a format that a string must follow.
type StringFormat string

// The formats of strings in a form.
const (
	FormatEmail    StringFormat = "email"
	FormatURI      StringFormat = "uri"
	FormatDate     StringFormat = "date"
	FormatDateTime StringFormat = "date-time"
)

// NumberSchema is the schema of a number.
type NumberSchema struct {
	// Integer means that the number must have no fraction.
	Integer     bool     `json:"-"`
	Title       string   `json:"title,omitzero"`
	Description string   `json:"description,omitzero"`
	Minimum     *float64 `json:"minimum,omitzero"`
	Maximum     *float64 `json:"maximum,omitzero"`
	Default     *float64 `json:"default,omitzero"`
}

// BooleanSchema is the schema of a boolean.
type BooleanSchema struct {
	Title       string `json:"title,omitzero"`
	Description string `json:"description,omitzero"`
	Default     *bool  `json:"default,omitzero"`
}

// EnumSchema is the schema of a choice among options, of one or of several.
type EnumSchema struct {
	Title       string
	Description string
	Options     []EnumOption
	// Multiple means that several options can be chosen; the answer is then a
	// list.
	Multiple bool
	// MinItems and MaxItems bound a choice of several.
	MinItems, MaxItems *int64
	// Default holds the preselected values, at most one unless Multiple is set.
	Default []string
}

// EnumOption is one option of a choice.
type EnumOption struct {
	// Value is the value in the answer.
	Value string `json:"const"`
	// Title is shown instead of Value, unless it is empty.
	Title string `json:"title"`
}

func (StringSchema) primitive()  {}
func (NumberSchema) primitive()  {}
func (BooleanSchema) primitive() {}
func (EnumSchema) primitive()    {}
