package terminal

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

// ReadLine returns the next line of standard input, and io.EOF at its end. One goroutine at a
// time may call it.
func (t *IO) ReadLine(ctx context.Context) (string, error) {
	in := &t.lines
	in.mu.Lock()
	if in.pending == nil {
		pending := make(chan inputLine, 1)
		in.pending = pending
		go func() {
			text, err := readLine(t.Stdin)
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

// HoldQuestions keeps other questions from the terminal until release is called.
func (t *IO) HoldQuestions() (release func()) {
	t.asking.Lock()
	return t.asking.Unlock
}

// LineAbandoned reports whether the next line may have been typed for a question that has ended.
func (t *IO) LineAbandoned() bool {
	t.lines.mu.Lock()
	defer t.lines.mu.Unlock()
	return t.lines.abandoned
}

// DropTypeahead drops what was typed at the terminal while nothing was asked: it is no answer to a question that comes
// afterwards. In the background nothing is dropped, because it belongs to another program.
func (t *IO) DropTypeahead() {
	if f, ok := t.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) && !inBackground(int(f.Fd())) {
		dropTypeahead(int(f.Fd()))
	}
}

// Ask asks the user for one line. The question is sanitized. A line that may have been typed for
// a question that has ended is no answer to this one.
func (t *IO) Ask(ctx context.Context, format string, args ...any) (string, error) {
	defer t.HoldQuestions()()
	abandoned := t.LineAbandoned()
	line, err := t.AskLocked(ctx, format, args...)
	if err != nil || !abandoned {
		return line, err
	}
	t.Message("found %q, which may have been typed for the question before; type the answer again", CleanLine(line))
	return t.AskLocked(ctx, format, args...)
}

// AskLocked is Ask for callers of HoldQuestions, who find out themselves for which question a line
// was typed. Messages that are printed meanwhile stand above the question.
func (t *IO) AskLocked(ctx context.Context, format string, args ...any) (string, error) {
	question := Clean(fmt.Sprintf(format, args...)) + " "
	t.messages.mu.Lock()
	t.erase()
	t.messages.question = question[strings.LastIndexByte(question, '\n')+1:]
	_, _ = fmt.Fprint(t.Stderr, question)
	t.messages.mu.Unlock()
	defer func() {
		t.messages.mu.Lock()
		t.messages.question = ""
		t.messages.mu.Unlock()
	}()
	return t.ReadLine(ctx)
}

// ReadAnswer reads a line. If hidden, the terminal does not show it.
func (t *IO) ReadAnswer(hidden bool) (string, error) {
	if f, ok := t.Stdin.(*os.File); ok && hidden && term.IsTerminal(int(f.Fd())) {
		answer, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(t.Stderr)
		return string(answer), err
	}
	line, err := readLine(t.Stdin)
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
