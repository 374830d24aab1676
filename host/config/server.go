package config

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Server is one server of a configuration file, before variables are expanded. It can be
// added to another file.
type Server struct {
	// Name is the key of the upstream.
	Name string

	entry     *entry
	workspace string // of the file's project
	origin    *file
}

// NewServer describes a server: a command with its arguments, or a single URL. Variables
// have the form NAME=VALUE, or NAME for one that is passed on; headers have the form
// NAME: VALUE.
func NewServer(name string, words, env, headers []string) (*Server, error) {
	e := &entry{name: name, key: name}
	if key := keyOf(name); key != name {
		return nil, fmt.Errorf("name %q: want 1 to 32 of a-z, 0-9 and '-', such as %q", name, key)
	}
	switch {
	case len(words) == 0:
		return nil, errors.New("want a command after --, or a URL")
	case len(words) == 1 && IsServerURL(words[0]):
		e.url.text = words[0]
	default:
		e.command.text = words[0]
		for _, a := range words[1:] {
			e.args = append(e.args, field{text: a})
		}
	}
	if err := e.addTexts(env, headers); err != nil {
		return nil, err
	}
	return &Server{Name: name, entry: e}, nil
}

// addTexts adds variables and headers, in the form of the command line. Variables are for programs, headers for
// servers at a URL.
func (e *entry) addTexts(env, headers []string) error {
	for _, v := range env {
		name, text, ok := strings.Cut(v, "=")
		if !variable.MatchString(name) {
			return fmt.Errorf("variable %q: want NAME=VALUE, or NAME", name)
		}
		if !ok {
			text = "${env:" + name + "}"
		}
		e.env = append(e.env, pair{name, field{text: text}})
	}
	for _, h := range headers {
		name, text, ok := strings.Cut(h, ":")
		switch {
		case !ok || strings.TrimSpace(name) == "":
			return fmt.Errorf("header: want NAME: VALUE, found no colon after a name")
		case !IsHeaderName(strings.TrimSpace(name)):
			return fmt.Errorf("header: found a name that no header can have, want letters, digits and hyphens, such as X-Api-Key")
		case !IsHeaderValue(strings.TrimSpace(text)):
			return fmt.Errorf("header %q: found a control character in the value, want one line of text", strings.TrimSpace(name))
		}
		if slices.ContainsFunc(e.headers, func(p pair) bool { return strings.EqualFold(p.name, strings.TrimSpace(name)) }) {
			return fmt.Errorf("header %q: found it twice, want it once", strings.TrimSpace(name))
		}
		e.headers = append(e.headers, pair{strings.TrimSpace(name), field{text: strings.TrimSpace(text)}})
	}
	switch {
	case e.remote() && len(env) > 0:
		return errors.New("found a variable for a URL, want variables for a command only")
	case !e.remote() && len(headers) > 0:
		return errors.New("found a header for a command, want headers for a URL only")
	}
	return nil
}

// IsServerURL reports whether a word is a URL that a server can have, and not a program.
func IsServerURL(s string) bool {
	_, socket := socketPath(s)
	return socket || isURL(s)
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// Servers parses the servers of a client's file. It starts nothing and asks nothing.
// Servers that cannot be used are among the diagnostics.
func (f ClientConfig) Servers(env Env, dir string) ([]*Server, []*Diagnostic) {
	file, err := open(f.Path, dir)
	if err != nil {
		return nil, []*Diagnostic{{Path: f.Path, Line: 1, Column: 1, Text: err.Error()}}
	}
	if file.root == nil && file.readable() {
		return nil, nil
	}
	var servers []*Server
	for _, e := range file.entries {
		if !e.isHost() && (e.command.text != "" || e.remote()) {
			servers = append(servers, &Server{Name: e.key, entry: e, workspace: workspaceOf(file.absolute, env), origin: file})
		}
	}
	return servers, file.errors
}

// readable reports whether a file was parsed or has no servers.
func (f *file) readable() bool {
	return len(f.errors) == 1 && strings.HasPrefix(f.errors[0].Text, `found no "mcpServers"`)
}

// Upstream returns the server as it is configured, with its references unresolved, so that
// it can be compared with the managed policy.
func (s *Server) Upstream() *host.Upstream {
	e := s.entry
	u := &host.Upstream{Key: s.Name, Settings: e.settings}
	if e.remote() {
		u.Target = mcpclient.URL(s.portableText(e.url))
		if path, ok := socketPath(s.portableText(e.url)); ok {
			u.Target = mcpclient.Socket("unix", path)
		}
	} else {
		t := mcpclient.Command(s.portableText(e.command))
		for _, a := range e.args {
			t.Args = append(t.Args, s.portableText(a))
		}
		t.Dir = s.path(e.dir)
		u.Target = t
	}
	return u
}

// Disabled reports whether the server is switched off.
func (s *Server) Disabled() bool { return s.entry.disabled }

var (
	flagOnly = regexp.MustCompile(`^-{1,2}[A-Za-z][A-Za-z0-9-]*$`)
	packaged = regexp.MustCompile(`^@?[A-Za-z0-9][\w./-]*(@[\w.-]+)?$`)
	// runners run what their first argument names.
	runners = []string{"npx", "uvx", "bunx", "pipx", "pnpm", "yarn", "deno", "node", "python", "python3", "docker", "uv"}
)

// String describes the server on one line. What may be a secret is replaced by "…":
// values of variables and headers, the path of a URL, and arguments except flags and the
// name of a package.
func (s *Server) String() string {
	e := s.entry
	if e.remote() {
		return RedactURL(e.url.text)
	}
	shown := []string{e.command.text}
	packageShown := !slices.Contains(runners, strings.TrimSuffix(filepath.Base(e.command.text), ".cmd"))
	for i, a := range e.args {
		afterFlag := i > 0 && strings.HasPrefix(e.args[i-1].text, "--")
		switch {
		case flagOnly.MatchString(a.text):
			shown = append(shown, a.text)
		case !packageShown && !afterFlag && packaged.MatchString(a.text):
			packageShown = true
			shown = append(shown, a.text)
		default:
			shown = append(shown, "…")
		}
	}
	return strings.Join(shown, " ")
}

// RedactURL replaces the path and query of a URL by "…", because they may hold a
// secret, and removes the password. The path of a Unix domain socket stays.
func RedactURL(address string) string {
	if _, socket := socketPath(address); socket {
		return address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "…"
	}
	shown := u.Scheme + "://" + u.Host
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		shown += "/…"
	}
	return shown
}

// Names are the names of its variables or headers.
func (s *Server) Names() (names []string) {
	for _, p := range append(s.entry.env, s.entry.headers...) {
		names = append(names, p.name)
	}
	return append(names, s.entry.variables...)
}

// portableText returns a text that has the same meaning in the host's own file.
func (s *Server) portableText(f field) string {
	text := f.text
	switch {
	case s.origin == nil:
	case isTOML(s.origin.path):
		text = escapeReferences(text)
	default:
		text = s.translateReferences(f)
	}
	if f.variable != "" {
		text += "${env:" + f.variable + "}"
	}
	return text
}

// translateReferences writes the references of another file in the host's form. Those to the
// directory of its project, which is not that of the host's file, are replaced.
func (s *Server) translateReferences(f field) string {
	var translated strings.Builder
	for literal, ref := range s.origin.references(f) {
		if ref != "" && !strings.HasPrefix(ref, "$$") {
			literal = beforeReference(literal)
		}
		translated.WriteString(literal + s.translateReference(ref))
	}
	return translated.String()
}

func (s *Server) translateReference(ref string) string {
	switch {
	case ref == "${workspaceFolder}" && s.workspace != "":
		return strings.ReplaceAll(s.workspace, "$", "${$}")
	case ref == "${workspaceFolderBasename}" && s.workspace != "":
		return strings.ReplaceAll(filepath.Base(s.workspace), "$", "${$}")
	case strings.HasPrefix(ref, "{env:"):
		return "$" + ref
	case strings.HasPrefix(ref, "{file:"), strings.HasPrefix(ref, "${file:"):
		return "${file:" + s.absoluteFile(strings.TrimSuffix(ref[strings.Index(ref, ":")+1:], "}")) + "}"
	case ref == "~":
		return "${userHome}"
	case strings.HasPrefix(ref, "%"):
		return "${" + strings.Trim(ref, "%") + "}"
	case strings.HasPrefix(ref, "$") && !strings.HasPrefix(ref, "$$") && !strings.HasPrefix(ref, "${"):
		return "${" + ref[1:] + "}"
	}
	return ref
}

// absoluteFile returns the path of a reference to a file that is not relative to the file of the reference.
func (s *Server) absoluteFile(path string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "~/") {
		return path
	}
	return filepath.Join(filepath.Dir(s.origin.absolute), path)
}

// path makes a path absolute, because the server moves to another file.
func (s *Server) path(f field) string {
	text := s.portableText(f)
	if text == "" || filepath.IsAbs(text) || strings.HasPrefix(text, "${") || s.origin == nil {
		return text
	}
	r := &resolver{file: s.origin, workspace: s.workspace}
	return r.absolutePath(text)
}

// directory returns the working directory of a program in the host's own file. One of a
// project runs in the project, as before.
func (s *Server) directory() string {
	if s.entry.dir.text == "" && !s.entry.remote() {
		return escapeReferences(s.workspace)
	}
	return s.path(s.entry.dir)
}

// value returns the server in the format of the host's own file.
func (s *Server) value() (jsontext.Value, error) {
	e := s.entry
	var o, env, headers orderedObject
	o.add("type", e.transport, e.transport == transportEventStream)
	o.add("command", s.portableText(e.command), e.command.text != "")
	var args []string
	for _, a := range e.args {
		args = append(args, s.portableText(a))
	}
	o.add("args", args, len(args) > 0)
	for _, name := range e.variables {
		env.add(name, "${"+name+":-}", true)
	}
	for _, p := range e.env {
		env.add(p.name, s.portableText(p.field), true)
	}
	o.add("env", &env, len(env.members) > 0)
	o.add("envFile", s.path(e.envFile), e.envFile.text != "")
	o.add("cwd", s.directory(), s.directory() != "")
	o.add("url", s.portableText(e.url), e.remote())
	for _, p := range e.headers {
		headers.add(p.name, s.portableText(p.field), true)
	}
	o.add("headers", &headers, len(headers.members) > 0)
	signIn := s.signIn()
	o.add("auth", signIn, signIn != nil)
	o.add("disabled", true, e.disabled)
	own := e.settings
	if s.workspace == "" {
		for _, f := range e.roots {
			f.home = true
			own.Roots = append(own.Roots, s.path(f))
		}
	} else { // a project must not switch off approvals
		own.Dev = false
		own.Questions = own.Questions.Refusals()
		if own.Questions.Sampling == host.SamplingDefault {
			own.Questions.Sampling = host.SamplingAsk
		}
		own.Trust, own.Dynamic = host.TrustAsk, false // as in the project's file
	}
	settings, err := writeSettings(own)
	if err != nil {
		return nil, err
	}
	o.add(settingsMember, settings, settings != nil)
	return json.Marshal(&o)
}
