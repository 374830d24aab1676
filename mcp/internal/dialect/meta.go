package dialect

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"

	"github.com/fondaco/fondaco/mcp"
)

// Reserved keys of _meta.
//
// Spec: 2026-07-28 basic#meta
const (
	keyVersion      = "io.modelcontextprotocol/protocolVersion"
	keyCapabilities = "io.modelcontextprotocol/clientCapabilities"
	keyClientInfo   = "io.modelcontextprotocol/clientInfo"
	keyServerInfo   = "io.modelcontextprotocol/serverInfo"
	keyLogLevel     = "io.modelcontextprotocol/logLevel"
	keySubscription = "io.modelcontextprotocol/subscriptionId"
	keyProgress     = "progressToken"
)

// RequestMeta is the _meta of a request, with the protocol's own keys apart.
type RequestMeta struct {
	Progress     mcp.ProgressToken       `json:"progressToken,omitzero"`
	Version      *string                 `json:"io.modelcontextprotocol/protocolVersion,omitzero"`
	Capabilities *mcp.ClientCapabilities `json:"io.modelcontextprotocol/clientCapabilities,omitzero"`
	ClientInfo   *mcp.Implementation     `json:"io.modelcontextprotocol/clientInfo,omitzero"`
	LogLevel     *mcp.LoggingLevel       `json:"io.modelcontextprotocol/logLevel,omitzero"`
	TraceParent  string                  `json:"traceparent,omitzero"`
	TraceState   string                  `json:"tracestate,omitzero"`
	Baggage      string                  `json:"baggage,omitzero"`
	Rest         jsontext.Value          `json:",embed"`
}

// marksStateless reports whether raw metadata marks a request of the stateless
// era: by the presence of one of its keys, whatever the value.
func marksStateless(meta jsontext.Value) bool {
	return member(meta, keyVersion) != nil || member(meta, keyCapabilities) != nil
}

// Trace returns the trace context as it came.
func (m *RequestMeta) Trace() mcp.Trace {
	return mcp.Trace{Parent: m.TraceParent, State: m.TraceState, Baggage: m.Baggage}
}

// User returns the metadata that does not belong to the protocol.
func (m *RequestMeta) User() mcp.Meta {
	var user mcp.Meta
	if len(m.Rest) == 0 || json.Unmarshal(m.Rest, &user) != nil {
		return nil
	}
	for key := range user {
		if mcp.ReservedMetaKey(key) {
			delete(user, key)
		}
	}
	return user
}

// member returns the raw value of one top-level member of a JSON object that
// has passed the strict scan, or nil when it has none of that name.
func member(object jsontext.Value, name string) jsontext.Value {
	for key, value := range members(object) {
		if key == name {
			return value
		}
	}
	return nil
}

// members yields the top-level members of a JSON object. Names are decoded,
// values are slices of object.
func members(object jsontext.Value) func(yield func(string, jsontext.Value) bool) {
	return func(yield func(string, jsontext.Value) bool) {
		if object.Kind() != '{' {
			return
		}
		dec := jsontext.NewDecoder(bytes.NewBuffer(object))
		if _, err := dec.ReadToken(); err != nil {
			return
		}
		for dec.PeekKind() == '"' {
			name, err := dec.ReadToken()
			if err != nil {
				return
			}
			key := name.String()
			value, err := dec.ReadValue()
			end := int(dec.InputOffset())
			if err != nil || !yield(key, object[end-len(value):end]) {
				return
			}
		}
	}
}

// readRequestMeta decodes params._meta. Malformed metadata is an invalid-params
// error; absent metadata is the zero RequestMeta.
func readRequestMeta(params jsontext.Value) (RequestMeta, *mcp.Error) {
	var meta RequestMeta
	raw := member(params, "_meta")
	if raw == nil {
		return meta, nil
	}
	if err := json.Unmarshal(raw, &meta); err != nil {
		return RequestMeta{}, mcp.Errorf(mcp.CodeInvalidParams, "_meta: %s", reason(err))
	}
	return meta, nil
}

// cleanMeta returns what of user's metadata may be sent: keys that follow the
// grammar and are not the protocol's own.
func cleanMeta(user mcp.Meta) mcp.Meta {
	var clean mcp.Meta
	for key, value := range user {
		if mcp.ReservedMetaKey(key) || mcp.CheckMetaKey(key) != nil {
			continue
		}
		if clean == nil {
			clean = make(mcp.Meta, len(user))
		}
		clean[key] = value
	}
	return clean
}
