package dialect

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"hash/maphash"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
)

// What a client of the stateless era says of itself it says with each request, in
// the same words.
var (
	versions        repeated[string]
	capabilities    repeated[mcp.ClientCapabilities]
	implementations repeated[mcp.Implementation]
	levels          repeated[mcp.LoggingLevel]
)

// repeated decodes texts that come again and again. Of those that were decoded last
// it keeps some, whoever has sent them: the same text means the same. It is safe
// for concurrent use.
type repeated[T any] struct {
	slots [64]atomic.Pointer[decoded[T]]
}

type decoded[T any] struct {
	text  string
	value *T
}

// maxRepeated bounds a text that is kept, in bytes.
const maxRepeated = 2048

var seed = maphash.MakeSeed()

// decode returns the value of a text. It is shared, so it is not to be changed.
func (r *repeated[T]) decode(text jsontext.Value) (*T, error) {
	if len(text) > maxRepeated {
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
