package cli

import (
	"fmt"
	"sync"
)

// messages prints to standard error, for the command and its goroutines.
type messages struct {
	quiet bool // only errors and questions are printed

	mu    sync.Mutex
	drawn bool // a progress bar is on the last line of the terminal
}

// message prints a message on standard error. It is sanitized as a whole.
func (m *Main) message(format string, args ...any) {
	m.messages.mu.Lock()
	defer m.messages.mu.Unlock()
	m.erase()
	_, _ = fmt.Fprintln(m.Stderr, clean(fmt.Sprintf(format, args...)))
}

// info is message for what -q suppresses.
func (m *Main) info(format string, args ...any) {
	if !m.messages.quiet {
		m.message(format, args...)
	}
}

// draw draws a line in place of the previous one.
func (m *Main) draw(line string) {
	m.messages.mu.Lock()
	defer m.messages.mu.Unlock()
	_, _ = fmt.Fprint(m.Stderr, eraseLine+cut(cleanLine(line), m.width()-1))
	m.messages.drawn = true
}

// clear removes the drawn line.
func (m *Main) clear() {
	m.messages.mu.Lock()
	defer m.messages.mu.Unlock()
	m.erase()
}

// eraseLine returns to the start of the line and erases it.
//
// Spec: ECMA-48 8.3.41
const eraseLine = "\r\x1b[K"

// erase is clear for callers that hold the lock.
func (m *Main) erase() {
	if m.messages.drawn {
		_, _ = fmt.Fprint(m.Stderr, eraseLine)
		m.messages.drawn = false
	}
}
