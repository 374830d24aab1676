package mcpserver

import (
	"net/netip"
	"os"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// newWire returns the Wire of a new connection of messages.
func (s *Server) newWire(client *mcp.Identity, address netip.Addr) *exchange.Wire {
	return exchange.NewWire(s.onMessage, s.options.logger()).Of(client, address)
}

// logWire logs the messages to standard error if the environment asks for it, unless
// Options.OnMessage is set.
func (s *Server) logWire() error {
	log, err := mcpwire.ForVariable(os.Getenv(mcpwire.Variable), os.Stderr)
	if err == nil && log != nil && s.onMessage == nil {
		s.onMessage = log.Record
	}
	return err
}
