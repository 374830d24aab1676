package link

import (
	"context"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// logLevelTimeout is how long a server has to set the level of a session.
const logLevelTimeout = 5 * time.Second

// logLevels are the levels of the log messages of a server of the session era. In the stateless era
// each request names its level.
type logLevels struct {
	changed chan struct{} // one token: the session of the caller may have set another level

	mu      sync.Mutex        // guards the fields below
	client  *mcpclient.Client // the levels are those of its session
	level   mcp.LoggingLevel  // that was requested of the server, or empty
	session mcp.LoggingLevel  // that the session of the caller has set, or empty
}

func newLogLevels() logLevels { return logLevels{changed: make(chan struct{}, 1)} }

// reset forgets the requested level, because a new session starts with the
// server's default, and has the level set again that the caller's session has set.
func (l *logLevels) reset(client *mcpclient.Client) {
	l.mu.Lock()
	l.client, l.level = client, ""
	l.mu.Unlock()
	signal(l.changed)
}

// setSession sets the level that the caller's session wants.
func (l *logLevels) setSession(level mcp.LoggingLevel) {
	l.mu.Lock()
	l.session = level
	l.mu.Unlock()
	signal(l.changed)
}

// relay sets the level that the caller's session has set, if the server has another.
func (l *logLevels) relay(ctx context.Context, client *mcpclient.Client) error {
	l.mu.Lock()
	level := l.session
	needed := level != "" && level != l.level && client.Capabilities().Logging != nil && !client.Revision().Stateless()
	if needed {
		l.level = level
	}
	l.mu.Unlock()
	if !needed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, logLevelTimeout)
	defer cancel()
	return client.SetLogLevel(ctx, level)
}

// raise asks the server for log messages of a level unless it already sends them.
func (l *logLevels) raise(ctx context.Context, client *mcpclient.Client, level mcp.LoggingLevel) error {
	l.mu.Lock()
	enough := l.level != "" && level.Severity() <= l.level.Severity()
	if !enough && l.client == client {
		l.level = level
	}
	l.mu.Unlock()
	if enough {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, logLevelTimeout)
	defer cancel()
	return client.SetLogLevel(ctx, level)
}
