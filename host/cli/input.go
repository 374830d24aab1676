package cli

import (
	"context"
	"fmt"
)

// readLine returns the next line of standard input, and io.EOF at its end. If ctx ends
// first the line is lost, and a goroutine waits for it until the process ends, because
// such a read cannot be cancelled.
func (m *Main) readLine(ctx context.Context) (string, error) {
	type answer struct {
		line string
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		line, err := readLine(m.Stdin)
		answered <- answer{line, err}
	}()
	select {
	case a := <-answered:
		return a.line, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// ask asks the user for one line. The question is sanitized.
func (m *Main) ask(ctx context.Context, format string, args ...any) (string, error) {
	m.messages.mu.Lock()
	m.erase()
	_, _ = fmt.Fprint(m.Stderr, clean(fmt.Sprintf(format, args...))+" ")
	m.messages.mu.Unlock()
	return m.readLine(ctx)
}
