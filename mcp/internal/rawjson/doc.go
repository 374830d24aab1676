// Package rawjson reads JSON text without building values from it, for code
// that every message passes.
//
// Accepts and Object take text from a peer. They accept only text that
// encoding/json/jsontext accepts, but not all of it: a rare or invalid text is read
// again by that package, which alone decides what is wrong with it. The other
// functions are for strict JSON and check nothing. For other text their results
// are useless, but they do not panic.
package rawjson
