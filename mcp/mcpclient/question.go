package mcpclient

import (
	"context"

	"github.com/fondaco/fondaco/mcp"
)

// Question describes the question of the server that a handler answers. It is in the
// contexts of Options.ElicitForm, ElicitURL, Sample and Roots, and in those of the hooks
// in Options.Ask.
type Question struct {
	// Method is the method of the question, such as elicitation/create.
	Method string
	// Server is the server's description of itself, which is not verified.
	Server mcp.Implementation
	// Key identifies the question within its call. It is empty in the session era,
	// in which questions have no keys.
	Key string
}

// questionContext is the context of a handler that answers a question.
type questionContext struct {
	context.Context
	method, key string
	agreed      *agreement // nil before the handshake
}

type questionKey struct{}

// Value implements context.Context.
func (c *questionContext) Value(key any) any {
	if key == (questionKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// QuestionFrom returns the question that a handler answers, given the context of the
// handler. It returns false for any other context.
func QuestionFrom(ctx context.Context) (Question, bool) {
	c, ok := ctx.Value(questionKey{}).(*questionContext)
	if !ok {
		return Question{}, false
	}
	q := Question{Method: c.method, Key: c.key}
	if c.agreed != nil {
		q.Server = c.agreed.server
	}
	return q, true
}
