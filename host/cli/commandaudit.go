package cli

import "github.com/fondaco/fondaco/host"

// auditFunc records a decision.
type auditFunc = func(host.Decision) error

// commandAudit returns the function that records the decisions of a command that runs no host.
// The log is opened once, because each open log has a chain of its own.
func (m *Main) commandAudit() (auditFunc, error) {
	if m.recordDecision == nil {
		log, _, err := m.storage().OpenAudit()
		if err != nil {
			return nil, err
		}
		m.recordDecision = log.Write
	}
	return m.recordDecision, nil
}
