package approval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/userfile"
)

// Remote is a server at a URL.
type Remote struct {
	// URL is that of the configuration, with references unexpanded. Its query and what
	// follows a password are not shown to others.
	URL       string     `json:"url"`
	Transport string     `json:"transport"`
	Headers   []Variable `json:"headers,omitempty"`
	SignIn    []Variable `json:"signIn,omitempty"`
	// Sends says which variables, inputs and files leave the machine, and where in the
	// request.
	Sends []string `json:"sends,omitempty"`
	// Concerns says what is unusual: files outside of the project, and addresses that only
	// this machine or its network can reach.
	Concerns []string `json:"concerns,omitempty"`
}

func (s *Store) remote(u *host.Upstream, key []byte) (*Remote, error) {
	source := u.Source
	if source.URL.Written == "" {
		return nil, fmt.Errorf("the server has neither a command nor a URL")
	}
	r := &Remote{
		URL: source.URL.Written, Transport: u.Transport,
		Headers: s.variables(source.Headers, key), SignIn: s.variables(source.SignIn, key),
	}
	isOutside := func(path string) bool { return s.isOutside(u, path) }
	r.addReferences(isOutside, "in the URL", source.URL.References)
	for _, h := range r.Headers {
		r.addReferences(isOutside, "in the header "+h.Name, h.References)
	}
	for _, v := range r.SignIn {
		r.addReferences(isOutside, "to the authorization server, as "+v.Name, v.References)
	}
	r.Concerns = append(r.Concerns, addressConcerns(source.URL)...)
	return r, nil
}

// origin returns the URL without what may be a secret: a user, the path and the query.
func (r *Remote) origin() string {
	scheme, _, ok := strings.Cut(r.URL, "://")
	if !ok {
		return host.EscapeUnprintable(r.URL)
	}
	if scheme == "unix" {
		return host.EscapeUnprintable(r.URL)
	}
	authority := authorityOf(r.URL)
	return host.EscapeUnprintable(scheme + "://" + authority[strings.LastIndex(authority, "@")+1:])
}

// addReferences records what a text takes out of the machine.
func (r *Remote) addReferences(isOutside func(path string) bool, place string, references []host.Reference) {
	for _, ref := range references {
		sent := string(ref.Kind) + " " + ref.Name + ", " + place
		if ref.Kind == host.FileReference {
			sent = "content of the file " + ref.Name + ", " + place
			if isOutside(ref.Name) {
				r.Concerns = append(r.Concerns, "the file "+ref.Name+" is outside of the project")
			}
		}
		if !slices.Contains(r.Sends, sent) {
			r.Sends = append(r.Sends, sent)
		}
	}
}

// isOutside reports whether a file is not in the project that names it. Symbolic links are
// followed, but to no other machine.
func (s *Store) isOutside(u *host.Upstream, path string) bool {
	if u.Origin.Project == "" {
		return false
	}
	return s.checkLocal(path, u.Origin.Project) != nil || !userfile.IsBelow(path, u.Origin.Project) || !userfile.IsBelow(userfile.RealPath(path), userfile.RealPath(u.Origin.Project))
}

// authorityOf returns the part of a URL that says where requests go.
func authorityOf(written string) string {
	_, rest, ok := strings.Cut(written, "://")
	if !ok {
		return written
	}
	if depth := strings.Index(rest, "/"); depth >= 0 && strings.Count(rest[:depth], "${") == strings.Count(rest[:depth], "}") {
		return rest[:depth]
	}
	return rest
}
