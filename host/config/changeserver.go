package config

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// changedServer is one server of the host's own configuration that is to be changed.
type changedServer struct {
	*edit
	change *Change
	file   *file
	entry  *entry
	at     []string // its place in the file
}

// UnknownServerError is the error for a name that no server of a file has.
type UnknownServerError struct {
	Path, Name string
	// Names are those of the servers in the file.
	Names []string
}

func (e *UnknownServerError) Error() string {
	return fmt.Sprintf("server %q: unknown; it is not in %s", e.Name, e.Path)
}

// openServer reads a file to change one of its servers. The name is the one in the file, or the key of the server.
func openServer(path, name string) (*changedServer, error) {
	if isTOML(path) {
		return nil, fmt.Errorf("%s: is TOML; want a JSON file to change", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	c, err := readForChange(path, read)
	if err != nil {
		return nil, err
	}
	f := parse(newSource(path, c.before), path, "")
	switch {
	case c.New:
		return nil, &UnknownServerError{Path: path, Name: name}
	case f.root == nil:
		return nil, Join(f.errors)
	}
	s := &changedServer{edit: &edit{content: c.before}, change: c, file: f}
	root, err := s.parse()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	servers, i := findServer(root, f.serversPath(), name)
	if i < 0 {
		return nil, &UnknownServerError{Path: path, Name: name, Names: f.names()}
	}
	written := memberName(&servers.Value.(*hujson.Object).Members[i])
	at := slices.IndexFunc(f.entries, func(e *entry) bool { return e.name == written })
	if at < 0 {
		return nil, fmt.Errorf("%s: server %q has errors; correct them first", path, written)
	}
	s.entry, s.at = f.entries[at], append(slices.Clone(f.serversPath()), written)
	return s, nil
}

// object returns the name of the member of the server that has texts by their names: the first of some
// that is there, else the first.
func (s *changedServer) object(names ...string) string {
	for _, name := range names {
		if s.entry.at.member(name) != nil {
			return name
		}
	}
	return names[0]
}

// setMember sets a member at a path in the server.
func (s *changedServer) setMember(v any, path ...string) error {
	text, err := json.Marshal(v)
	if err == nil {
		err = s.set(append(slices.Clone(s.at), path...), jsontext.Value(text))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.change.Path, err)
	}
	s.change.after = s.content
	return nil
}

// unset removes a member at a path in the server, if it is there.
func (s *changedServer) unset(path ...string) error {
	root, err := s.parse()
	if err != nil {
		return fmt.Errorf("%s: %w", s.change.Path, err)
	}
	whole := append(slices.Clone(s.at), path...)
	last := len(whole) - 1
	if object, i := findMember(root, whole[:last], whole[last]); i >= 0 {
		s.removeMember(object, i)
	}
	s.change.after = s.content
	return nil
}

// Set returns the change that sets the command of a program, or the URL of another server, unless words is empty;
// and variables of a program, in the form NAME=VALUE, or NAME for one that is passed on, or headers of a
// server at a URL, in the form NAME: VALUE. Everything else of the server stays. The Server has the new
// texts alone. The error is an *UnknownServerError if the file has no server of the name.
func Set(path, name string, words, env, headers []string) (*Change, *Server, error) {
	s, err := openServer(path, name)
	if err != nil {
		return nil, nil, err
	}
	e := &entry{name: s.entry.name, key: s.entry.key, url: s.entry.url, command: s.entry.command}
	if len(words) > 0 {
		if err := s.setTarget(e, words); err != nil {
			return nil, nil, err
		}
	}
	if err := e.addTexts(env, headers); err != nil {
		return nil, nil, err
	}
	for _, p := range e.env {
		if err := s.setMember(p.text, s.object("env", "environment"), p.name); err != nil {
			return nil, nil, err
		}
	}
	for _, p := range e.headers {
		if i := slices.IndexFunc(s.entry.headers, func(known pair) bool { return strings.EqualFold(known.name, p.name) }); i >= 0 {
			p.name = s.entry.headers[i].name
		}
		if err := s.setMember(p.text, s.object("headers", "http_headers"), p.name); err != nil {
			return nil, nil, err
		}
	}
	return s.change, &Server{Name: e.key, entry: e}, nil
}

// setTarget sets the command or the URL of the server, and notes the new texts in an entry.
func (s *changedServer) setTarget(e *entry, words []string) error {
	isURL := len(words) == 1 && IsServerURL(words[0])
	command := s.entry.at.member("command")
	switch {
	case e.remote() != isURL:
		return fmt.Errorf("%s: server %q: found a program in place of a URL, or a URL in place of a program; remove it and add it again", s.change.Path, s.entry.name)
	case isURL:
		e.url.text = words[0]
		return s.setMember(words[0], s.object("url", "serverUrl", "httpUrl", "uri"))
	case command == nil || command.kind != kindString:
		return fmt.Errorf("%s: server %q: found a command that is no string; change it by hand", s.change.Path, s.entry.name)
	}
	e.command.text = words[0]
	for _, arg := range words[1:] {
		e.args = append(e.args, field{text: arg})
	}
	err := s.setMember(words[0], "command")
	switch {
	case err != nil:
		return err
	case len(words) > 1:
		return s.setMember(words[1:], "args")
	}
	return s.unset("args")
}

// ChangeRoots returns the change that adds directories to the roots of a server, and removes others, all as
// absolute paths. roots are those that it has then. The error is an *UnknownServerError if the file has
// no server of the name.
func ChangeRoots(path, name string, env Env, add, remove []string) (c *Change, roots []string, err error) {
	s, err := openServer(path, name)
	if err != nil {
		return nil, nil, err
	}
	if s.entry.at.member(settingsMember) != nil && s.entry.settings.Questions.Roots != "" {
		return nil, nil, fmt.Errorf("%s: server %q: found \"roots\": true or false, want an array of directories in its place", s.change.Path, name)
	}
	r := &resolver{file: s.file, env: env, workspace: workspaceOf(s.file.absolute, env)}
	var texts []string
	before := len(s.entry.roots)
	for _, f := range s.entry.roots {
		at := filepath.Clean(r.absolutePath(r.directory(f)))
		if !slices.Contains(remove, at) && !slices.Contains(roots, at) {
			texts, roots = append(texts, f.text), append(roots, at)
		}
	}
	kept := len(texts)
	for _, dir := range add {
		if !slices.Contains(roots, dir) {
			texts, roots = append(texts, escapeReferences(dir)), append(roots, dir)
		}
	}
	switch {
	case len(roots) > MaxRoots:
		return nil, nil, fmt.Errorf("server %q: found %d roots, want at most %d", name, len(roots), MaxRoots)
	case len(texts) == kept && kept == before: // nothing changes
	case len(texts) > 0:
		err = s.setMember(texts, settingsMember, "roots")
	default:
		err = s.unset(settingsMember, "roots")
	}
	return s.change, roots, err
}
