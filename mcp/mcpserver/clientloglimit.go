package mcpserver

import (
	"fmt"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// A call or session sends 100 log messages at once, then one every 10 ms.
const (
	logBurst = 100
	logEvery = 10 * time.Millisecond
)

// clientLogLimit limits how often a call or session sends log messages to its client, and counts the
// messages that it omits. The zero value is ready for use. It is safe for concurrent use.
type clientLogLimit struct {
	mu       sync.Mutex
	throttle throttle   // guarded by mu
	omitted  omittedLog // guarded by mu: not yet reported to the client
}

// omittedLog counts omitted log messages.
type omittedLog struct {
	count int
	level mcp.LoggingLevel // of the most urgent one
}

// report returns the message that reports the number of omitted messages.
func (o omittedLog) report(logger string) *mcp.LoggingMessageParams {
	return &mcp.LoggingMessageParams{
		Level: o.level, Logger: logger,
		Data: fmt.Appendf(nil, `{"msg":"log messages left out","count":%d}`, o.count),
	}
}

// take reports whether a message of the level may be sent now. If so, it returns the
// messages that were omitted since the last report, which the caller has to report first.
func (l *clientLogLimit) take(level mcp.LoggingLevel) (ok bool, before omittedLog) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := logBurst
	if l.omitted.count > 0 {
		room-- // for the report
	}
	if l.throttle.delay(room, logEvery) > 0 {
		if l.omitted.count == 0 || level.Severity() < l.omitted.level.Severity() {
			l.omitted.level = level
		}
		l.omitted.count++
		return false, omittedLog{}
	}
	before = l.takeOmittedLocked()
	l.throttle.record(logEvery)
	return true, before
}

// takeOmitted returns the messages that were omitted since the last report.
func (l *clientLogLimit) takeOmitted() omittedLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.takeOmittedLocked()
}

func (l *clientLogLimit) takeOmittedLocked() omittedLog {
	o := l.omitted
	l.omitted = omittedLog{}
	if o.count > 0 {
		l.throttle.record(logEvery) // the report
	}
	return o
}
