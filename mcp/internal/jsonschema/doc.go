// Package jsonschema checks JSON Schemas and validates values against them.
//
//	text ── Compile ── Validator ── Validate ── *ValidationError
//	  │
//	  ├── HeaderParams      arguments mirrored in HTTP headers
//	  ├── CheckElicitation  the restricted schema of forms
//	  └── ApplyDefaults
//
// A schema from a peer is hostile input. Its costs are counted before they are
// incurred (bounds.go for the schema, budget.go for each value), nothing outside
// its text is loaded, and a panic of the library becomes an error. Values are
// validated by github.com/santhosh-tekuri/jsonschema, which no other package
// imports. Package schema of the public API writes schemas.
package jsonschema
