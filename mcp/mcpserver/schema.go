package mcpserver

import "github.com/fondaco/fondaco/mcp/internal/schema"

// Schema builds a JSON Schema for those who do not want a struct for it:
//
//	mcpserver.Object(
//		mcpserver.Required("city", mcpserver.String().Doc("name of a city")),
//		mcpserver.Optional("days", mcpserver.Integer().Min(1).Max(14)),
//	).JSON()
//
// Each method changes the schema and returns it. JSON reports what makes no
// sense.
type Schema = schema.Schema

// Property is a named member of an object schema.
type Property = schema.Property

// Object returns the schema of an object with the given properties and no others.
func Object(props ...Property) *Schema { return schema.Object(props...) }

// Required returns a property that must be there.
func Required(name string, s *Schema) Property { return schema.Required(name, s) }

// Optional returns a property that may be missing.
func Optional(name string, s *Schema) Property { return schema.Optional(name, s) }

// Array returns the schema of an array whose items satisfy items.
func Array(items *Schema) *Schema { return schema.Array(items) }

// Map returns the schema of an object with any names, whose values satisfy values.
func Map(values *Schema) *Schema { return schema.Map(values) }

// String returns the schema of a string.
func String() *Schema { return schema.String() }

// Integer returns the schema of a whole number.
func Integer() *Schema { return schema.Integer() }

// Number returns the schema of a number.
func Number() *Schema { return schema.Number() }

// Boolean returns the schema of true and false.
func Boolean() *Schema { return schema.Boolean() }

// Any returns the schema that every value satisfies.
func Any() *Schema { return schema.Any() }
