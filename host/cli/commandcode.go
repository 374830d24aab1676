package cli

import (
	"context"
	"errors"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/consent"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/terminal"
)

// askCode is AskYesNo for a question whose yes is a code that hosts show for what it is about.
func (q *userQuestions) askCode(ctx context.Context, showing []consent.Watcher, about string, asked terminal.YesNo) (answer string, err error) {
	m := q.main
	asked.YesIs = "the code"
	for range terminal.MaxYesNo {
		line, err := m.Ask(ctx, "%s", asked.Prompt())
		if err != nil {
			return terminal.No, err
		}
		if answer, ok := asked.Answer(line); ok {
			return answer, nil
		}
		if !consent.IsCode(line) {
			m.Message("found %q, want %s; the code has six digits", terminal.CleanLine(line), asked.Letters())
			continue
		}
		switch err := q.checkCodeAt(ctx, showing, about, line); {
		case err == nil:
			return terminal.Yes, nil
		case !errors.Is(err, control.ErrCode):
			return terminal.No, err
		default:
			m.Message("%s", terminal.Clean(err.Error()))
		}
	}
	m.Message(terminal.CountsAsNo)
	return terminal.No, nil
}

// otherHosts returns the hosts that show questions to the user, none if this one does.
func (q *userQuestions) otherHosts(ctx context.Context) ([]consent.Watcher, error) {
	if q.shows() {
		return nil, nil
	}
	return q.watchers.List(ctx)
}

// requireCode makes sure that who runs this command sees the terminal or desktop of the hosts
// that show questions, if there are any: they show a code for what the command is about to do.
// It returns how the decision is given.
func (q *userQuestions) requireCode(ctx context.Context, about, code string) (host.GrantedHow, error) {
	if q.shows() { // the user has been asked here
		return host.GrantedByTerminal, nil
	}
	showing, err := q.codeHosts(ctx)
	switch {
	case err != nil:
		return "", err
	case len(showing) == 0:
		return host.GrantedUnattended, nil
	}
	if code == "" {
		if err := q.showCodeAt(ctx, showing, about); err != nil {
			return "", err
		}
	}
	if code, err = q.main.wantCode(ctx, code); err != nil {
		return "", err
	}
	return host.GrantedByCommand, q.checkCodeAt(ctx, showing, about, code)
}

// showCodeAt makes the hosts show a code for what a command is about to do.
func (q *userQuestions) showCodeAt(ctx context.Context, showing []consent.Watcher, about string) error {
	return q.main.atHosts(ctx, showing, func(ctx context.Context, c *control.Client) error { return c.ShowCode(ctx, about) })
}

// checkCodeAt returns nil if a code is that which one of the hosts has shown.
func (q *userQuestions) checkCodeAt(ctx context.Context, showing []consent.Watcher, about, code string) error {
	return q.main.atHosts(ctx, showing, func(ctx context.Context, c *control.Client) error { return c.CheckCode(ctx, about, code) })
}
