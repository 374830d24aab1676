package mcpserver

import "github.com/fondaco/fondaco/mcp/schema"

// Schema is a JSON Schema under construction.
//
// Deprecated: use [schema.Schema].
//
//go:fix inline
type Schema = schema.Schema

// Property is a named property of an object schema.
//
// Deprecated: use [schema.Property].
//
//go:fix inline
type Property = schema.Property

// Object returns the schema of objects with the given properties and no others.
//
// Deprecated: use [schema.Object].
//
//go:fix inline
func Object(props ...schema.Property) *schema.Schema { return schema.Object(props...) }

// Required returns a property that must be present.
//
// Deprecated: use [schema.Required].
//
//go:fix inline
func Required(name string, s *schema.Schema) schema.Property { return schema.Required(name, s) }

// Optional returns a property that may be missing.
//
// Deprecated: use [schema.Optional].
//
//go:fix inline
func Optional(name string, s *schema.Schema) schema.Property { return schema.Optional(name, s) }

// Array returns the schema of arrays whose elements satisfy items.
//
// Deprecated: use [schema.Array].
//
//go:fix inline
func Array(items *schema.Schema) *schema.Schema { return schema.Array(items) }

// Map returns the schema of objects with any property names, whose values
// satisfy values.
//
// Deprecated: use [schema.Map].
//
//go:fix inline
func Map(values *schema.Schema) *schema.Schema { return schema.Map(values) }

// String returns the schema of strings.
//
// Deprecated: use [schema.String].
//
//go:fix inline
func String() *schema.Schema { return schema.String() }

// Integer returns the schema of whole numbers.
//
// Deprecated: use [schema.Integer].
//
//go:fix inline
func Integer() *schema.Schema { return schema.Integer() }

// Number returns the schema of numbers.
//
// Deprecated: use [schema.Number].
//
//go:fix inline
func Number() *schema.Schema { return schema.Number() }

// Boolean returns the schema of booleans.
//
// Deprecated: use [schema.Boolean].
//
//go:fix inline
func Boolean() *schema.Schema { return schema.Boolean() }

// Any returns the schema that allows every value.
//
// Deprecated: use [schema.Any].
//
//go:fix inline
func Any() *schema.Schema { return schema.Any() }
