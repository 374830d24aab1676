package mcpserver

import (
	"encoding/json/jsontext"
	"fmt"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

const (
	logBurst = 100
	logEvery = 10 * time.Millisecond
)

// logLimit leaves out what a call logs too often, and tells of it.
type logLimit struct {
	mu     sync.Mutex
	pace   pace
	left   int              // messages left out that nobody was told of
	urgent mcp.LoggingLevel // of the most urgent of them
}

// log sends a log message to the client, unless it is one too many. What was left
// out is told before the next message that is sent, and at the end of the call.
//
// Spec: 2026-07-28 server/utilities/logging#security
func (r *Request) log(m *mcp.LoggingMessageParams) error {
	left, err := r.tryLog(m)
	if left {
		r.ReportLimit(mcp.LimitLog)
	}
	return err
}

// tryLog is log, and reports whether the message was left out.
func (r *Request) tryLog(m *mcp.LoggingMessageParams) (left bool, err error) {
	l := &r.logs
	l.mu.Lock()
	defer l.mu.Unlock()
	room := logBurst
	if l.left > 0 {
		room-- // for what has to be told first
	}
	if l.pace.wait(room, logEvery) > 0 {
		if l.left == 0 || m.Level.Severity() < l.urgent.Severity() {
			l.urgent = m.Level
		}
		l.left++
		return true, nil
	}
	if err := r.tellLeftOut(); err != nil {
		return false, err
	}
	l.pace.take(logEvery)
	return false, r.Notify(r.ctx, mcp.NotificationMessage, m)
}

// endLog tells what was left out, at the end of the call.
func (r *Request) endLog() {
	r.logs.mu.Lock()
	defer r.logs.mu.Unlock()
	_ = r.tellLeftOut()
}

// tellLeftOut says how many messages were left out. It has the level of the most
// urgent of them, which the client wants. The caller holds the lock of the limit.
func (r *Request) tellLeftOut() error {
	l := &r.logs
	if l.left == 0 {
		return nil
	}
	data := fmt.Sprintf(`{"msg":"log messages left out","count":%d}`, l.left)
	l.left = 0
	l.pace.take(logEvery)
	return r.Notify(r.ctx, mcp.NotificationMessage, &mcp.LoggingMessageParams{
		Level: l.urgent, Logger: r.server.info.Name, Data: jsontext.Value(data), Meta: r.detached.meta(),
	})
}
