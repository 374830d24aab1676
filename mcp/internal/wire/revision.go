package wire

import (
	"encoding/json/jsontext"
	"encoding/json/v2"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
)

// head holds the members of a message that identify its revision.
type head struct {
	ProtocolVersion jsontext.Value            `json:"protocolVersion"`
	ProgressToken   jsontext.Value            `json:"progressToken"`
	Capabilities    jsontext.Value            `json:"capabilities"`
	Meta            map[string]jsontext.Value `json:"_meta"`
}

func headOf(params jsontext.Value) (h head) {
	_ = json.Unmarshal(params, &h) // the schema reports its faults
	return h
}

// factsOf returns the facts of the revision in which a request is sent.
func (c *Conversation) factsOf(from Side, m jsonrpc.Message) *dialect.Facts {
	h := headOf(m.Params)
	version, named := h.Meta[mcp.MetaProtocolVersion]
	switch {
	case from == Client && m.Method == mcp.MethodInitialize:
		return ofName(h.ProtocolVersion, dialect.SessionEra)
	case from == Client && named:
		return ofName(version, dialect.StatelessEra)
	case from == Server || c.session != nil:
		return c.sessionFacts()
	}
	return dialect.Newest(dialect.SessionEra)
}

// ofName returns the facts of the revision of that name, if it belongs to the era.
func ofName(name jsontext.Value, era dialect.Era) *dialect.Facts {
	var text string
	_ = json.Unmarshal(name, &text)
	if v, ok := mcp.ParseRevision(text); ok && dialect.Of(v).Era == era {
		return dialect.Of(v)
	}
	return dialect.Newest(era)
}

// factsOfNotification returns the facts of the revision in which a notification is sent: the
// revision of its call or subscription, or else of the session.
func (c *Conversation) factsOfNotification(from Side, m jsonrpc.Message) *dialect.Facts {
	h := headOf(m.Params)
	if _, ok := h.Meta[mcp.MetaSubscriptionID]; ok {
		return dialect.Newest(dialect.StatelessEra)
	}
	for _, k := range c.open[from.other()] {
		if k.token != "" && k.token == string(h.ProgressToken) {
			return k.facts
		}
	}
	return c.sessionFacts()
}

// sessionFacts returns the facts of the session or, without a session, of the stateless era.
func (c *Conversation) sessionFacts() *dialect.Facts {
	if c.session != nil {
		return c.session
	}
	return dialect.Newest(dialect.StatelessEra)
}

// declaresExtensions reports whether a request of the client declares extensions.
func declaresExtensions(m jsonrpc.Message) bool {
	h := headOf(m.Params)
	for _, raw := range []jsontext.Value{h.Capabilities, h.Meta[mcp.MetaClientCapabilities]} {
		var can mcp.ClientCapabilities
		if json.Unmarshal(raw, &can) == nil && len(can.Extensions) > 0 {
			return true
		}
	}
	return false
}

// isCoreResult reports whether a result has a type that the core protocol defines.
func isCoreResult(result jsontext.Value) bool {
	var r mcp.EmptyResult
	_ = json.Unmarshal(result, &r) // the schema reports its faults
	return r.ResultType == "" || r.ResultType == mcp.ResultComplete || r.ResultType == mcp.ResultInputRequired
}

// token returns the progress token that a request carries, or "".
func token(params jsontext.Value) string {
	return string(headOf(params).Meta[mcp.MetaProgressToken])
}
