package mcpserver

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/quota"
)

// newSharedRates joins the replicas that keep the rates together, if the options ask for it.
func (s *Server) newSharedRates() *quota.Group {
	if !s.options.Load.orZero().SharedRates {
		return nil
	}
	return quota.New(quota.Options{
		Store: s.store, Server: s.info.Name, Secret: s.keys.DeriveKey("fondaco names of shared rates 1"), Logger: s.options.logger(),
	})
}

// ownerRate is how often each owner may do something.
type ownerRate struct {
	name    string // the same at all replicas
	rate    mcp.Rate
	buckets *limit.Buckets[limit.Owner] // nil when unlimited
}

func newOwnerRate(name string, r mcp.Rate) ownerRate {
	return ownerRate{name: name, rate: r, buckets: limit.NewBuckets[limit.Owner](r)}
}

// takeRate takes a token of a rate for the sender of a request. Senders that are not
// authenticated are known to this replica alone.
func (s *Server) takeRate(rate *ownerRate, in *exchange.Inbound) (wait time.Duration, ok bool) {
	if who := in.Principal(); s.sharedRates != nil && who.Authenticated() {
		return s.sharedRates.Take(quota.Key{Name: rate.name, Principal: who, Rate: rate.rate})
	}
	return rate.buckets.Take(in.Owner().Distinct())
}
