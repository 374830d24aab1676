package cli

import (
	"cmp"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// onMessage returns the function that records the messages of the peers of the host, and logs them if the
// environment asks for it.
func (h *hostProcess) onMessage(wire *mcpwire.Log) func(key string) func(mcp.WireMessage) {
	return func(key string) func(mcp.WireMessage) {
		log := onMessage(wire, cmp.Or(key, "clients"))
		return func(m mcp.WireMessage) {
			h.traffic.Record(key, m)
			h.recordings.handshakes.Record(key, m)
			h.recordings.record(key, m)
			h.console.logMessage(key, m)
			if log != nil {
				log(m)
			}
		}
	}
}
