package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Call is a call of a client that is forwarded to the foreign server. All methods are safe
// for concurrent use.
type Call struct {
	// Token is the progress token of the forwarded request. No other call has it.
	Token int64

	ctx   context.Context
	mu    sync.Mutex
	asked map[string]int // questions by their text; guarded by mu
}

type callKey struct{}

var tokens atomic.Int64

func newCall(ctx context.Context) *Call {
	return &Call{Token: tokens.Add(1), ctx: ctx, asked: make(map[string]int)}
}

// CallFrom returns the call that a context belongs to, or nil.
func CallFrom(ctx context.Context) *Call {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c
}

// Context returns the context of the handler that forwards the call.
func (c *Call) Context() context.Context { return c.ctx }

// Request returns the request of the client.
func (c *Call) Request() *mcpserver.Request { return mcpserver.From(c.ctx) }

// Notify sends a notification of the foreign handler to the client: progress, and a log message
// if the client asked for its level. Others have no receiver, and params that cannot be decoded
// are ignored.
func (c *Call) Notify(method string, params jsontext.Value) {
	switch method {
	case mcp.NotificationProgress:
		var p mcp.ProgressParams
		if json.Unmarshal(params, &p) == nil {
			mcpserver.Progress(c.ctx, p.Progress, p.Total, p.Message)
		}
	case mcp.NotificationMessage:
		var m mcp.LoggingMessageParams
		if json.Unmarshal(params, &m) == nil {
			_ = mcpserver.ForwardLog(c.ctx, &m)
		}
	}
}

// Ask asks the client what the foreign handler asks by a request of the session era, and
// returns the result as JSON. In the stateless era the first answer comes in the next round,
// in which the handler runs again. A question is recognized then by its method, its text and
// how often the handler has asked it before.
func (c *Call) Ask(method string, params jsontext.Value) (jsontext.Value, error) {
	switch method {
	case mcp.MethodElicit:
		var p mcp.ElicitParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		p.ElicitationID, p.Meta = "", nil // the server makes its own
		answer := new(mcp.ElicitResult)
		if err := mcpserver.AskAll(c.ctx, mcpserver.ElicitQuestion(c.key(method, &p), &p, answer)); err != nil {
			return nil, err
		}
		return json.Marshal(answer)
	case mcp.MethodCreateMessage:
		var p mcp.CreateMessageParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, err
		}
		answer := new(mcp.CreateMessageResult)
		if err := mcpserver.AskAll(c.ctx, mcpserver.SampleQuestion(c.key(method, &p), &p, answer)); err != nil {
			return nil, err
		}
		return json.Marshal(answer)
	case mcp.MethodRootsList:
		answer := mcp.ListRootsResult{Roots: []mcp.Root{}}
		if err := mcpserver.AskAll(c.ctx, mcpserver.ListRoots(c.key(method, nil), &answer.Roots)); err != nil {
			return nil, err
		}
		return json.Marshal(&answer)
	case mcp.MethodPing:
		return jsontext.Value(`{}`), nil
	}
	return nil, mcp.Errorf(mcp.CodeMethodNotFound, "%s: the adapter sends elicitation/create, sampling/createMessage and roots/list", method)
}

// ErrNoCall is the error of questions that belong to no call.
var ErrNoCall = errors.New("no call of a client: want the context that the handler was called with")

// key returns the key of a question.
func (c *Call) key(method string, params any) string {
	raw, _ := json.Marshal(params) // what cannot be encoded, cannot be asked
	sum := sha256.Sum256(append([]byte(method+"\n"), raw...))
	text := base32.StdEncoding.EncodeToString(sum[:15])
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[text]++
	return fmt.Sprintf("%s-%d", text, c.asked[text])
}
