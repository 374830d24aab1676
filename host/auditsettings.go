package host

import "time"

// AuditSettings say how the host keeps its audit log. They are the user's, or those of the
// managed policy. The zero value gives the defaults.
type AuditSettings struct {
	// First refuses every call, read and prompt that cannot be recorded before it is made,
	// and not only calls that needed consent.
	First bool
	// Keep is how long lines are kept. Default: 90 days.
	Keep time.Duration
	// Size is the size in bytes from which lines about plain calls are summed up. Default:
	// 64 MiB.
	Size int64
	// Syslog is the URL of a syslog server that gets each line. Default: none.
	Syslog string
	// RequireSyslog is First, and refuses calls whose line the syslog server does not take.
	RequireSyslog bool
	// OTLP is the URL of a collector of OpenTelemetry that gets each line. Default: none.
	OTLP string
}
