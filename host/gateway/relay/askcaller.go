package relay

import (
	"context"
	"errors"
	"sync"

	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// DeclareCapabilities makes a client declare the capabilities of the connection's caller that the
// upstream may use. The connection relays the questions of the server to that caller, whose
// client decides what its user sees. What the caller cannot show is declared, too, and asked of the
// user of the host, if the upstream may ask that user. conn returns the connection that the client has when it is asked.
func (rl *Relay) DeclareCapabilities(o *mcpclient.Options, caps link.Capabilities, conn func() *link.Conn) {
	caps = rl.questions.relayed(caps)
	person := rl.questions.person()
	o.Ask.AllowSecretFields = true // relayedQuestion decides
	if caps.Form {
		o.ElicitForm = askCallerFunc[mcp.ElicitParams, mcp.ElicitResult](rl, conn, mcp.MethodElicit)
	} else if person.Form {
		o.ElicitForm = askPersonFunc[mcp.ElicitParams, mcp.ElicitResult](rl, conn, mcp.MethodElicit)
	}
	if caps.URL {
		elicitURL := askCallerFunc[mcp.ElicitParams, mcp.ElicitResult](rl, conn, mcp.MethodElicit)
		o.ElicitURL = func(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			on := conn()
			if err := rl.elicited.add(on.Session, on.Owner, p); err != nil {
				return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s: %v", mcp.MethodElicit, err)
			}
			return elicitURL(ctx, p)
		}
	} else if person.URL {
		o.ElicitURL = askPersonFunc[mcp.ElicitParams, mcp.ElicitResult](rl, conn, mcp.MethodElicit)
	}
	if caps.Sample {
		o.Sample = askCallerFunc[mcp.CreateMessageParams, mcp.CreateMessageResult](rl, conn, mcp.MethodCreateMessage)
		if rl.reviews() {
			o.Sample = reviewedSampleFunc(rl, conn)
		}
	} else if person.Sample {
		o.Sample = askPersonFunc[mcp.CreateMessageParams, mcp.CreateMessageResult](rl, conn, mcp.MethodCreateMessage)
	}
	if caps.Tools {
		o.Capabilities.Sampling = &mcp.SamplingCapability{Tools: new(mcp.Capability)}
	}
	rl.declareRoots(o, caps, conn)
}

// knownRoots are the roots that a client has named last. The upstream gets them again if the client does
// not answer in time. They are kept for a session only: without one, several clients may be the caller of
// a connection.
type knownRoots struct {
	mu    sync.Mutex
	known bool       // guarded by mu
	roots []mcp.Root // guarded by mu
}

// update returns the roots of an answer, or those that are known if there was none.
func (k *knownRoots) update(roots []mcp.Root, err error) ([]mcp.Root, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, missed := errors.AsType[*link.NoAnswerError](err); missed && k.known {
		return k.roots, nil
	}
	if err == nil {
		k.known, k.roots = true, roots
	}
	return roots, err
}

// askCallerFunc returns a function that relays a question of the upstream to the caller of a
// connection. The answer is never nil.
func askCallerFunc[Params, Answer any](rl *Relay, conn func() *link.Conn, method string) func(context.Context, *Params) (*Answer, error) {
	return func(ctx context.Context, p *Params) (*Answer, error) {
		answer := new(Answer)
		relayed, err := rl.questions.relayedQuestion(method, p)
		if err == nil {
			err = conn().Ask(ctx, method, relayed, answer)
		}
		return answer, err
	}
}
