package config

import (
	"encoding/json/jsontext"
	"net/netip"
	"net/url"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// signIn is how a server is signed in to, as a file has it.
type signIn struct {
	at       value
	off      bool
	issuer   field
	id       field
	secret   field
	grant    field
	redirect field
	port     string // of redirect, where a file has no more of it
	scopes   []field
	networks []field
}

// machineGrant is the grant of clients that get tokens for themselves.
const machineGrant = "client_credentials"

// signInReaders read its members, by all the names that programs have for them.
var signInReaders = map[string]func(s *source, in *signIn, v value){
	"issuer":        func(s *source, in *signIn, v value) { s.once(&in.issuer, v) },
	"clientId":      func(s *source, in *signIn, v value) { s.once(&in.id, v) },
	"client_id":     func(s *source, in *signIn, v value) { s.once(&in.id, v) },
	"CLIENT_ID":     func(s *source, in *signIn, v value) { s.once(&in.id, v) },
	"clientSecret":  func(s *source, in *signIn, v value) { s.once(&in.secret, v) },
	"client_secret": func(s *source, in *signIn, v value) { s.once(&in.secret, v) },
	"CLIENT_SECRET": func(s *source, in *signIn, v value) { s.once(&in.secret, v) },
	"grant":         func(s *source, in *signIn, v value) { s.once(&in.grant, v) },
	"redirectUri":   func(s *source, in *signIn, v value) { s.once(&in.redirect, v) },
	"redirect_uri":  func(s *source, in *signIn, v value) { s.once(&in.redirect, v) },
	"callbackPort":  (*source).readCallbackPort,
	"scope":         func(s *source, in *signIn, v value) { in.scopes = append(in.scopes, s.scopes(v)...) },
	"scopes":        func(s *source, in *signIn, v value) { in.scopes = append(in.scopes, s.scopes(v)...) },
	"oauthScopes":   func(s *source, in *signIn, v value) { in.scopes = append(in.scopes, s.scopes(v)...) },
	"enabled":       func(s *source, in *signIn, v value) { in.off = !s.boolean(v) },
	"networks":      func(s *source, in *signIn, v value) { in.networks = append(in.networks, s.texts(v)...) },
}

// readSignIn reads how a server is signed in to. The word false, which opencode has,
// is for a server that is never signed in to.
func (s *source) readSignIn(e *entry, all value) {
	in := &e.signIn
	if in.at = all; all.kind == kindBoolean {
		in.off = all.text == "false"
		return
	}
	if !s.want(all, kindObject) {
		return
	}
	s.each(all, func(m member, v value) {
		read, ok := signInReaders[m.name]
		if !ok {
			s.note(all.named(m), "%s", noSignIn)
			return
		}
		read(s, in, v)
	})
}

// scopes reads several texts, or one with spaces between the scopes.
func (s *source) scopes(v value) []field {
	if v.kind != kindString {
		return s.texts(v)
	}
	var all []field
	for scope := range strings.FieldsSeq(v.text) {
		all = append(all, field{text: scope, at: v})
	}
	return all
}

func (s *source) readCallbackPort(in *signIn, v value) {
	if s.want(v, kindNumber) {
		in.port = v.text
	}
}

// judgeSignIn reports members that do not go together.
func (s *source) judgeSignIn(in *signIn) {
	switch {
	case in.off:
	case in.secret.text != "" && in.id.text == "":
		s.fault(in.secret.at, `found a secret without a client, want "clientId" beside it`)
	case in.id.text != "" && in.issuer.text == "":
		s.fault(in.id.at, `found a client without its authorization server, want "issuer" beside it: nothing of the client is sent to any other`)
	case in.grant.text != "" && in.grant.text != machineGrant:
		s.fault(in.grant.at, "found %q, want %q, or none where the user signs in", in.grant.text, machineGrant)
	case in.grant.text != "" && in.secret.text == "":
		s.fault(in.grant.at, `found a client without a secret, want "clientSecret" beside it`)
	}
}

// signIn makes the sign-in of an upstream.
func (r *resolver) signIn(in *signIn) host.SignIn {
	s := host.SignIn{
		Disabled: in.off, Issuer: r.expand(in.issuer, nil), ClientID: r.expand(in.id, nil), ClientSecret: mcpauth.Secret(r.expand(in.secret, nil)),
		ClientCredentials: in.grant.text != "", RedirectURL: r.expand(in.redirect, nil),
	}
	for _, scope := range in.scopes {
		s.Scopes = append(s.Scopes, r.expand(scope, nil))
	}
	if s.RedirectURL == "" && in.port != "" {
		s.RedirectURL = "http://localhost:" + in.port + "/callback" // as Claude Code has it
	}
	if s.RedirectURL != "" && !isLocal(s.RedirectURL) {
		r.fault(in.redirect.at, "want a URL of this machine such as http://127.0.0.1:8765/callback: the host waits there for the browser")
	}
	if s.Issuer != "" && !strings.HasPrefix(s.Issuer, "https://") && !isLocal(s.Issuer) {
		r.fault(in.issuer.at, "want an https URL such as https://id.example.com")
	}
	for _, n := range in.networks {
		prefix, err := netip.ParsePrefix(r.expand(n, nil))
		if err != nil {
			r.fault(n.at, "found %q, want a network such as 10.1.0.0/16", n.text)
		}
		s.AllowedNetworks = append(s.AllowedNetworks, prefix)
	}
	return s
}

// isLocal reports whether a URL is one of this machine.
func isLocal(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// signIn writes the sign-in in the form of the host's own file, nil if there is
// nothing to say.
func (s *Server) signIn() *object {
	var o object
	in := &s.entry.signIn
	for _, f := range []struct {
		name string
		field
	}{{"issuer", in.issuer}, {"clientId", in.id}, {"clientSecret", in.secret}, {"grant", in.grant}, {"redirectUri", in.redirect}} {
		o.add(f.name, s.portable(f.field), f.text != "")
	}
	o.add("callbackPort", jsontext.Value(in.port), in.port != "")
	for _, list := range []struct {
		name   string
		fields []field
	}{{"scopes", in.scopes}, {"networks", in.networks}} {
		var words []string
		for _, f := range list.fields {
			words = append(words, s.portable(f))
		}
		o.add(list.name, words, len(words) > 0)
	}
	o.add("enabled", false, in.off)
	if len(o.members) == 0 {
		return nil
	}
	return &o
}
