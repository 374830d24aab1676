package cli

import (
	"encoding/json/v2"
	"errors"

	"github.com/fondaco/fondaco/mcp"
)

// askAdvice says how a server can ask in a call that has ended because the command has not declared what
// the server needs. A host has said before what it would need itself. It is empty for other errors, and where there is no way.
func (p *serverConn) askAdvice(err error) string {
	var missing mcp.MissingCapabilityData
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != mcp.CodeMissingCapability || json.Unmarshal(e.Data, &missing) != nil {
		return ""
	}
	need, m := missing.RequiredCapabilities, p.questions.to
	switch {
	case need.Roots != nil && p.statuses == nil: // a host says what gives it some
		return "the command has no roots; " + m.program() + " roots add SERVER DIRECTORY gives some to a server of your configuration"
	case need.Elicitation == nil && need.Sampling == nil, m.Interactive:
		return ""
	}
	return "there is no terminal to ask on; run the command on one"
}
