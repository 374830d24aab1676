package mcpserver

// The names below were replaced. They go with the next minor version.

// Form returns ElicitForm(key, message, out).
//
// Deprecated: use [ElicitForm].
//
//go:fix inline
func Form[T any](key, message string, out *T) Question { return ElicitForm(key, message, out) }

// Visit returns ElicitURL(key, message, address).
//
// Deprecated: use [ElicitURL].
//
//go:fix inline
func Visit(key, message, address string) Question { return ElicitURL(key, message, address) }

// VisitRequired returns URLElicitationRequired(message, address).
//
// Deprecated: use [URLElicitationRequired].
//
//go:fix inline
func VisitRequired(message, address string) error { return URLElicitationRequired(message, address) }
