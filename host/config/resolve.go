package config

import (
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A resolver converts the entries of a file into upstreams: it expands variables and asks
// for inputs.
type resolver struct {
	*file
	opts      *Options
	env       Env
	workspace string // the directory of the file's project
	answers   map[string]field

	upstreams []host.Upstream
	disabled  []string
	broken    []string
}

func (f *file) resolve(o *Options) *resolver {
	r := &resolver{file: f, opts: o, env: o.env(), answers: make(map[string]field), broken: f.broken}
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
			r.upstreams = append(r.upstreams, u)
		}
	}
	return r
}

func (r *resolver) upstream(e *entry) host.Upstream {
	u := host.Upstream{Key: e.key, Settings: e.settings}
	if e.remote() {
		r.endpoint(&u, e)
	} else {
		r.program(&u, e)
	}
	return u
}

// program sets the target of an upstream that is a program.
func (r *resolver) program(u *host.Upstream, e *entry) {
	own := r.fileEnv(e)
	for _, name := range e.variables {
		if v, ok := r.env(name); ok {
			own[name] = v
		}
	}
	for _, p := range e.env {
		own[p.name] = r.expand(p.field, nil)
	}
	t := mcpclient.Command(r.expand(e.command, own))
	for _, a := range e.args {
		t.Args = append(t.Args, r.expand(a, own))
	}
	if len(own) > 0 {
		t.Env = own
	}
	t.Dir = r.absolutePath(r.expand(e.dir, own))
	u.Target, u.Transport = t, "over stdio"
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
	path := r.absolutePath(r.expand(e.envFile, nil))
	content, err := read(path)
	if err != nil {
		r.addError(e.envFile.at, "%v", err)
		return make(map[string]string)
	}
	variables, line := parseEnv(string(content))
	if line > 0 {
		r.addError(e.envFile.at, "%s:%d: want NAME=VALUE", path, line)
	}
	return variables
}

// endpoint sets the target of an upstream at a URL.
func (r *resolver) endpoint(u *host.Upstream, e *entry) {
	address := r.expand(e.url, nil)
	if path, ok := socketPath(address); ok {
		r.socket(u, e, path)
		return
	}
	if !isURL(address) {
		r.addError(e.url.at, "want an http or https URL such as https://example.com/mcp, or unix:///PATH")
	}
	u.Target, u.Transport = mcpclient.URL(address), "over HTTP"
	if e.transport == transportEventStream {
		u.Target, u.Transport = mcpclient.EventStream(address), "over HTTP+SSE"
	}
	u.Header = make(http.Header)
	for _, p := range e.headers {
		u.Header.Set(p.name, r.expand(p.field, nil))
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
