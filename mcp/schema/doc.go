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
// Spec: 2026-07-28 server/tools#tool
package schema
