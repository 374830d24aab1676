package dialect

import (
	"encoding/json/jsontext"
	"reflect"

	"github.com/fondaco/fondaco/mcp"
)

// Limits of what a client says about itself, in bytes of JSON: in initialize, and in the
// metadata of each request of the stateless era.
const (
	maxClientInfo   = 16 << 10
	maxCapabilities = 64 << 10
)

// checkOffer refuses an initialize whose client says more about itself than it may.
func checkOffer(info, capabilities jsontext.Value) error {
	switch {
	case len(info) > maxClientInfo:
		return mcp.Errorf(mcp.CodeInvalidParams, "initialize: clientInfo: %d bytes, want at most %d", len(info), maxClientInfo)
	case len(capabilities) > maxCapabilities:
		return mcp.Errorf(mcp.CodeInvalidParams, "initialize: capabilities: %d bytes, want at most %d", len(capabilities), maxCapabilities)
	}
	return nil
}

// checkMetaSize refuses metadata in which a client says more about itself than it may. In a session
// these keys mean nothing and are not kept.
func checkMetaSize(key []byte, value jsontext.Value, era Era) *mcp.Error {
	if era == SessionEra {
		return nil
	}
	most := len(value)
	switch string(key) {
	case keyClientInfo:
		most = maxClientInfo
	case keyCapabilities:
		most = maxCapabilities
	}
	if len(value) > most {
		return mcp.Errorf(mcp.CodeInvalidParams, "_meta: %s: %d bytes, want at most %d", key, len(value), most)
	}
	return nil
}

// Size is about how many bytes the session keeps of what its client has said about itself.
func (s *Session) Size() int { return sizeOf(s.Client) + sizeOf(s.Capabilities) }

// Size is about how many bytes of its sender the call keeps: the message, twice because the
// author's handler decodes it, and its metadata. What belongs to a session does not count.
func (c *Call) Size() int {
	m := &c.Meta
	size := 2*len(c.Params) + max(0, len(m.raw)-len(c.Params)) +
		len(m.Progress.String()) + len(m.TraceParent) + len(m.TraceState) + len(m.Baggage)
	if c.Session == nil {
		size += sizeOf(c.Client) + sizeOf(c.Capabilities)
	}
	return size
}

// sizeOf returns about how many bytes there are behind a pointer to a decoded value: its texts,
// and what objects and arrays take besides them.
func sizeOf[T any](v *T) int {
	if v == nil {
		return 0
	}
	return sizeBehind(reflect.ValueOf(v).Elem())
}

func sizeBehind(v reflect.Value) (size int) {
	const entry = 64 // of a map, with what the allocator adds
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Pointer:
		if !v.IsNil() {
			size = int(v.Type().Elem().Size()) + sizeBehind(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			size += sizeBehind(field)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return v.Len()
		}
		size = v.Cap() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			size += sizeBehind(v.Index(i))
		}
	case reflect.Map:
		for key, value := range v.Seq2() {
			size += 2*entry + sizeBehind(key) + sizeBehind(value)
		}
	}
	return size
}
