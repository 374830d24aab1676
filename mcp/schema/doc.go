// Package schema writes JSON Schemas of draft 2020-12: by hand, with functions
// and methods, or inferred from a Go type.
//
//	schema.Object(
//		schema.Required("city", schema.String().Doc("name of a city")),
//		schema.Optional("days", schema.Integer().Min(1).Max(14)),
//	).JSON()
//
//	schema.For[Forecast](schema.Input)
//
// Both give JSON text for the InputSchema or OutputSchema of an mcp.Tool.
// Package mcpserver infers the schemas of typed tools by itself.
//
// # Struct tags
//
// For reads the json tags of a struct as encoding/json/v2 does. These tags add
// keywords to the schema of a field; each has a method of Schema that means the
// same:
//
//	doc       Doc         description
//	title     Title       title
//	pattern   Pattern     pattern
//	format    Format      format
//	min       Min         minimum
//	max       Max         maximum
//	xmin      Above       exclusiveMinimum
//	xmax      Below       exclusiveMaximum
//	multiple  MultipleOf  multipleOf
//	minlen    MinLen      minLength
//	maxlen    MaxLen      maxLength
//	minitems  MinItems    minItems
//	maxitems  MaxItems    maxItems
//	unique    Unique      uniqueItems ("true")
//	enum      Enum        enum (values separated by "|")
//	const     Const       const
//	default   Default     default
//	example   Example     examples (one)
//	header    Header      x-mcp-header
//
// Values in enum, const, default and example are JSON, except that strings are
// written without quotes.
//
// For refuses tags that were most likely meant for the schema: misspelt ones, names of JSON
// Schema such as maxLength, and tags of other libraries (jsonschema, description, required).
// The error says what to write. Tags of other packages, such as db, are ignored.
//
// # Optional fields
//
// A field is required, unless its json tag has omitzero or omitempty. With omitzero, a field
// is left out of the JSON if it has the zero value of its Go type; with omitempty, if its JSON
// would be null, "", [] or {}, so that 0 and false are written. For Input, a pointer or a
// default makes a field optional, too.
//
// # Types with a schema of their own
//
// A type with a method JSONSchema has the schema that the method returns (see [Describer]).
// It need not be a struct: a string type can list its values in one place, for all fields of
// the type. The option [Describe] gives a schema to a type of another package.
//
// Spec: 2026-07-28 server/tools#tool
package schema
