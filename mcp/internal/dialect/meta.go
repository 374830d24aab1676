package dialect

import (
	"encoding/json/jsontext"
	"encoding/json/v2"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
	"github.com/fondaco/fondaco/mcp/internal/textcache"
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

// A client of the stateless era sends its info and capabilities in each
// request, as the same text.
var (
	versions        = textcache.New(decodeNew[string])
	capabilities    = textcache.New(decodeNew[mcp.ClientCapabilities])
	implementations = textcache.New(decodeNew[mcp.Implementation])
	levels          = textcache.New(decodeNew[mcp.LoggingLevel])
)

// decodeNew returns nil for null, as decoding into a pointer does.
func decodeNew[T any](text []byte) (value *T, err error) {
	err = json.Unmarshal(text, &value)
	return value, err
}

// RequestMeta is the _meta of a request, with the protocol's own keys decoded.
// The values behind its pointers are shared with other requests and must not be
// changed.
type RequestMeta struct {
	Progress     mcp.ProgressToken
	Version      *string
	Capabilities *mcp.ClientCapabilities
	ClientInfo   *mcp.Implementation
	LogLevel     *mcp.LoggingLevel
	TraceParent  string
	TraceState   string
	Baggage      string

	raw jsontext.Value // the whole object
}

// marksStateless reports whether raw metadata marks a request of the stateless
// era: it has one of that era's keys, with any value but null.
func marksStateless(meta jsontext.Value) bool {
	for key, value := range rawjson.Members(meta) {
		switch string(key) {
		case keyVersion, keyCapabilities:
			if value.Kind() != 'n' {
				return true
			}
		}
	}
	return false
}

// namesStateless reports whether a value of metadata is the name of a stateless revision.
func namesStateless(version jsontext.Value) bool {
	return version.Kind() == '"' && isNameIn(StatelessEra, string(rawjson.Unquote(version)))
}

// Trace returns the trace context, not validated.
func (m *RequestMeta) Trace() mcp.Trace {
	return mcp.Trace{Parent: m.TraceParent, State: m.TraceState, Baggage: m.Baggage}
}

// User returns the metadata without the protocol's own keys.
func (m *RequestMeta) User() mcp.Meta {
	var user mcp.Meta
	for key, value := range rawjson.Members(m.raw) {
		switch {
		case isProtocols(key):
		case user == nil:
			user = mcp.Meta{string(key): value}
		default:
			user[string(key)] = value
		}
	}
	return user
}

// isProtocols reports whether a metadata key belongs to the protocol. It checks
// the keys first that nearly every request has.
func isProtocols(key []byte) bool {
	switch string(key) {
	case keyVersion, keyCapabilities, keyClientInfo, keyLogLevel, keyProgress, mcp.MetaTraceparent, mcp.MetaTracestate, mcp.MetaBaggage:
		return true
	}
	return mcp.ReservedMetaKey(string(key))
}

// findMeta returns the metadata of params, or nil, and where their member name is if it is before the metadata or next to
// it: in nearly all requests, and found without a further look at the text.
func findMeta(params jsontext.Value) (meta jsontext.Value, name namePosition) {
	for key, at := range rawjson.Positions(params) {
		switch string(key) {
		case "_meta":
			meta = params[at.Begin:at.End:at.End]
		case "name":
			name = namePosition{uint32(at.Begin), uint32(at.End)} // a message has less than 4 GiB
		default:
			if meta != nil {
				return meta, name
			}
		}
		if meta != nil && name.end > 0 {
			return meta, name
		}
	}
	return meta, name
}

// readRequestMeta decodes the metadata of a request. Malformed metadata is an invalid-params
// error; absent metadata is the zero RequestMeta. The protocol's own keys are absent if
// they are null. Those of the stateless era are not decoded in a session, where they mean nothing.
func readRequestMeta(raw jsontext.Value, era Era) (RequestMeta, *mcp.Error) {
	meta := RequestMeta{raw: raw}
	if len(meta.raw) > 0 && meta.raw.Kind() != '{' && meta.raw.Kind() != 'n' {
		return RequestMeta{}, mcp.Errorf(mcp.CodeInvalidParams, "_meta: unexpected %s", kindName(byte(meta.raw.Kind())))
	}
	for key, value := range rawjson.Members(meta.raw) {
		if value.Kind() == 'n' {
			continue
		}
		if err := checkMetaSize(key, value, era); err != nil {
			return RequestMeta{}, err
		}
		if err := meta.read(key, value, era); err != nil {
			return RequestMeta{}, mcp.Errorf(mcp.CodeInvalidParams, "_meta: /%s%s", escapePointer(string(key)), reasonBelow(err))
		}
	}
	return meta, nil
}

// read decodes one member.
func (m *RequestMeta) read(key []byte, value jsontext.Value, era Era) error {
	switch string(key) {
	case keyProgress:
		return json.Unmarshal(value, &m.Progress)
	case mcp.MetaTraceparent:
		return json.Unmarshal(value, &m.TraceParent)
	case mcp.MetaTracestate:
		return json.Unmarshal(value, &m.TraceState)
	case mcp.MetaBaggage:
		return json.Unmarshal(value, &m.Baggage)
	}
	if era == StatelessEra {
		return m.readStateless(key, value)
	}
	return nil
}

// readStateless decodes a member that only the stateless era defines.
func (m *RequestMeta) readStateless(key []byte, value jsontext.Value) (err error) {
	switch string(key) {
	case keyVersion:
		m.Version, err = versions.Get(value)
	case keyCapabilities:
		m.Capabilities, err = capabilities.Get(value)
	case keyClientInfo:
		m.ClientInfo, err = implementations.Get(value)
	case keyLogLevel:
		m.LogLevel, err = levels.Get(value)
	}
	return err
}

// cleanMeta returns the members of a user's metadata that may be sent: those
// whose key is valid and does not belong to the protocol.
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
