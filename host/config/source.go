package config

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// written returns a field with its references unexpanded, in the form of host.Text. Errors
// of the field are reported by expand.
func (r *resolver) written(f field) host.Text {
	defer func(before []*Diagnostic) { r.errors = before }(r.errors)
	w := new(textWriter)
	if isTOML(r.path) {
		w.literal = f.text
	} else {
		for literal, ref := range r.references(f) {
			w.literal += literal
			if ref != "" {
				r.writeReference(w, ref, f)
			}
		}
	}
	if f.variable != "" {
		w.reference(host.Reference{Kind: host.VariableReference, Name: f.variable})
	}
	return w.end()
}

// writeReference writes a reference of any format.
func (r *resolver) writeReference(w *textWriter, ref string, f field) {
	literal, parsed, _ := r.parseReference(ref, f)
	if parsed.Kind == "" {
		w.literal += literal
		return
	}
	w.reference(parsed)
}

// textWriter writes a host.Text, so that two texts with other meanings are never written alike.
type textWriter struct {
	text    host.Text
	literal string // what follows the last reference
}

// referenceWords are the words of references in a host.Text.
var referenceWords = map[host.ReferenceKind]string{host.VariableReference: "env", host.InputReference: "input", host.FileReference: "file"}

func (w *textWriter) reference(ref host.Reference) {
	literal := w.literal
	w.literal = ""
	w.text.Written += beforeReference(escapeReferences(literal)) + "${" + referenceWords[ref.Kind] + ":" + ref.Name
	if ref.Default != "" {
		w.text.Written += ":-" + ref.Default
	}
	w.text.Written += "}"
	w.text.References = append(w.text.References, ref)
}

func (w *textWriter) end() host.Text {
	w.text.Written += escapeReferences(w.literal)
	return w.text
}

func escapeReferences(literal string) string { return strings.ReplaceAll(literal, "${", "$${") }

// beforeReference returns a literal text as it is written in front of a reference, which a "$" at
// its end would make an escape.
func beforeReference(literal string) string {
	rest := strings.TrimRight(literal, "$")
	return rest + strings.Repeat("${$}", len(literal)-len(rest))
}

// remoteText returns the value of a field that is sent to a remote server. Before the
// approval of the user it only reports errors, and returns the field unexpanded.
func (r *resolver) remoteText(f field) string {
	value := r.expand(f, nil)
	if r.isKnown(f) {
		return value
	}
	return r.written(f).Written
}

// isKnown reports whether the value of a field can be checked.
func (r *resolver) isKnown(f field) bool { return !r.partial || r.written(f).Literal() }

// programSource returns what the file says about a program. fromFile are the variables of
// its environment file.
func (r *resolver) programSource(e *entry, fromFile map[string]string) *host.Source {
	s := &host.Source{Command: r.written(e.command), Env: make(map[string]host.Text)}
	for _, a := range e.args {
		s.Args = append(s.Args, r.written(a))
	}
	ofFile := make(map[string]bool)
	for name, value := range fromFile {
		s.Env[name], ofFile[name] = host.Text{Written: escapeReferences(value)}, true
	}
	for _, name := range e.variables {
		_, isSet := r.env(name)
		if _, ok := fromFile[name]; ok && !isSet {
			continue // the value is that of the file
		}
		s.Env[name] = r.written(field{variable: name})
		delete(ofFile, name)
	}
	for _, p := range e.env {
		s.Env[p.name] = r.written(p.field)
		delete(ofFile, p.name)
	}
	s.EnvFileNames = slices.Sorted(maps.Keys(ofFile))
	if e.envFile.text != "" {
		s.EnvFile = r.absolutePath(r.expand(e.envFile, nil))
	}
	return s
}

// remoteSource returns what the file says about a remote server.
func (r *resolver) remoteSource(e *entry) *host.Source {
	s := &host.Source{URL: r.written(e.url), Headers: make(map[string]host.Text), SignIn: make(map[string]host.Text)}
	for _, p := range e.headers {
		s.Headers[http.CanonicalHeaderKey(p.name)] = r.written(p.field)
	}
	in := &e.signIn
	for name, f := range map[string]field{
		"issuer": in.issuer, "clientId": in.id, "clientSecret": in.secret, "grant": in.grant, "pkce": in.pkce, "redirectUri": in.redirect, "callbackPort": {text: in.port},
	} {
		if f.text != "" {
			s.SignIn[name] = r.written(f)
		}
	}
	for name, fields := range map[string][]field{"scopes": in.scopes, "networks": in.networks} {
		var all host.Text
		for i, f := range fields {
			t := r.written(f)
			all.Written += strings.Repeat(" ", min(i, 1)) + t.Written
			all.References = slices.Concat(all.References, t.References)
		}
		if len(fields) > 0 {
			s.SignIn[name] = all
		}
	}
	return s
}
