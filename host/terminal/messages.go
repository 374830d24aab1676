package terminal

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

// Message prints a message on standard error. It is sanitized as a whole.
func (t *IO) Message(format string, args ...any) {
	t.messages.mu.Lock()
	defer t.messages.mu.Unlock()
	t.printLocked(Clean(fmt.Sprintf(format, args...)))
}

// PeerMessage is Message for words of servers and other programs. While a question is open, its
// lines are cut to the width of the terminal, so that none of those words begins a line: they stand
// between the question and its prompt, and could imitate what the host says.
func (t *IO) PeerMessage(format string, args ...any) {
	t.messages.mu.Lock()
	defer t.messages.mu.Unlock()
	text := Clean(fmt.Sprintf(format, args...))
	if t.messages.question != "" {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = Fit(line, t.Width()-1)
		}
		text = strings.Join(lines, "\n")
	}
	t.printLocked(text)
}

// printLocked prints a text above the open question. The caller holds mu.
func (t *IO) printLocked(text string) {
	t.erase()
	if t.messages.question == "" || !t.Drawing {
		_, _ = fmt.Fprintln(t.Stderr, text)
		return
	}
	_, _ = fmt.Fprint(t.Stderr, EraseLine+text+"\n"+t.messages.question)
}

// Fit cuts a line at a number of columns of the terminal, of which a character that is not ASCII
// may take two.
func Fit(line string, columns int) string {
	if CutAt(line, columns) == len(line) {
		return line
	}
	return line[:CutAt(line, columns-2)] + "…" // the mark may take two columns, too
}

// CutAt returns how many bytes of a line fit into a number of columns.
func CutAt(line string, columns int) int {
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

// Info is Message for what -q suppresses.
func (t *IO) Info(format string, args ...any) {
	if !t.Quiet {
		t.Message(format, args...)
	}
}

// draw draws a line in place of the previous one.
func (t *IO) draw(line string) {
	t.messages.mu.Lock()
	defer t.messages.mu.Unlock()
	if t.messages.question != "" {
		return
	}
	_, _ = fmt.Fprint(t.Stderr, EraseLine+Cut(CleanLine(line), t.Width()-1))
	t.messages.drawn = true
}

// clear removes the drawn line.
func (t *IO) clear() {
	t.messages.mu.Lock()
	defer t.messages.mu.Unlock()
	t.erase()
}

// EraseLine returns to the start of the line and erases it.
//
// Spec: ECMA-48 8.3.41
const EraseLine = "\r\x1b[K"

// erase is clear for callers that hold the lock.
func (t *IO) erase() {
	if t.messages.drawn {
		_, _ = fmt.Fprint(t.Stderr, EraseLine)
		t.messages.drawn = false
	}
}
