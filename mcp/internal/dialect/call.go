package dialect

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// Call is one inbound request or notification in the newest shapes. It has
// everything that a request of the stateless era carries; in the session era
// the session provides it, so code above the dialect is the same for both eras.
type Call struct {
	// Facts of the caller's revision.
	Facts *Facts
	// ID of the request; zero for a notification.
	ID     jsonrpc.ID
	Method string
	// Params is the raw params object, or nil.
	Params jsontext.Value
	Meta   RequestMeta
	// Client is the Implementation that the caller declared, or nil.
	Client *mcp.Implementation
	// Capabilities that the caller declared. Never nil.
	Capabilities *mcp.ClientCapabilities
	// Session is the session that the call belongs to, or nil.
	Session *Session
	// Headers of the call, or nil if the binding has none.
	Headers *Headers

	server       *Server
	inParts      bool // the reply may be
	roundChecked bool // RequestState has returned a state
	name         namePosition
}

// namePosition is where the member name of params is; zero if that is not known.
type namePosition struct{ begin, end uint32 }

// Name returns the member name of the params, which is not checked, or nil if they have none.
func (c *Call) Name() jsontext.Value {
	if at := c.name; at.end > 0 && int(at.end) <= len(c.Params) {
		return c.Params[at.begin:at.end:at.end]
	}
	return rawjson.Member(c.Params, "name")
}

// Decode decodes the params into out, a pointer to a params type. Missing
// params decode as an empty object.
func (c *Call) Decode(out any) error {
	if err := json.Unmarshal(orEmpty(c.Params), out); err != nil {
		return mcp.Errorf(mcp.CodeInvalidParams, "%s: params: %s", c.Method, reason(err))
	}
	return nil
}

// ReleaseMessage releases the params and the protocol's metadata, which can be
// large and which a long-running call no longer needs.
func (c *Call) ReleaseMessage() {
	c.Params = nil
	if len(c.Meta.User()) == 0 {
		c.Meta.raw = nil
	}
	c.Meta.raw = slices.Clone(c.Meta.raw)
}

// ToolCall returns the params of tools/call. Their metadata is without the
// protocol's own keys. They may lack what InputResponses returns if RequestState
// has returned a state. Arguments that are null are absent.
func (c *Call) ToolCall() (p mcp.CallToolParams, err error) {
	plain := true
	for name, value := range rawjson.Members(c.Params) {
		switch string(name) {
		case "name":
			p.Name = string(rawjson.Unquote(value))
			plain = plain && value.Kind() == '"'
		case "arguments":
			p.Arguments = value
		case "_meta":
		case "inputResponses", "requestState":
			plain = plain && c.roundChecked
		default:
			plain = false
		}
	}
	if !plain {
		p = mcp.CallToolParams{}
		err = c.Decode(&p)
	}
	if p.Arguments.Kind() == 'n' {
		p.Arguments = nil
	}
	p.Meta = c.Meta.User()
	return p, err
}

// LogLevel returns the minimum level of log messages that the caller has requested for this
// call, and false if it has requested none.
func (c *Call) LogLevel() (mcp.LoggingLevel, bool) {
	if c.Session != nil {
		return c.Session.LogLevel()
	}
	if c.Meta.LogLevel == nil {
		return "", false
	}
	return *c.Meta.LogLevel, true
}

// Notification encodes a notification for the caller in the form of its
// revision. It returns nil if the revision has no such notification.
func (c *Call) Notification(method string, params any) ([]byte, error) {
	return c.Facts.Notification(method, params)
}

// CanRequest reports whether the server can send requests to the caller while
// the call runs.
func (c *Call) CanRequest() bool { return c.Session != nil }

// orEmpty returns the object, or the empty object for nil.
func orEmpty(object jsontext.Value) jsontext.Value {
	if len(object) == 0 {
		return jsontext.Value("{}")
	}
	return object
}
