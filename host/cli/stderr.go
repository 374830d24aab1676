package cli

import (
	"fmt"
	"strings"
	"sync"
)

// messages prints to standard error, for the command and its goroutines.
type messages struct {
	mu       sync.Mutex
	drawn    bool   // a progress bar is on the last line of the terminal
	question string // the open question, which is the last line of the terminal; empty for none
}

// message prints a message on standard error. It is sanitized as a whole.
func (m *Main) message(format string, args ...any) {
	m.messages.mu.Lock()
	defer m.messages.mu.Unlock()
	m.printLocked(clean(fmt.Sprintf(format, args...)))
}

// messageOfPeer is message for words of servers and other programs. While a question is open, its
// lines are cut to the width of the terminal, so that none of those words begins a line: they stand
// between the question and its prompt, and could imitate what the host says.
func (m *Main) messageOfPeer(format string, args ...any) {
	m.messages.mu.Lock()
	defer m.messages.mu.Unlock()
	text := clean(fmt.Sprintf(format, args...))
	if m.messages.question != "" {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = fit(line, m.width()-1)
		}
		text = strings.Join(lines, "\n")
	}
	m.printLocked(text)
}

// printLocked prints a text above the open question. The caller holds mu.
func (m *Main) printLocked(text string) {
	m.erase()
	if m.messages.question == "" || !m.Drawing {
		_, _ = fmt.Fprintln(m.Stderr, text)
		return
	}
	_, _ = fmt.Fprint(m.Stderr, eraseLine+text+"\n"+m.messages.question)
}

// fit cuts a line at a number of columns of the terminal, of which a character that is not ASCII
// may take two.
func fit(line string, columns int) string {
	if cutAt(line, columns) == len(line) {
		return line
	}
	return line[:cutAt(line, columns-2)] + "…" // the mark may take two columns, too
}

// cutAt returns how many bytes of a line fit into a number of columns.
func cutAt(line string, columns int) int {
	used := 0
	for i, r := range line {
		width := 1
		switch {
		case r == '\t':
			width = 8
		case r >= 0x80:
			width = 2
		}
		if used += width; used > columns {
			return i
		}
	}
	return len(line)
}

// info is message for what -q suppresses.
func (m *Main) info(format string, args ...any) {
	if !m.Quiet {
		m.message(format, args...)
	}
}

// draw draws a line in place of the previous one.
func (m *Main) draw(line string) {
	m.messages.mu.Lock()
	defer m.messages.mu.Unlock()
	if m.messages.question != "" {
		return
	}
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
