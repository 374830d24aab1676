package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// lineInput reads lines of standard input. A read cannot be cancelled: one that nobody waits
// for any more goes on, and the next who waits gets its line, which may have been typed for
// another question.
type lineInput struct {
	mu        sync.Mutex
	pending   chan inputLine // guarded by mu: nil if no read is under way
	abandoned bool           // guarded by mu: nobody waits for the pending line any more, or did not for some time
}

type inputLine struct {
	text string
	err  error
}

// readLine returns the next line of standard input, and io.EOF at its end. One goroutine at a
// time may call it.
func (m *Main) readLine(ctx context.Context) (string, error) {
	in := &m.lines
	in.mu.Lock()
	if in.pending == nil {
		pending := make(chan inputLine, 1)
		in.pending = pending
		go func() {
			text, err := readLine(m.Stdin)
			pending <- inputLine{text, err}
		}()
	}
	pending := in.pending
	in.mu.Unlock()
	select {
	case line := <-pending:
		in.mu.Lock()
		in.pending, in.abandoned = nil, false
		in.mu.Unlock()
		return line.text, line.err
	case <-ctx.Done():
		in.mu.Lock()
		in.abandoned = true
		in.mu.Unlock()
		return "", context.Cause(ctx)
	}
}

// holdQuestions keeps other questions from the terminal until release is called.
func (m *Main) holdQuestions() (release func()) {
	m.asking.Lock()
	return m.asking.Unlock
}

// lineAbandoned reports whether the next line may have been typed for a question that has ended.
func (m *Main) lineAbandoned() bool {
	m.lines.mu.Lock()
	defer m.lines.mu.Unlock()
	return m.lines.abandoned
}

// ask asks the user for one line. The question is sanitized. A line that may have been typed for
// a question that has ended is no answer to this one.
func (m *Main) ask(ctx context.Context, format string, args ...any) (string, error) {
	defer m.holdQuestions()()
	abandoned := m.lineAbandoned()
	line, err := m.askLocked(ctx, format, args...)
	if err != nil || !abandoned {
		return line, err
	}
	m.message("found %q, which may have been typed for the question before; type the answer again", cleanLine(line))
	return m.askLocked(ctx, format, args...)
}

// askLocked is ask for callers of holdQuestions, who find out themselves for which question a line
// was typed. Messages that are printed meanwhile stand above the question.
func (m *Main) askLocked(ctx context.Context, format string, args ...any) (string, error) {
	question := clean(fmt.Sprintf(format, args...)) + " "
	m.messages.mu.Lock()
	m.erase()
	m.messages.question = question[strings.LastIndexByte(question, '\n')+1:]
	_, _ = fmt.Fprint(m.Stderr, question)
	m.messages.mu.Unlock()
	defer func() {
		m.messages.mu.Lock()
		m.messages.question = ""
		m.messages.mu.Unlock()
	}()
	return m.readLine(ctx)
}

// readAnswer reads a line. If hidden, the terminal does not show it.
func (m *Main) readAnswer(hidden bool) (string, error) {
	if f, ok := m.Stdin.(*os.File); ok && hidden && term.IsTerminal(int(f.Fd())) {
		answer, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(m.Stderr)
		return string(answer), err
	}
	line, err := readLine(m.Stdin)
	if err != nil {
		return "", fmt.Errorf("no answer: %w", err)
	}
	return line, nil
}

// maxAnswer limits the length of an answer.
const maxAnswer = 1 << 16

// readLine reads exactly one line, because others read what follows.
func readLine(r io.Reader) (string, error) {
	var line, next []byte = nil, make([]byte, 1)
	for len(line) < maxAnswer {
		n, err := r.Read(next)
		switch {
		case n > 0 && next[0] != '\n':
			line = append(line, next[0])
		case n > 0, err != nil && len(line) > 0:
			return strings.TrimSuffix(string(line), "\r"), nil
		case err != nil:
			return "", err
		}
	}
	return "", fmt.Errorf("more than %d bytes", maxAnswer)
}
