package mcp_test

import (
	"log/slog"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

var _ slog.Leveler = mcp.LevelInfo

func TestLoggingLevels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		level    mcp.LoggingLevel
		severity int
		slog     slog.Level
	}{
		{mcp.LevelEmergency, 0, 20},
		{mcp.LevelAlert, 1, 16},
		{mcp.LevelCritical, 2, 12},
		{mcp.LevelError, 3, slog.LevelError},
		{mcp.LevelWarning, 4, slog.LevelWarn},
		{mcp.LevelNotice, 5, 2},
		{mcp.LevelInfo, 6, slog.LevelInfo},
		{mcp.LevelDebug, 7, slog.LevelDebug},
	} {
		if got := c.level.Severity(); got != c.severity || !c.level.Valid() {
			t.Errorf("%s: got severity %d, want %d", c.level, got, c.severity)
		}
		if got := c.level.Level(); got != c.slog {
			t.Errorf("%s: got %v, want %v", c.level, got, c.slog)
		}
		if got := mcp.LoggingLevelOf(c.slog); got != c.level {
			t.Errorf("%v: got %s, want %s", c.slog, got, c.level)
		}
	}
}

func TestLoggingLevelsBetween(t *testing.T) {
	t.Parallel()
	for level, want := range map[slog.Level]mcp.LoggingLevel{
		-100: mcp.LevelDebug, -1: mcp.LevelDebug, 1: mcp.LevelInfo, 3: mcp.LevelNotice,
		7: mcp.LevelWarning, 9: mcp.LevelError, 100: mcp.LevelEmergency,
	} {
		if got := mcp.LoggingLevelOf(level); got != want {
			t.Errorf("%d: got %s, want %s", level, got, want)
		}
	}
}

func TestUnknownLoggingLevel(t *testing.T) {
	t.Parallel()
	for _, level := range []mcp.LoggingLevel{"", "loud", "Debug"} {
		if level.Valid() || level.Severity() <= mcp.LevelDebug.Severity() || level.Level() >= slog.LevelDebug {
			t.Errorf("%q: got severity %d and level %v, want it below debug", level, level.Severity(), level.Level())
		}
	}
}
