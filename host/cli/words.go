package cli

import (
	"fmt"
	"sync"
)

// words are what is said on standard error, by the verb and by whatever works for
// it at the same time.
type words struct {
	quiet bool // nothing is said but what went wrong, and what is asked

	mu    sync.Mutex
	drawn bool // a meter is on the last line of the terminal
}

// say tells the user something, on standard error. It is cleaned as a whole.
func (m *Main) say(format string, args ...any) {
	m.words.mu.Lock()
	defer m.words.mu.Unlock()
	m.erase()
	_, _ = fmt.Fprintln(m.Stderr, clean(fmt.Sprintf(format, args...)))
}

// note is say for what a user who wants quiet does not miss.
func (m *Main) note(format string, args ...any) {
	if !m.words.quiet {
		m.say(format, args...)
	}
}

// draw draws a line in place of the one that was drawn before.
func (m *Main) draw(line string) {
	m.words.mu.Lock()
	defer m.words.mu.Unlock()
	_, _ = fmt.Fprint(m.Stderr, eraseLine+cut(cleanLine(line), m.width()-1))
	m.words.drawn = true
}

// clear removes what was drawn.
func (m *Main) clear() {
	m.words.mu.Lock()
	defer m.words.mu.Unlock()
	m.erase()
}

// eraseLine goes back to the beginning of the line, and empties it.
//
// Spec: ECMA-48 8.3.41
const eraseLine = "\r\x1b[K"

// erase is clear for who holds the lock.
func (m *Main) erase() {
	if m.words.drawn {
		_, _ = fmt.Fprint(m.Stderr, eraseLine)
		m.words.drawn = false
	}
}
