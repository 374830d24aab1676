package dialect

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"hash/maphash"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
)

// A client of the stateless era sends its info and capabilities in each
// request, as the same text.
var (
	versions        decodeCache[string]
	capabilities    decodeCache[mcp.ClientCapabilities]
	implementations decodeCache[mcp.Implementation]
	levels          decodeCache[mcp.LoggingLevel]
)

// decodeCache decodes texts and caches recently decoded values. All senders share the cache,
// because equal texts have equal values. It is safe for concurrent use.
type decodeCache[T any] struct {
	slots [64]atomic.Pointer[decoded[T]]
}

type decoded[T any] struct {
	text  string
	value *T
}

// maxCachedText is the maximum size of a cached text, in bytes.
const maxCachedText = 2048

var seed = maphash.MakeSeed()

// decode returns the value of a text. The value is shared and must not be
// changed.
func (r *decodeCache[T]) decode(text jsontext.Value) (*T, error) {
	if len(text) > maxCachedText {
		return decodeNew[T](text)
	}
	slot := &r.slots[maphash.Bytes(seed, text)%uint64(len(r.slots))]
	if d := slot.Load(); d != nil && d.text == string(text) {
		return d.value, nil
	}
	value, err := decodeNew[T](text)
	if err == nil && value != nil {
		slot.Store(&decoded[T]{string(text), value})
	}
	return value, err
}

// decodeNew returns nil for null, as decoding into a pointer does.
func decodeNew[T any](text jsontext.Value) (value *T, err error) {
	err = json.Unmarshal(text, &value)
	return value, err
}
