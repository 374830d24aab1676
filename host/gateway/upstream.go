package gateway

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/catalog"
	"github.com/fondaco/fondaco/host/gateway/link"
	"github.com/fondaco/fondaco/host/gateway/relay"
)

// upstream is one server, and the parts of the gateway that serve it.
type upstream struct {
	host.Upstream
	gateway   *Gateway
	log       *slog.Logger
	connector connector
	pool      *link.Pool
	relay     *relay.Relay
	source    *catalog.Source

	lastStatus host.Status // that OnStatus got last; only the goroutine of the shared connection uses it

	warm      warmClients
	processes processes    // that run
	flooded   atomic.Int64 // when it sent too many notifications last, in Unix nanoseconds

	mu            sync.Mutex
	startDeadline time.Time // guarded by mu: list requests wait until then for its start
}

// otherKeys returns the keys of all other upstreams.
func (u *upstream) otherKeys() (keys []string) {
	for _, other := range u.gateway.list() {
		if other.Key != u.Key {
			keys = append(keys, other.Key)
		}
	}
	return keys
}
