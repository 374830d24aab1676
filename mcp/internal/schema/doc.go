// Package schema infers, builds, checks and applies JSON Schemas.
//
//	reflect.Type ── For ──┐
//	                      ├── text ── Compile ── Validator ── Validate ── *ValidationError
//	Object(…).JSON() ─────┘     │
//	                            ├── HeaderParams      arguments mirrored in HTTP headers
//	                            ├── CheckElicitation  the restricted schema of forms
//	                            └── ApplyDefaults
//
// A schema from a peer is hostile input. What it costs is counted before it is
// done (bounds.go for the schema, budget.go for each value), nothing outside its
// text is loaded, and a panic of the library becomes an error. The verdicts are
// those of github.com/santhosh-tekuri/jsonschema, which no other package imports.
package schema
