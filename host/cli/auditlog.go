package cli

import (
	"path/filepath"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/mcp"
)

// auditPath is the path of the audit log in the directory for state.
func auditPath(state string) string { return filepath.Join(state, "audit.jsonl") }

// auditPurpose is the purpose of the key of the audit log.
const auditPurpose = "audit"

// auditCounts returns the store for the numbers of lines: the sealed state of this machine, where
// only the holder of the user's key can write an entry.
func (m *Main) auditCounts(state string) mcp.Store { return m.localState(state) }

// openAudit opens the audit log, with the user's settings and what the managed policy requires.
func (m *Main) openAudit() (*audit.Log, host.AuditSettings, error) {
	state, err := stateDir(m.Getenv)
	if err != nil {
		return nil, host.AuditSettings{}, err
	}
	settings, err := config.LoadAudit(m.Getenv)
	if err != nil {
		return nil, settings, &codedError{exitUsage, err}
	}
	settings = m.policy.Audit(settings)
	log, err := m.openAuditIn(state, settings)
	return log, settings, err
}

// openAuditIn opens the audit log in the directory for state.
func (m *Main) openAuditIn(state string, a host.AuditSettings) (*audit.Log, error) {
	o := &audit.Options{Key: m.derivedKey(state, auditPurpose), Counts: m.auditCounts(state), Retention: a.Keep, MaxTotal: a.Size, RequireSyslog: a.RequireSyslog, Logger: m.logger()}
	if a.Syslog != "" {
		sink, err := audit.OpenSyslog(a.Syslog, func(err error) { m.Message("audit log: %v", err) })
		if err != nil {
			return nil, usagef("configuration: audit: %w", err)
		}
		m.onClose(func() {
			sink.Close()
			if n := sink.Dropped(); n > 0 {
				m.Message("audit log: lines that syslog did not get: %d", n)
			}
		})
		o.Syslog = sink
	}
	if a.OTLP != "" {
		sink, err := m.openAuditOTLP(a.OTLP)
		if err != nil {
			return nil, usagef("configuration: audit: %w", err)
		}
		o.OTLP = sink
	}
	l, err := audit.Open(auditPath(state), o)
	if err != nil {
		return nil, err
	}
	m.onClose(func() {
		if err := l.Close(); err != nil {
			m.Message("audit log: %v", err)
		}
	})
	return l, nil
}

// auditFunc records a decision.
type auditFunc = func(host.Decision) error

// commandAudit returns the function that records the decisions of a command that runs no host.
// The log is opened once, because each open log has a chain of its own.
func (m *Main) commandAudit() (auditFunc, error) {
	if m.recordDecision == nil {
		log, _, err := m.openAudit()
		if err != nil {
			return nil, err
		}
		m.recordDecision = log.Write
	}
	return m.recordDecision, nil
}
