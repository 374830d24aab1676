package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/terminal"
)

// Roots implements console.RootSource.
func (s *consoleSource) Roots(ctx context.Context, name string) *console.Roots {
	h := s.host
	u, err := h.servers.Server(name)
	if err != nil || h.path == "" {
		return nil
	}
	r := &console.Roots{File: h.path, Client: u.Questions().Roots, Project: u.Origin.Project != "", NeedsCode: h.questions.watched(ctx)}
	if r.Dirs, err = h.main.rootsIn(h.path, name); err != nil {
		r.Dirs, r.Problem = u.Settings.Roots, err.Error()
	}
	return r
}

// AddRoot implements console.RootSource. It is "fondaco roots add", where a code is needed with the code that was typed
// in the browser: the console may be open for another program.
func (s *consoleSource) AddRoot(ctx context.Context, name, dir, code string) error {
	dir, about, err := s.newRoot(name, dir)
	if err != nil {
		return err
	}
	if _, err := s.checkCode(ctx, about, code); err != nil {
		return err
	}
	return s.changeRoots(name, "added", dir, []string{dir}, nil)
}

// RemoveRoot implements console.RootSource. It is "fondaco roots remove".
func (s *consoleSource) RemoveRoot(name, dir string) error {
	return s.changeRoots(name, "removed", dir, nil, []string{dir})
}

// ShowRootCode implements console.RootSource.
func (s *consoleSource) ShowRootCode(ctx context.Context, name, dir string) error {
	path, about, err := s.newRoot(name, dir)
	switch {
	case err != nil:
		return err
	case len(about) > maxAbout:
		return fmt.Errorf("found a path of %d bytes, which is too long to be shown whole beside the code; %s roots add takes it", len(path), s.host.main.program())
	}
	shown, err := s.showCode(ctx, about)
	if err == nil && !shown {
		err = errors.New("no terminal and no desktop can show a code; it is added without one")
	}
	return err
}

// newRoot returns the path of a directory that a person has typed for a server of the configuration, and what it means
// to add it, for the host that shows a code for that.
func (s *consoleSource) newRoot(name, dir string) (path, about string, err error) {
	if err := s.checkConfigured(name); err != nil {
		return "", "", err
	}
	if !filepath.IsAbs(dir) {
		return "", "", fmt.Errorf("found the directory %q, want an absolute path, such as /home/you/src", dir)
	}
	path = filepath.Clean(dir)
	return path, fmt.Sprintf("give %s as a root to the server %s", host.EscapeUnprintable(path), name), nil
}

// checkConfigured returns an error unless a server is in the file of the configuration.
func (s *consoleSource) checkConfigured(name string) error {
	_, err := s.host.servers.Server(name)
	if err == nil && s.host.path == "" {
		err = errors.New("the server is in no configuration")
	}
	return err
}

// changeRoots changes the roots of a server in the file, and applies the file.
func (s *consoleSource) changeRoots(name, done, dir string, add, remove []string) error {
	h := s.host
	if err := s.checkConfigured(name); err != nil {
		return err
	}
	if _, _, err := h.main.changeRoots(h.path, name, add, remove, s.recordDone); err != nil {
		return err
	}
	s.logs.Add(name, console.LogLine{FromHost: true, Text: fmt.Sprintf("root %s in the console: %s", done, dir)})
	h.main.Message("  %-10s %s: root %s in the console: %s", "server", terminal.CleanLine(name), done, terminal.CleanLine(dir))
	if err := h.servers.Reload(); err != nil {
		return fmt.Errorf("the file is changed, and the host goes on with what it had before: %w", err)
	}
	return nil
}

// showCode makes a host show a code for what is about to be done, and reports false if none can.
func (s *consoleSource) showCode(ctx context.Context, about string) (shown bool, err error) {
	q := s.host.questions
	if q.shows() {
		return true, q.showCode(about)
	}
	showing, err := q.watchers.List(ctx)
	if err != nil || len(showing) == 0 {
		return false, err
	}
	return true, q.showCodeAt(ctx, showing, about)
}

// checkCode returns an error unless a code is that which a host shows for what is about to be done. It reports false
// if none can show one.
func (s *consoleSource) checkCode(ctx context.Context, about, code string) (shown bool, err error) {
	q := s.host.questions
	showing, err := q.otherHosts(ctx)
	code = strings.TrimSpace(code)
	switch {
	case err != nil:
		return false, err
	case !q.shows() && len(showing) == 0:
		return false, nil
	case code == "":
		return true, control.ErrCode
	case q.shows():
		return true, q.checkCode(q.commandCodes, about, about, code)
	}
	return true, q.checkCodeAt(ctx, showing, about, code)
}
