package approval

import (
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/host"
)

// remote describes a server at a URL.
func (d *describer) remote() (*Remote, error) {
	source := d.upstream.Source
	if source.URL.Written == "" {
		return nil, fmt.Errorf("the server has neither a command nor a URL")
	}
	r := &Remote{
		URL: source.URL.Written, Transport: d.upstream.Transport,
		Headers: d.variables(source.Headers), SignIn: d.variables(source.SignIn),
	}
	r.addReferences(d.isOutside, "in the URL", source.URL.References)
	for _, h := range r.Headers {
		r.addReferences(d.isOutside, "in the header "+h.Name, h.References)
	}
	for _, v := range r.SignIn {
		r.addReferences(d.isOutside, "to the authorization server, as "+v.Name, v.References)
	}
	r.Concerns = append(append(r.Concerns, addressConcerns(source.URL)...), d.outsideRoots()...)
	return r, nil
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
