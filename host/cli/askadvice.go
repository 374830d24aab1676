package cli

import (
	"encoding/json/v2"
	"errors"

	"github.com/fondaco/fondaco/mcp"
)

// askAdvice says how a server can ask in a call that has ended because the command has not declared what
// the server needs. It is empty for other errors, and where there is no way.
func (p *serverConn) askAdvice(err error) string {
	var missing mcp.MissingCapabilityData
	e, ok := errors.AsType[*mcp.Error](err)
	if !ok || e.Code != mcp.CodeMissingCapability || json.Unmarshal(e.Data, &missing) != nil {
		return ""
	}
	need := missing.RequiredCapabilities
	switch program := p.questions.to.program(); {
	case need.Roots != nil:
		return "the command has no roots; " + program + " roots add SERVER DIRECTORY gives some to a server of your configuration"
	case need.Elicitation == nil && need.Sampling == nil, p.questions.to.Interactive:
		return ""
	case !p.running:
		return "there is no terminal to ask on; run the command on one"
	case need.Sampling != nil:
		return "there is no terminal to ask on, and the host asks nobody for the answer of a model; run the command on a terminal, or set \"sampling\": \"ask\" " +
			"for the server at a host that has a terminal (" + program + " up)"
	default:
		return "there is no terminal to ask on, and the host asks nobody for this server; run the command on a terminal, or start the host on one (" + program + " up), " +
			"or set \"questions\": true under \"consent\" in its configuration and answer in its console (" + program + " open)"
	}
}
