package relay

import (
	"context"
	"encoding/json/jsontext"
	"maps"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// SendFunc sends one request to an upstream, for instance a call of a tool. What is no mcp.Result, such as
// a completion, it stores in a variable of its caller, which reads the variable if there was no error, and
// returns nil.
type SendFunc func(context.Context, *mcpclient.Client, ...mcpclient.CallOption) (mcp.Result, error)

// Request is one round of a request to relay.
type Request struct {
	// Tool is the upstream's name of the tool that is called. It is empty for other requests.
	Tool    string
	State   RoundState                // after the earlier rounds
	Answers map[string]jsontext.Value // of the caller
	// On is the connection to use; nil stands for any one that serves the caller.
	On     *link.Conn
	Send   SendFunc
	Policy Policy
}

// upstreamAnswers returns the answers to the upstream's questions under the upstream's keys: of the
// caller, and of the user of the host. It returns nil only if the host has nothing to add, either.
func (q *Request) upstreamAnswers() map[string]jsontext.Value {
	if len(q.Answers)+len(q.State.PersonAnswers)+len(q.State.Roots) == 0 {
		return nil
	}
	answers := upstreamAnswers(q.Answers)
	maps.Copy(answers, q.State.PersonAnswers)
	return answers
}

// Policy is what a relay asks about a request.
type Policy interface {
	// Begin is called at the beginning of each round. resumed says that the upstream has got the request
	// already. An error is that of the request, which is not sent.
	Begin(resumed bool) error
	// NextRound returns what the policy keeps of the request until its next round.
	NextRound() jsontext.Value
	// Abandoned is called when a request has ended because its caller sends no further round.
	Abandoned(error)
}
