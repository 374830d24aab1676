package mcp

import (
	"encoding/json/jsontext"
	"log/slog"
)

// LoggingMessageParams are the params of notifications/message: one log message
// of a server.
//
// Spec: 2026-07-28 server/utilities/logging
//
// Deprecated: Logging is deprecated by SEP-2577. The first revision released on
// or after 2027-07-28 may remove it. Log to standard error or by OpenTelemetry
// instead.
type LoggingMessageParams struct {
	Level LoggingLevel `json:"level"`
	// Logger names the part of the server that logs.
	Logger string `json:"logger,omitzero"`
	// Data is any JSON value, often a string or an object. It must be set.
	Data jsontext.Value `json:"data"`
	Meta Meta           `json:"_meta,omitempty"`
}

// SetLevelParams are the params of logging/setLevel, which belongs to the
// session era.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
type SetLevelParams struct {
	// Level is the minimum severity of the messages to send.
	Level LoggingLevel `json:"level"`
	Meta  Meta         `json:"_meta,omitempty"`
}

// LoggingLevel is the severity of a log message. It is a slog.Leveler.
//
// Spec: RFC 5424 6.2.1
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
type LoggingLevel string

// The logging levels, least urgent first.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
const (
	LevelDebug     LoggingLevel = "debug"
	LevelInfo      LoggingLevel = "info"
	LevelNotice    LoggingLevel = "notice"
	LevelWarning   LoggingLevel = "warning"
	LevelError     LoggingLevel = "error"
	LevelCritical  LoggingLevel = "critical"
	LevelAlert     LoggingLevel = "alert"
	LevelEmergency LoggingLevel = "emergency"
)

// severities holds the levels in the order of RFC 5424, most urgent first.
var severities = []struct {
	level LoggingLevel
	slog  slog.Level
}{
	{LevelEmergency, slog.LevelError + 12},
	{LevelAlert, slog.LevelError + 8},
	{LevelCritical, slog.LevelError + 4},
	{LevelError, slog.LevelError},
	{LevelWarning, slog.LevelWarn},
	{LevelNotice, slog.LevelInfo + 2},
	{LevelInfo, slog.LevelInfo},
	{LevelDebug, slog.LevelDebug},
}

// Severity returns the number that RFC 5424 gives the level, from 0 for an
// emergency to 7 for debug. It is 8, less urgent than every level, for an
// invalid level.
func (l LoggingLevel) Severity() int {
	for severity, s := range severities {
		if s.level == l {
			return severity
		}
	}
	return len(severities)
}

// Valid reports whether the level is one that the protocol defines.
func (l LoggingLevel) Valid() bool { return l.Severity() < len(severities) }

// Level returns the level for use with slog. Levels that slog does not define
// lie between and above its own: notice is slog.LevelInfo+2, critical, alert
// and emergency are slog.LevelError+4, +8 and +12. An invalid level is below
// debug.
func (l LoggingLevel) Level() slog.Level {
	if !l.Valid() {
		return slog.LevelDebug - 1
	}
	return severities[l.Severity()].slog
}

// LoggingLevelOf returns the most urgent level that is not above the given slog
// level, and LevelDebug for every level below.
//
// Deprecated: part of Logging (SEP-2577), which the first revision released on
// or after 2027-07-28 may remove.
func LoggingLevelOf(level slog.Level) LoggingLevel {
	for _, s := range severities {
		if s.slog <= level {
			return s.level
		}
	}
	return LevelDebug
}
