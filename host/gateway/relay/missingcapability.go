package relay

import (
	"encoding/json/v2"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// missingCapability returns the error for the caller of a request that its upstream has refused for lack of capabilities,
// with what would be right. It is nil if the host has declared them, which only the host and the upstream can mend.
func (c *callerErrors) missingCapability(r *mcpserver.Request, e *mcp.Error) error {
	var missing mcp.MissingCapabilityData
	if json.Unmarshal(e.Data, &missing) != nil {
		return nil
	}
	for id := range missing.RequiredCapabilities.Extensions {
		if _, declared := r.Capabilities().Extensions[id]; !declared {
			return boundedError(e)
		}
	}
	have, need := link.CapabilitiesOf(r), link.CapabilitiesFrom(missing.RequiredCapabilities)
	advice := c.questions.advice(have, need)
	switch {
	case have.Lacks(need):
		return withAdvice(boundedError(e), advice)
	case advice != "": // the caller has them, and the settings of the upstream keep them from it
		return newCallerError(r.Method(), fmt.Sprintf("upstream %q: it has to ask in this call; %s", c.Key, advice), e)
	}
	return nil
}

// askedIn returns the capabilities of the requests to a client that the text of an error names.
func askedIn(message string) link.Capabilities {
	return link.Capabilities{
		Form: strings.Contains(message, mcp.MethodElicit), Sample: strings.Contains(message, mcp.MethodCreateMessage),
		Roots: strings.Contains(message, mcp.MethodRootsList),
	}
}

func withAdvice(e *mcp.Error, advice string) *mcp.Error {
	if advice != "" {
		e.Message += "; " + advice
	}
	return e
}

// advice says what would let the upstream ask what it needs in a call of a caller who has certain capabilities. It is
// empty if the caller or the user of the host can be asked.
func (q *questions) advice(have, need link.Capabilities) string {
	may, person := q.Questions(), q.person()
	relayed := q.relayed(have)
	lacks := func(one link.Capabilities) bool {
		return (relayed.Lacks(one) || q.Settings.Share) && person.Lacks(one)
	}
	refused := func(setting string) string {
		return fmt.Sprintf("the settings of the server %q do not allow it to ask for that; want %s", q.Key, setting)
	}
	elicit := link.Capabilities{Form: need.Form, URL: need.URL}
	switch {
	case lacks(need) && q.Settings.Share:
		return fmt.Sprintf("the server %q is shared by all callers, and so asks nobody; want no \"share\" in its settings", q.Key)
	case lacks(elicit) && !may.Elicitation:
		return refused(`"elicitation": true`)
	case lacks(elicit):
		return "want a client that declares elicitation, or " + hostThatAsks
	case lacks(link.Capabilities{Sample: need.Sample}) && may.Sampling == host.SamplingDeny:
		return refused(`"sampling": "relay" or "ask"`)
	case lacks(link.Capabilities{Tools: need.Tools}):
		return "want a client that declares sampling with tools"
	case lacks(link.Capabilities{Sample: need.Sample}) && may.Sampling == host.SamplingAsk:
		return "want a client that declares sampling, and " + hostThatAsks
	case lacks(link.Capabilities{Sample: need.Sample}):
		return `want a client that declares sampling, or "sampling": "ask" in the settings of the server and ` + hostThatAsks
	case lacks(link.Capabilities{Roots: need.Roots}) && !may.Roots:
		return refused(`"roots": true`)
	case lacks(link.Capabilities{Roots: need.Roots}):
		return fmt.Sprintf("want a client that declares roots, or some of the host: \"fondaco roots add %s DIRECTORY\"", host.ShellQuote(q.Key))
	}
	return ""
}

// hostThatAsks is what the host needs to ask its user in place of a client.
const hostThatAsks = `a host that can ask its user: in a terminal ("fondaco up"), or in its console with "questions": true under "consent" in its configuration`
