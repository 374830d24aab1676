package config

import (
	"fmt"
	"time"

	"github.com/fondaco/fondaco/host"
)

// auditNames are the members of the settings of the audit log.
var auditNames = []string{"first", "keep", "size", "syslog", "requireSyslog", "otlp"}

// Limits of the settings.
const (
	minAuditKeep = 24 * time.Hour
	minAuditSize = 16 // MiB
)

// LoadAudit returns the settings of the audit log in the user's own file, at DefaultPath.
// They are zero if there is no such file.
func LoadAudit(env Env) (host.AuditSettings, error) {
	return loadHostSettings(env, "audit", (*file).auditSettings)
}

func (f *file) auditSettings(all value) (settings host.AuditSettings) {
	if !f.requireKind(all, kindObject) {
		return settings
	}
	f.each(all, func(m member, v value) {
		switch m.name {
		case "first":
			settings.First = f.boolean(v)
		case "keep":
			if settings.Keep = f.duration(v); settings.Keep > 0 && settings.Keep < minAuditKeep {
				f.addError(v, "found %q, want at least %v", v.text, minAuditKeep)
			}
		case "size":
			var megabytes int64
			if _, err := fmt.Sscanf(v.text, "%d MiB", &megabytes); f.requireKind(v, kindString) && (err != nil || megabytes < minAuditSize) {
				f.addError(v, `found %q, want a size such as "256 MiB", at least %d MiB`, v.text, minAuditSize)
			}
			settings.Size = megabytes << 20
		case "syslog":
			if f.requireKind(v, kindString) {
				settings.Syslog = v.text
			}
		case "otlp":
			if f.requireKind(v, kindString) {
				settings.OTLP = v.text
			}
		case "requireSyslog":
			settings.RequireSyslog = f.boolean(v)
		default:
			f.addError(all.named(m), "found %q, want %s%s", m.name, oneOf(auditNames), suggest(m.name, auditNames))
		}
	})
	if settings.RequireSyslog && settings.Syslog == "" {
		f.addError(all, `found "requireSyslog" without "syslog", want the URL of a server too`)
	}
	return settings
}
