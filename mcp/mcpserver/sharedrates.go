package mcpserver

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
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

// takeRate takes a token of the rate of a method for the sender of a request. Senders that are
// not authenticated are known to this replica alone.
func (s *Server) takeRate(rate methodRate, in *exchange.Inbound) (wait time.Duration, ok bool) {
	if who := in.Principal(); s.sharedRates != nil && who.Authenticated() {
		return s.sharedRates.Take(quota.Key{Name: string(rate.limit), Principal: who, Rate: rate.rate})
	}
	return rate.buckets.Take(in.Owner().Distinct())
}

// takeToolRate takes a token of the rate of a tool.
func (s *Server) takeToolRate(t *tool) (wait time.Duration, ok bool) {
	if s.sharedRates != nil {
		return s.sharedRates.Take(quota.Key{Name: string(mcp.LimitOneTool) + "." + t.def.Name, Rate: t.rate})
	}
	return t.bucket.Take()
}
