// Package rawjson looks at JSON text without building anything from it, for the
// few places that every message passes.
//
// There are two ways of looking. Accepts and Object take text from a stranger.
// They never accept what encoding/json/jsontext refuses, and leave to that package
// the texts that are rare or wrong: only a text that they cannot vouch for is read
// twice, and there is one judge of what is wrong with it. The other functions are
// for strict JSON and check nothing again; of other text they make nothing of use,
// but no panic either.
package rawjson
