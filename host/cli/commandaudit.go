package cli

import (
	"time"

	"github.com/fondaco/fondaco/host"
)

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

// userDecision is a decision of the user about a server. subject is what else the action is about, or "", and where says in
// which way it was made.
func (m *Main) userDecision(action host.Action, server, subject, where string) host.Decision {
	user := m.userName()
	return host.Decision{
		Time: time.Now(), Upstream: server, Action: action, Name: subject, Outcome: host.OutcomeDone, GrantedBy: user, Reason: "by " + user + ", " + where,
	}
}

// reportUnrecorded prints why something that was done could not be recorded. An open log writes the line later.
func (m *Main) reportUnrecorded(err error) {
	if err != nil {
		m.Message("audit log: %v", err)
	}
}
