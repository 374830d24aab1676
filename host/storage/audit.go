package storage

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/mcp"
)

// auditPath is the path of the audit log in the directory for state.
func auditPath(dir string) string { return filepath.Join(dir, "audit.jsonl") }

// auditPurpose is the purpose of the key of the audit log.
const auditPurpose = "audit"

// auditCounts returns the store for the numbers of lines: the sealed state of this machine, where
// only the holder of the user's key can write an entry.
func (s *Storage) auditCounts(dir string) mcp.Store { return s.localState(dir) }

// OpenAudit opens the audit log until Close, with the user's settings and what the managed policy requires. Each log
// that is open has a chain of its own.
func (s *Storage) OpenAudit() (*audit.Log, host.AuditSettings, error) {
	dir, err := Dir(s.opts.Env)
	if err != nil {
		return nil, host.AuditSettings{}, err
	}
	settings, err := config.LoadAudit(s.opts.Env)
	if err != nil {
		return nil, settings, &SettingsError{err}
	}
	settings = s.opts.Policy.Audit(settings)
	log, err := s.openAuditIn(dir, settings)
	return log, settings, err
}

// openAuditIn opens the audit log in the directory for state.
func (s *Storage) openAuditIn(dir string, a host.AuditSettings) (*audit.Log, error) {
	o := &audit.Options{Key: s.derivedKey(dir, auditPurpose), Counts: s.auditCounts(dir), Retention: a.Keep, MaxTotal: a.Size, RequireSyslog: a.RequireSyslog, Logger: s.opts.Logger}
	if a.Syslog != "" {
		sink, err := audit.OpenSyslog(a.Syslog, func(err error) { s.opts.Message("audit log: %v", err) })
		if err != nil {
			return nil, &SettingsError{fmt.Errorf("configuration: audit: %w", err)}
		}
		s.onClose(func() {
			sink.Close()
			if n := sink.Dropped(); n > 0 {
				s.opts.Message("audit log: lines that syslog did not get: %d", n)
			}
		})
		o.Syslog = sink
	}
	if a.OTLP != "" {
		sink, err := s.openAuditOTLP(a.OTLP)
		if err != nil {
			return nil, &SettingsError{fmt.Errorf("configuration: audit: %w", err)}
		}
		o.OTLP = sink
	}
	l, err := audit.Open(auditPath(dir), o)
	if err != nil {
		return nil, err
	}
	s.onClose(func() {
		if err := l.Close(); err != nil {
			s.opts.Message("audit log: %v", err)
		}
	})
	return l, nil
}

// AuditFile returns the path of the audit log, and the key that proves who has written its lines.
func (s *Storage) AuditFile(ctx context.Context) (path string, key []byte, err error) {
	dir, err := Dir(s.opts.Env)
	if err != nil {
		return "", nil, err
	}
	key, err = s.derivedKey(dir, auditPurpose)(ctx)
	return auditPath(dir), key, err
}

// VerifyAudit verifies the audit log.
func (s *Storage) VerifyAudit(ctx context.Context) (*audit.Report, error) {
	path, key, err := s.AuditFile(ctx)
	if err != nil {
		return nil, err
	}
	return audit.Verify(ctx, path, key, s.auditCounts(filepath.Dir(path)))
}
