package mcpserver

import (
	"context"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

var NotifyContext = notifyContext

var NewWaitingQuestions = newWaitingQuestions

// Add adds a question for tests without a client.
func (w *waitingQuestions) Add(ctx context.Context, in *exchange.Inbound) (_ context.Context, done func(), err error) {
	return w.add(ctx, in)
}
