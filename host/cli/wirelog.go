package cli

import (
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpwire"
)

// wireLog returns the log of messages that the environment asks for, nil for none.
func (m *Main) wireLog() (*mcpwire.Log, error) {
	value, _ := m.Getenv(mcpwire.Variable)
	log, err := mcpwire.ForVariable(value, wireWriter{m})
	if err != nil {
		return nil, usagef("%w", err)
	}
	return log, nil
}

// onMessage returns the function that logs messages of the peer of that name, nil for none.
func onMessage(log *mcpwire.Log, name string) func(mcp.WireMessage) {
	if log == nil {
		return nil
	}
	return log.As(name).Record
}

// wireWriter prints the lines of the log on standard error, without the secrets of the configuration.
type wireWriter struct{ m *Main }

func (w wireWriter) Write(line []byte) (int, error) {
	w.m.PeerMessage("%s", w.m.secrets.redactKnown(strings.TrimSuffix(string(line), "\n")))
	return len(line), nil
}
