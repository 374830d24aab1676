package cli

import (
	"bufio"
	"context"
	"io"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
)

// askForPrograms shows the programs that were never approved as they are now, and
// asks for each whether it may be started. Without a terminal nobody is asked:
// what is not approved is not started.
func (h *hosting) askForPrograms(ctx context.Context) error {
	if h.book == nil || h.yes || !h.main.Interactive {
		return nil
	}
	answers := linesOf(ctx, h.main.Stdin)
	for i := range h.upstreams {
		u := &h.upstreams[i]
		p, isProgram, err := h.book.ProgramOf(u)
		if err != nil || !isProgram {
			continue // which its start will tell
		}
		if ok, err := h.book.Approved(u, p); err != nil || ok {
			continue
		}
		h.show(u, p)
		select {
		case answer, ok := <-answers:
			if !ok {
				return nil
			}
			if !isYes(answer) {
				continue
			}
		case <-ctx.Done():
			return nil
		}
		if err := h.approve(u, p, "by the user"); err != nil {
			return err
		}
	}
	return nil
}

// linesOf returns the lines of a reader until ctx is done. A terminal that says
// nothing more is waited for until the process ends: nothing else ends the wait.
func linesOf(ctx context.Context, r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// show shows the whole of a program.
func (h *hosting) show(u *host.Upstream, p consent.Program) {
	m := h.main
	m.say("\nThe server %q is a program that was not approved as it is now:\n", u.Key)
	m.say("  %s\n", p)
	m.say("  file       %s", cleanLine(p.File))
	m.say("  SHA-256    %s", p.Sum)
	if p.Dir != "" {
		m.say("  directory  %s", cleanLine(p.Dir))
	}
	for _, variable := range p.Env {
		name, value, decides := strings.Cut(variable, "=")
		if decides {
			m.say("  with       %s=%s, which decides what code runs", cleanLine(name), cleanLine(value))
			continue
		}
		m.say("  with       %s", cleanLine(name))
	}
	m.say("\nIt can do whatever you can do. Start it now and in future? [y/N]")
}

func isYes(answer string) bool {
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
