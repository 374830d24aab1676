package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/terminal"
)

// inputFunc returns the value of an input of the configuration.
type inputFunc = func(config.Input) (string, error)

// inputFunc returns the function that asks the user, nil without a terminal.
func (m *Main) inputFunc() inputFunc {
	if !m.Interactive {
		return nil
	}
	return m.askInput
}

// loadConfig reads a configuration and prints its errors and warnings. It fails if no
// server can be run.
func (m *Main) loadConfig(path string, strict bool, ask inputFunc) (*config.Config, error) {
	c, err := m.readConfig(path, strict, ask)
	if err == nil && len(c.Upstreams) == 0 && len(c.Errors) > 0 {
		return nil, &codedError{exitUsage, fmt.Errorf("%s: none of its servers can be run", path)}
	}
	return c, err
}

func (m *Main) readConfig(path string, strict bool, ask inputFunc) (*config.Config, error) {
	c, err := config.Load(path, &config.Options{Env: m.Getenv, Ask: ask, Strict: strict})
	if err != nil {
		return nil, &codedError{exitUsage, err}
	}
	for _, f := range c.Errors {
		m.Message("%s", f.Error())
	}
	if m.briefNotes && len(c.Warnings) > 1 {
		m.Info("notes about %s: %d; %s config check --config %s shows them", path, len(c.Warnings), m.program(), host.ShellQuote(path))
		return c, nil
	}
	for _, f := range c.Warnings {
		m.Info("note: %s", f.Error())
	}
	return c, nil
}

// askInput asks the user for an input of the configuration, and remembers the answer. It
// is called before the servers are started; later only remembered answers are used.
func (m *Main) askInput(in config.Input) (string, error) {
	m.answering.Lock()
	defer m.answering.Unlock()
	if m.inputsAsked {
		return m.rememberedLocked(in)
	}
	question := cmp.Or(in.Description, in.ID)
	if len(in.Options) > 0 {
		question += " (" + strings.Join(in.Options, ", ") + ")"
	}
	if in.Default != "" && !in.Password {
		question += " [" + in.Default + "]"
	}
	fmt.Fprintf(m.Stderr, "%s: ", terminal.CleanLine(question))
	answer, err := m.ReadAnswer(in.Password)
	if err != nil {
		return "", err
	}
	if m.answers == nil {
		m.answers = make(map[string]string)
	}
	m.answers[in.ID] = cmp.Or(answer, in.Default)
	return m.answers[in.ID], nil
}

// rememberedInput returns the earlier answer. A running host does not ask again.
func (m *Main) rememberedInput(in config.Input) (string, error) {
	m.answering.Lock()
	defer m.answering.Unlock()
	return m.rememberedLocked(in)
}

// rememberedLocked is rememberedInput for a caller that holds m.answering.
func (m *Main) rememberedLocked(in config.Input) (string, error) {
	answer, ok := m.answers[in.ID]
	if !ok {
		return "", errors.New("it is new; restart the host to enter it")
	}
	return answer, nil
}
