package console

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

const (
	// keptLines is how many lines of a server are kept, and maxLine limits one, in bytes.
	keptLines = 500
	maxLine   = 1000
)

// LogLine is a line of the log of a server.
type LogLine struct {
	Time time.Time
	// Level is that of a log message; empty for a line of standard error, or of the host.
	Level mcp.LoggingLevel
	// FromHost marks a line of the host, such as a change of the state.
	FromHost bool
	// Text is that of the server, and not trusted.
	Text string
}

// Word says what the line is.
func (l *LogLine) Word() string {
	switch {
	case l.FromHost:
		return "host"
	case l.Level == "":
		return "stderr"
	}
	return string(l.Level)
}

// Tone is how the line is marked, as that of a Server.
func (l *LogLine) Tone() string {
	switch rank := slices.Index(levels, l.Level); {
	case rank >= slices.Index(levels, mcp.LevelError):
		return "bad"
	case rank >= slices.Index(levels, mcp.LevelWarning):
		return "warn"
	}
	return ""
}

// levels are those of log messages, the least important first.
var levels = []mcp.LoggingLevel{
	mcp.LevelDebug, mcp.LevelInfo, mcp.LevelNotice, mcp.LevelWarning, mcp.LevelError, mcp.LevelCritical, mcp.LevelAlert, mcp.LevelEmergency,
}

// Logs keeps the last lines of each server: log messages, standard error, and changes of its state. They outlast a
// restart of the server. The zero value is ready to use. All methods are safe for concurrent use.
type Logs struct {
	mu       sync.Mutex
	byServer map[string]*serverLog // guarded by mu
}

// serverLog is a ring: the line with number n is at n modulo keptLines.
type serverLog struct {
	lines []LogLine
	last  int // how many were added
}

// Add adds a line of a server, cut to 1,000 bytes. Its time is set if it is zero.
func (l *Logs) Add(server string, line LogLine) {
	if line.Text = strings.Clone(host.CutText(line.Text, maxLine)); line.Time.IsZero() {
		line.Time = time.Now()
	}
	const longestLevel = 32
	line.Level = mcp.LoggingLevel(host.CutText(string(line.Level), longestLevel))
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.byServer[server]
	if s == nil {
		if l.byServer == nil {
			l.byServer = make(map[string]*serverLog)
		}
		s = new(serverLog)
		l.byServer[server] = s
	}
	if len(s.lines) < keptLines {
		s.lines = append(s.lines, line)
	} else {
		s.lines[s.last%keptLines] = line
	}
	s.last++
}

// Of returns the lines of a server, the oldest first.
func (l *Logs) Of(server string) []LogLine {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.byServer[server]
	if s == nil {
		return nil
	}
	oldest := s.last % keptLines
	if len(s.lines) < keptLines {
		oldest = 0
	}
	return slices.Concat(s.lines[oldest:], s.lines[:oldest])
}

// Keep forgets the servers that are not named.
func (l *Logs) Keep(servers []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.byServer {
		if !slices.Contains(servers, name) {
			delete(l.byServer, name)
		}
	}
}

// logFilter says which lines are shown.
type logFilter struct {
	// Level is empty for all lines, "stderr" for those of standard error, or the least level of the log messages.
	Level, Search string
}

// Levels are the levels to choose from.
func (logFilter) Levels() []mcp.LoggingLevel {
	return levels[:slices.Index(levels, mcp.LevelCritical)+1]
}

func (f logFilter) matches(l *LogLine) bool {
	switch least := slices.Index(levels, mcp.LoggingLevel(f.Level)); {
	case f.Level == "":
	case f.Level == "stderr":
		if l.Word() != f.Level {
			return false
		}
	case least >= 0 && slices.Index(levels, l.Level) < least:
		return false
	}
	text := strings.ToLower(l.Word() + " " + l.Text)
	for word := range strings.FieldsSeq(strings.ToLower(f.Search)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
