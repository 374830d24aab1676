// Package rawjson reads JSON text without building values from it, for code that runs
// for every message.
//
// Accepts and Object take text from a peer. They accept only text that
// encoding/json/jsontext accepts, but not all of it: that package reads a rare or
// invalid text again and alone decides whether it is valid. The other
// functions are for strict JSON and check nothing. For other text their results
// are useless, but they do not panic.
package rawjson
