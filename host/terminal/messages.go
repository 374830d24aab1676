package terminal

import (
	"fmt"
	"strings"
	"sync"
)

// messages prints to standard error, for the command and its goroutines.
type messages struct {
	mu       sync.Mutex
	drawn    int    // lines of a progress bar, which are the last ones of the terminal
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
	_, _ = fmt.Fprint(t.Stderr, eraseLine+text+"\n"+t.messages.question)
}

// Info is Message for what -q suppresses.
func (t *IO) Info(format string, args ...any) {
	if !t.Quiet {
		t.Message(format, args...)
	}
}

// draw draws a line in place of the previous one. It is wrapped as by WrapLine, and cut at maxDrawn lines of the terminal.
func (t *IO) draw(line string) {
	lines := t.drawnLines(CleanLine(line))
	t.messages.mu.Lock()
	defer t.messages.mu.Unlock()
	if t.messages.question != "" {
		return
	}
	_, _ = fmt.Fprint(t.Stderr, eraseDrawn(t.messages.drawn)+strings.Join(lines, "\n"))
	t.messages.drawn = len(lines)
}

// maxDrawn limits the lines that draw draws.
const maxDrawn = 4

func (t *IO) drawnLines(line string) []string {
	columns := t.Width() - 1
	if columns < leastMarked+len(mark) {
		return []string{Fit(line, columns)}
	}
	return t.wrap(Fit(line, maxDrawn*(columns-len(mark)-1))) // a line may end a column earlier, before a wide character
}

// clear removes the drawn lines.
func (t *IO) clear() {
	t.messages.mu.Lock()
	defer t.messages.mu.Unlock()
	t.erase()
}

// eraseLine returns to the start of the line and erases it.
//
// Spec: ECMA-48 8.3.41
const eraseLine = "\r\x1b[K"

// eraseDrawn returns to the start of the first of some lines, of which the cursor is in the last, and erases all.
//
// Spec: ECMA-48 8.3.22, 8.3.39
func eraseDrawn(lines int) string {
	if lines <= 1 {
		return eraseLine
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", lines-1)
}

// erase is clear for callers that hold the lock.
func (t *IO) erase() {
	if t.messages.drawn > 0 {
		_, _ = fmt.Fprint(t.Stderr, eraseDrawn(t.messages.drawn))
		t.messages.drawn = 0
	}
}
