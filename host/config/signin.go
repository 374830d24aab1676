package config

import (
	"encoding/json/jsontext"
	"net/netip"
	"net/url"
	"strings"
	"unicode"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// signIn is the sign-in configuration of a server as a file has it.
type signIn struct {
	at       value
	off      bool
	issuer   field
	id       field
	secret   field
	grant    field
	pkce     field
	redirect field
	port     string // of redirect, if a file has only the port
	scopes   []field
	networks []field
}

// clientCredentialsGrant is the OAuth grant of clients without a user.
const clientCredentialsGrant = "client_credentials"

// methodS256 is the method of PKCE that the authorization server of a server supports, although it
// does not say so.
const methodS256 = "S256"

// signInReaders parse its members, by all the names that clients use for them.
var signInReaders = map[string]func(s *source, in *signIn, v value){
	"issuer":        func(s *source, in *signIn, v value) { s.stringOnce(&in.issuer, v) },
	"clientId":      func(s *source, in *signIn, v value) { s.stringOnce(&in.id, v) },
	"client_id":     func(s *source, in *signIn, v value) { s.stringOnce(&in.id, v) },
	"CLIENT_ID":     func(s *source, in *signIn, v value) { s.stringOnce(&in.id, v) },
	"clientSecret":  func(s *source, in *signIn, v value) { s.stringOnce(&in.secret, v) },
	"client_secret": func(s *source, in *signIn, v value) { s.stringOnce(&in.secret, v) },
	"CLIENT_SECRET": func(s *source, in *signIn, v value) { s.stringOnce(&in.secret, v) },
	"grant":         func(s *source, in *signIn, v value) { s.stringOnce(&in.grant, v) },
	"pkce":          func(s *source, in *signIn, v value) { s.stringOnce(&in.pkce, v) },
	"redirectUri":   func(s *source, in *signIn, v value) { s.stringOnce(&in.redirect, v) },
	"redirect_uri":  func(s *source, in *signIn, v value) { s.stringOnce(&in.redirect, v) },
	"callbackPort":  (*source).readCallbackPort,
	"scope":         func(s *source, in *signIn, v value) { in.scopes = append(in.scopes, s.scopes(v)...) },
	"scopes":        func(s *source, in *signIn, v value) { in.scopes = append(in.scopes, s.scopes(v)...) },
	"oauthScopes":   func(s *source, in *signIn, v value) { in.scopes = append(in.scopes, s.scopes(v)...) },
	"enabled":       func(s *source, in *signIn, v value) { in.off = !s.boolean(v) },
	"networks":      func(s *source, in *signIn, v value) { in.networks = append(in.networks, s.fields(v)...) },
}

// readSignIn parses the sign-in configuration of a server. The value false, as in
// opencode, disables sign-in.
func (s *source) readSignIn(e *entry, all value) {
	in := &e.signIn
	if in.at = all; all.kind == kindBoolean {
		in.off = all.text == "false"
		return
	}
	if !s.requireKind(all, kindObject) {
		return
	}
	s.each(all, func(m member, v value) {
		read, ok := signInReaders[m.name]
		if !ok {
			s.addWarning(all.named(m), "%s", noSignIn)
			return
		}
		read(s, in, v)
	})
}

// scopes parses an array of texts, or one text with spaces or commas between the scopes.
func (s *source) scopes(v value) []field {
	if v.kind != kindString {
		return s.fields(v)
	}
	var all []field
	for scope := range strings.FieldsFuncSeq(v.text, func(c rune) bool { return c == ',' || unicode.IsSpace(c) }) {
		all = append(all, field{text: scope, at: v})
	}
	return all
}

func (s *source) readCallbackPort(in *signIn, v value) {
	if s.requireKind(v, kindNumber) {
		in.port = v.text
	}
}

// validateSignIn reports members that exclude each other.
func (s *source) validateSignIn(in *signIn) {
	switch {
	case in.off:
	case in.secret.text != "" && in.id.text == "":
		s.addError(in.secret.at, `found a secret without a client, want "clientId" beside it`)
	case in.id.text != "" && in.issuer.text == "":
		s.addError(in.id.at, `found a client without its authorization server, want "issuer" beside it: nothing of the client is sent to any other`)
	case in.grant.text != "" && in.grant.text != clientCredentialsGrant:
		s.addError(in.grant.at, "found %q, want %q, or none where the user signs in", in.grant.text, clientCredentialsGrant)
	case in.grant.text != "" && in.secret.text == "":
		s.addError(in.grant.at, `found a client without a secret, want "clientSecret" beside it`)
	case in.pkce.text != "" && in.pkce.text != methodS256:
		s.addError(in.pkce.at, "found %q, want %q, or none where the authorization server says what it supports", in.pkce.text, methodS256)
	}
}

// signIn returns the sign-in configuration of an upstream.
func (r *resolver) signIn(in *signIn) host.SignIn {
	s := host.SignIn{
		Disabled: in.off, Issuer: r.remoteText(in.issuer), ClientID: r.remoteText(in.id), ClientSecret: mcpauth.Secret(r.remoteText(in.secret)),
		ClientCredentials: in.grant.text != "", AssumePKCE: in.pkce.text != "", RedirectURL: r.remoteText(in.redirect),
	}
	for _, scope := range in.scopes {
		s.Scopes = append(s.Scopes, r.remoteText(scope))
	}
	if s.RedirectURL == "" && in.port != "" {
		s.RedirectURL = "http://localhost:" + in.port + "/callback" // as in Claude Code
	}
	if s.RedirectURL != "" && r.isKnown(in.redirect) && !isLocal(s.RedirectURL) {
		r.addError(in.redirect.at, "want a URL of this machine such as http://127.0.0.1:8765/callback: the host waits there for the browser")
	}
	if s.Issuer != "" && r.isKnown(in.issuer) && !strings.HasPrefix(s.Issuer, "https://") && !isLocal(s.Issuer) {
		r.addError(in.issuer.at, "want an https URL such as https://id.example.com")
	}
	for _, n := range in.networks {
		prefix, err := netip.ParsePrefix(r.remoteText(n))
		if err != nil && r.isKnown(n) {
			r.addError(n.at, "found %q, want a network such as 10.1.0.0/16", n.text)
		}
		s.AllowedNetworks = append(s.AllowedNetworks, prefix)
	}
	return s
}

// isLocal reports whether the host of a URL is this machine.
func isLocal(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// signIn returns the sign-in configuration in the format of the host's own file, nil for
// the defaults.
func (s *Server) signIn() *orderedObject {
	var o orderedObject
	in := &s.entry.signIn
	for _, f := range []struct {
		name string
		field
	}{{"issuer", in.issuer}, {"clientId", in.id}, {"clientSecret", in.secret}, {"grant", in.grant}, {"pkce", in.pkce}, {"redirectUri", in.redirect}} {
		o.add(f.name, s.portableText(f.field), f.text != "")
	}
	o.add("callbackPort", jsontext.Value(in.port), in.port != "")
	for _, list := range []struct {
		name   string
		fields []field
	}{{"scopes", in.scopes}, {"networks", in.networks}} {
		var words []string
		for _, f := range list.fields {
			words = append(words, s.portableText(f))
		}
		o.add(list.name, words, len(words) > 0)
	}
	o.add("enabled", false, in.off)
	if len(o.members) == 0 {
		return nil
	}
	return &o
}
