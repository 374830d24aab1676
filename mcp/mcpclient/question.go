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

type questionKey struct{}

// QuestionFrom returns the question that a handler answers, given the context of the
// handler. It returns false for any other context.
func QuestionFrom(ctx context.Context) (Question, bool) {
	q, ok := ctx.Value(questionKey{}).(Question)
	return q, ok
}
