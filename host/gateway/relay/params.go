package relay

import (
	"context"
	"log/slog"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/link"
)

// Params are the parameters of a Relay.
type Params struct {
	*host.Upstream
	Pool *link.Pool
	// OtherKeys returns the keys of the other upstreams, which no question must imitate.
	OtherKeys func() []string
	// ApprovalHint returns what callers see while the upstream waits for the approval of a person.
	ApprovalHint func() string
	// AdmitRoots returns those of the paths of the configuration that the upstream may get as roots now. It is called
	// each time before it gets any.
	AdmitRoots func(ctx context.Context, paths []string) []string
	// AskPerson asks the user of the host a question of the upstream, see gateway.Options. It may be nil.
	AskPerson func(context.Context, *host.ServerQuestion) (*host.ServerAnswer, error)
	Log       *slog.Logger
}
