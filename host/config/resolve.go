package config

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A resolver converts the entries of a file into upstreams.
type resolver struct {
	*file
	env       Env
	workspace string // the directory of the file's project
	answers   *inputAnswers
	// partial is set until the user has approved an upstream: inputs are not asked for,
	// files are not read, and nothing that is sent to another machine is expanded.
	partial bool

	upstreams []host.Upstream
	disabled  []string
	broken    []string
}

func (f *file) resolve(o *Options) *resolver {
	r := &resolver{file: f, env: o.env(), answers: &inputAnswers{env: o.env(), ask: o.ask(), answers: make(map[string]*inputAnswer)}, partial: true, broken: f.broken}
	r.workspace = workspaceOf(f.absolute, r.env)
	for _, e := range f.entries {
		switch before := len(f.errors); {
		case e.unsupported && e.command.text == "" && !e.remote():
		case e.isHost():
			f.addWarning(e.at, "left out: this is the host itself")
		case e.disabled:
			r.disabled = append(r.disabled, e.key)
			f.addWarning(e.at, "server %q is disabled", e.key)
		default:
			u := r.upstream(e)
			if len(f.errors) > before {
				r.broken = append(r.broken, e.name)
				continue
			}
			r.warnUnexpanded(e)
			r.upstreams = append(r.upstreams, u)
		}
	}
	return r
}

// upstream returns the upstream of an entry before it is approved.
func (r *resolver) upstream(e *entry) host.Upstream {
	u := host.Upstream{Key: e.key, Settings: e.settings, Origin: host.Origin{File: r.absolute, Project: r.workspace}}
	r.ignoreTrust(&u, e)
	u.Settings.Roots = r.roots(e)
	if e.remote() {
		r.endpoint(&u, e)
		r.checkQuestions(&u, e)
		u.Source = r.remoteSource(e)
		u.Resolve = r.resolveFunc(u, func(full *resolver, u *host.Upstream) { full.endpoint(u, e) })
		return u
	}
	fromFile := r.fileEnv(e) // once, so that what was approved is what is used
	r.program(&u, e, fromFile)
	r.checkQuestions(&u, e)
	u.Source = r.programSource(e, fromFile)
	u.Resolve = r.resolveFunc(u, func(full *resolver, u *host.Upstream) { full.program(u, e, fromFile) })
	return u
}

// ignoreTrust removes settings from the file of a project by which it would approve its own
// servers: the user is asked about its servers as if the settings were absent.
func (r *resolver) ignoreTrust(u *host.Upstream, e *entry) {
	if r.workspace == "" {
		return
	}
	s := &u.Settings
	if s.Trust != "" && s.Trust != host.TrustAsk {
		r.addWarning(e.at, ignoredSetting, "trust")
		s.Trust = ""
	}
	if s.Dynamic {
		r.addWarning(e.at, ignoredSetting, "dynamic")
		s.Dynamic = false
	}
	if s.Dev {
		r.addWarning(e.at, ignoredSetting, "dev")
		s.Dev = false
	}
}

const ignoredSetting = "%q has no effect in the file of a project, which could otherwise approve its own servers; set it in a file of your own"

// checkQuestions refuses the file of a project that grants more than the defaults do.
func (r *resolver) checkQuestions(u *host.Upstream, e *entry) {
	if r.workspace == "" {
		return
	}
	inOwnFile := *u
	inOwnFile.Origin.Project = ""
	have, want := inOwnFile.Questions(), u.Questions()
	for _, rule := range []struct {
		name       string
		have, want bool
	}{
		{"roots", have.Roots, want.Roots},
		{"elicitation", have.Elicitation, want.Elicitation},
		{"secrets", have.Secrets, want.Secrets},
	} {
		if rule.have != rule.want {
			r.addError(e.at, "found %q: true in the file of a project, want it in a file of the user only: it lets the server ask for more than by default", rule.name)
		}
	}
	if u.Settings.Questions.Sampling == host.SamplingRelay {
		r.addError(e.at, `found "sampling": "relay" in the file of a project, want it in a file of the user only: it lets the server ask for more than by default`)
	}
}

// resolveFunc returns the function that expands all references of an upstream.
func (r *resolver) resolveFunc(u host.Upstream, fill func(*resolver, *host.Upstream)) func(context.Context) (*host.Upstream, error) {
	return func(context.Context) (*host.Upstream, error) {
		content := *r.source
		content.errors, content.warnings = nil, nil
		f := *r.file
		f.source = &content
		full := &resolver{file: &f, env: r.env, workspace: r.workspace, answers: r.answers}
		resolved := u
		fill(full, &resolved)
		if err := Join(full.errors); err != nil {
			return nil, err
		}
		return &resolved, nil
	}
}

// program sets the target of an upstream that is a program.
func (r *resolver) program(u *host.Upstream, e *entry, fromFile map[string]string) {
	own := maps.Clone(fromFile)
	for _, name := range e.variables {
		if v, ok := r.env(name); ok {
			own[name] = v
		}
	}
	for _, p := range e.env {
		own[p.name] = r.expand(p.field, nil)
	}
	for _, f := range []field{e.command, e.dir} {
		if slices.ContainsFunc(r.written(f).References, func(ref host.Reference) bool { return ref.Kind != host.VariableReference }) {
			r.addError(f.at, "found an input or the content of a file, want a text or a variable: what runs must be known when it is approved")
		}
	}
	t := mcpclient.Command(r.expand(e.command, own))
	r.checkLocal(e.command, t.Path)
	for _, a := range e.args {
		t.Args = append(t.Args, r.expand(a, own))
	}
	if len(own) > 0 {
		t.Env = own
	}
	dir := cmp.Or(r.expand(e.dir, own), ".")
	r.checkLocal(e.dir, dir)
	t.Dir = r.absolutePath(dir)
	u.Target, u.Transport = t, "over stdio"
}

// checkLocal reports a path on another machine in the file of a project. It does so before
// anything at that path is read, and whether or not the server is approved.
func (r *resolver) checkLocal(f field, path string) (ok bool) {
	err := userfile.CheckLocal(path, r.workspace)
	if err == nil {
		err = userfile.CheckLocal(r.absolutePath(path), r.workspace)
	}
	switch {
	case err != nil && !r.written(f).Literal(): // the path may be a secret
		r.addError(f.at, "%s leads to another machine: found in the file of a project, want a path on this machine", r.written(f).Written)
	case err != nil:
		r.addError(f.at, "%v", err)
	}
	return err == nil
}

// absolutePath makes a path absolute, relative to the workspace or, without one, to the
// directory of the file.
func (r *resolver) absolutePath(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	if r.workspace != "" {
		return filepath.Join(r.workspace, path)
	}
	return filepath.Join(filepath.Dir(r.absolute), path)
}

// fileEnv reads the variables of the entry's envFile.
func (r *resolver) fileEnv(e *entry) map[string]string {
	if e.envFile.text == "" {
		return make(map[string]string)
	}
	path := r.expand(e.envFile, nil)
	if !r.checkLocal(e.envFile, path) {
		return make(map[string]string)
	}
	content, err := readText(r.absolutePath(path))
	switch {
	case err != nil && !r.written(e.envFile).Literal(): // the path may be a secret
		r.addError(e.envFile.at, "cannot read %s", r.written(e.envFile).Written)
	case err != nil:
		r.addError(e.envFile.at, "%v", err)
	}
	if err != nil {
		return make(map[string]string)
	}
	variables, line := parseEnv(string(content))
	if line > 0 {
		r.addError(e.envFile.at, "found a line that is no variable, the number %d of the file; want NAME=VALUE, or a comment after #", line)
	}
	return variables
}

// endpoint sets the target of an upstream at a URL.
func (r *resolver) endpoint(u *host.Upstream, e *entry) {
	address := r.remoteText(e.url)
	if path, ok := socketPath(address); ok {
		r.socket(u, e, path)
		return
	}
	if r.isKnown(e.url) && !isURL(address) {
		r.addError(e.url.at, "found an address that no server has, want an http or https URL such as https://example.com/mcp, or unix:///PATH")
	}
	u.Target, u.Transport = mcpclient.URL(address), "over HTTP"
	if e.transport == transportEventStream {
		u.Target, u.Transport = mcpclient.EventStream(address), "over HTTP+SSE"
	}
	u.Header = make(http.Header)
	for _, p := range e.headers {
		value := r.remoteText(p.field)
		if r.isKnown(p.field) && !IsHeaderValue(value) {
			r.addError(p.at, "found a line break or another control character in the value of a header, want one line of text")
			continue
		}
		u.Header.Set(p.name, value)
	}
	u.SignIn = r.signIn(&e.signIn)
}

// socket sets the target of an upstream at a Unix domain socket, where messages are lines
// as over stdio.
func (r *resolver) socket(u *host.Upstream, e *entry, path string) {
	u.Target, u.Transport = mcpclient.Socket("unix", path), "over a unix socket"
	if e.transport != "" {
		r.addError(e.at, "found a type beside a unix socket, want none: its messages are lines, as over stdio")
	}
	if len(e.headers) > 0 {
		r.addError(e.headers[0].at, "found a header beside a unix socket, want headers beside an http or https URL only")
	}
}

// socketPath returns the path in a URL such as unix:///run/user/1000/files.sock.
func socketPath(address string) (path string, ok bool) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "unix" || u.Host != "" || !filepath.IsAbs(u.Path) || u.RawQuery != "" {
		return "", false
	}
	return u.Path, true
}
