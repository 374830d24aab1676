package mcpserver

import (
	"context"
	"flag"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/exchange"
)

var NotifyContext = notifyContext

// ReadMainFlags returns the values of the flags of Main.
func ReadMainFlags(program *flag.FlagSet, args []string, hasFlagSet bool) (addr string, open bool, err error) {
	f, err := readMainFlags(program, args, hasFlagSet)
	return f.addr, f.open, err
}

var NewWaitingQuestions = newWaitingQuestions

// Add adds a question for tests without a client.
func (w *waitingQuestions) Add(ctx context.Context, in *exchange.Inbound) (_ context.Context, done func(), err error) {
	return w.add(ctx, in)
}

// SetEOFGrace replaces the time that running requests have after the end of the input.
func SetEOFGrace(d time.Duration) { eofGrace = d }
