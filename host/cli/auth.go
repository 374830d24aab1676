package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/config"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var authEntry = commandInfo{
	name: "auth", operands: "login SERVER | status [SERVER] | logout SERVER", does: "sign in to servers that require authorization",
	about: `SERVER is a name of the configuration, or a URL. login opens the browser and
waits; running hosts continue by themselves. status shows the issuer of each
stored token, and never a token. logout revokes and deletes the token. With a
URL login sends the headers of --header to the server, such as the key of a
gateway in front of it; status and logout send the server nothing.`,
	example: "auth login issues",
	make:    func() command { return new(authCommand) },
}

// authActions are the actions of the command.
var authActions = []string{"login", "status", "logout"}

type authCommand struct {
	output
	config    string
	noBrowser bool
	scopes    list
	headers   requestHeaders

	unapproved map[string]bool // servers of the configuration, by name
}

func (v *authCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.StringVar(&v.config, "config", "", "use the servers of `FILE`")
	f.BoolVar(&v.noBrowser, "no-browser", false, "print the address, and read the redirect address")
	f.Var(&v.scopes, "scope", "request an additional `SCOPE`; may be repeated")
	v.headers.declare(f)
}

func (v *authCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) == 0 {
		return usagef("want one of %s", strings.Join(authActions, ", "))
	}
	action, named := operands[0], operands[1:]
	switch {
	case !slices.Contains(authActions, action):
		return usagef("found %q, want one of %s%s", action, strings.Join(authActions, ", "), didYouMean(action, authActions))
	case len(named) > 1, len(named) == 0 && action != "status":
		return usagef("found %d servers, want one", len(named))
	}
	w, err := m.storage().Tokens()
	if err != nil {
		return err
	}
	servers, err := v.servers(ctx, m, named)
	if err != nil {
		return err
	}
	switch action {
	case "login":
		if err := m.checkPolicy(&servers[0]); err != nil {
			return err
		}
		if v.unapproved[servers[0].Key] {
			return v.needsApproval(m, servers[0].Key)
		}
		return v.login(ctx, m, w, &servers[0])
	case "logout":
		return v.logout(ctx, m, w, &servers[0])
	}
	return v.status(ctx, m, w, servers)
}

// servers returns the named server, or all servers of the configuration to which one can
// sign in.
func (v *authCommand) servers(ctx context.Context, m *Main, named []string) ([]host.Upstream, error) {
	byURL := len(named) == 1 && strings.Contains(named[0], "://")
	if v.headers.given() && !byURL {
		return nil, usagef("found --token or --header without a URL, want headers of a configured server in its configuration")
	}
	if byURL {
		header, err := v.headers.read("")
		if err != nil {
			return nil, err
		}
		if header.Get("Authorization") != "" {
			return nil, usagef("found a token for %s, want none: a sign-in gets one; other commands use a token with --url and --token", named[0])
		}
		u := host.Upstream{Key: named[0], Target: mcpclient.URL(named[0]), Header: header}
		if _, ok := signin.URL(&u); !ok {
			return nil, usagef("%q: want the name of a server, or an http or https URL", named[0])
		}
		return []host.Upstream{u}, nil
	}
	all, err := v.configured(ctx, m)
	if err != nil {
		return nil, err
	}
	if len(named) == 0 {
		return slices.DeleteFunc(all, func(u host.Upstream) bool { _, ok := signin.URL(&u); return !ok }), nil
	}
	i := slices.IndexFunc(all, func(u host.Upstream) bool { return u.Key == named[0] })
	if i < 0 {
		var keys []string
		for _, u := range all {
			keys = append(keys, u.Key)
		}
		return nil, usagef("server %q: unknown%s", named[0], didYouMean(named[0], keys))
	}
	_, ok := signin.URL(&all[i])
	switch {
	case ok:
	case v.unapproved[named[0]]: // its URL may be known only then
		return nil, v.needsApproval(m, named[0])
	default:
		return nil, usagef("server %q: sign-in is not possible: it is not reached over HTTP, has its Authorization header from the configuration, or has sign-in switched off", named[0])
	}
	return all[i : i+1], nil
}

// configured returns the servers of the configuration: the one that --config names, that
// of the running host, or the user's own.
func (v *authCommand) configured(ctx context.Context, m *Main) ([]host.Upstream, error) {
	path := cmp.Or(v.config, m.configOfRunningHost(ctx))
	if path == "" {
		path = config.Find(m.Getenv)
	}
	if path == "" {
		return nil, usagef("there is no configuration; --config names one, and a URL needs none")
	}
	c, err := m.readConfig(path, false, m.inputFunc())
	if err != nil {
		return nil, err
	}
	return v.resolveApproved(ctx, m, c.Upstreams)
}

// needsApproval is the error for a server to which nothing may be sent yet.
func (v *authCommand) needsApproval(m *Main, server string) error {
	return codedErrorf(exitConsent, "server %q needs approval before a sign-in: %s", server, m.approveCommand(server, v.config))
}

// resolveApproved expands the references of the servers that are approved. Of the others
// nothing may be sent.
func (v *authCommand) resolveApproved(ctx context.Context, m *Main, upstreams []host.Upstream) ([]host.Upstream, error) {
	state, err := m.storage().State()
	if err != nil {
		return nil, err
	}
	approvals, err := m.newApprovals(state, nil)
	if err != nil {
		return nil, err
	}
	v.unapproved = make(map[string]bool)
	for i := range upstreams {
		u := &upstreams[i]
		if p, err := approvals.Check(ctx, u); err != nil || p != nil {
			v.unapproved[u.Key] = true
			continue
		}
		resolved, err := u.Resolved(ctx)
		if err != nil {
			return nil, &codedError{exitUsage, err}
		}
		upstreams[i] = *resolved
	}
	return upstreams, nil
}

// login signs in, and prints the result.
func (v *authCommand) login(ctx context.Context, m *Main, w *signin.TokenStore, u *host.Upstream) error {
	address, _ := signin.URL(u)
	s := &browserSignIn{main: m}
	if v.noBrowser {
		s.client = w.Client(u, s.show)
	} else {
		s.client = w.Client(u, s.open)
		m.Info("signing in to %s: the browser opens; --no-browser prints the address instead", u.Key)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // stops reading lines
	scopes := append(slices.Clone(u.SignIn.Scopes), v.scopes...)
	if err := s.client.SignIn(ctx, address, scopes...); err != nil {
		return codedErrorf(exitSignIn, "%w", signin.ExplainError(u, err))
	}
	if err := w.MarkChanged(); err != nil {
		m.Message("%v", err)
	}
	if v.json {
		return v.status(ctx, m, w, []host.Upstream{*u})
	}
	held, err := s.client.Status(ctx, address)
	if err == nil && held != nil {
		m.Info("signed in to %s, by %s", u.Key, terminal.CleanLine(held.Issuer))
	}
	return err
}

// browserSignIn is a sign-in in a browser.
type browserSignIn struct {
	main   *Main
	client *mcpauth.Client
}

// open opens the address in the browser, and says first whose page it is. Where the browser cannot be opened, or the name of
// the host may look like another one, the address is printed instead.
func (s *browserSignIn) open(ctx context.Context, address string) error {
	if host.AddressWarning(address) != "" {
		return s.show(ctx, address)
	}
	s.describe(address)
	err := s.main.openLink(ctx, address)
	if err == nil {
		return nil
	}
	s.main.Message("%s", terminal.Clean(err.Error()))
	return s.print(ctx, address)
}

// describe prints whose page the address is, and what is asked for there.
func (s *browserSignIn) describe(address string) {
	at, err := url.Parse(address)
	if err != nil {
		return
	}
	s.main.Message("  host       %s", terminal.CleanLine(at.Host))
	if scopes := at.Query().Get("scope"); scopes != "" {
		s.main.PrintWrapped("  scopes     %s", scopes)
	}
}

// show prints the address, and whose page it is.
func (s *browserSignIn) show(ctx context.Context, address string) error {
	s.describe(address)
	return s.print(ctx, address)
}

// print prints the address. On a terminal it also reads the redirect address, because the
// browser may be on another machine.
func (s *browserSignIn) print(ctx context.Context, address string) error {
	if warning := host.AddressWarning(address); warning != "" {
		s.main.Message("Warning: %s.", warning)
	}
	s.main.Message("Open this address in a browser:\n\n  %s\n", address)
	s.main.Info("If the browser ends at a page that does not load, type its address here.")
	go s.read(ctx)
	return nil
}

// read passes on what is typed, until the sign-in or the input ends.
func (s *browserSignIn) read(ctx context.Context) {
	for {
		line, err := s.main.ReadLine(ctx)
		if err != nil {
			return
		}
		switch err := s.client.Finish(strings.TrimSpace(line)); {
		case err == nil:
			return
		case errors.Is(err, mcpauth.ErrUnknownResponse):
			s.main.Message("this is not the redirect address of this sign-in; want the whole address that the browser shows")
		default:
			return // SignIn returns the error
		}
	}
}

// logout deletes the token for a server.
func (v *authCommand) logout(ctx context.Context, m *Main, w *signin.TokenStore, u *host.Upstream) error {
	address, _ := signin.URL(u)
	c := w.Client(u, nil)
	held, err := c.Status(ctx, address)
	if err != nil {
		return err
	}
	revoking := c.SignOut(ctx, address) // without a token it removes what a failed sign-in has left
	if held == nil && revoking == nil {
		m.Info("%s: not signed in", u.Key)
		return nil
	}
	if err := w.MarkChanged(); err != nil {
		m.Message("%v", err)
	}
	if revoking != nil {
		return codedErrorf(exitUnreachable, "%w", revoking)
	}
	m.Info("signed out of %s", u.Key)
	return nil
}

// shownToken is the JSON form of a server's token status.
type shownToken struct {
	Server    string    `json:"server"`
	State     string    `json:"state"`
	Issuer    string    `json:"issuer,omitzero"`
	ClientID  string    `json:"clientId,omitzero"`
	Scopes    []string  `json:"scopes,omitempty"`
	Missing   []string  `json:"missingScopes,omitempty"` // that a refused call has lacked since
	Expires   time.Time `json:"expires,omitzero"`
	Renewable bool      `json:"renewable"`
}

// status prints which tokens are stored for each server.
func (v *authCommand) status(ctx context.Context, m *Main, w *signin.TokenStore, servers []host.Upstream) error {
	all := []shownToken{}
	for i := range servers {
		address, _ := signin.URL(&servers[i])
		held, err := w.Client(&servers[i], nil).Status(ctx, address)
		if err != nil {
			return fmt.Errorf("server %q: %w", servers[i].Key, err)
		}
		all = append(all, showToken(servers[i].Key, held))
	}
	if v.json {
		return m.WriteDocument(terminal.Document{"tokens": all})
	}
	t := terminal.Table{Head: []string{"SERVER", "STATE", "ISSUER", "SCOPES", "EXPIRES"}}
	for _, s := range all {
		expires := ""
		if !s.Expires.IsZero() {
			expires = s.Expires.Local().Format(time.DateTime)
		}
		scopes := strings.Join(s.Scopes, " ")
		if len(s.Missing) > 0 {
			scopes += "; missing: " + strings.Join(s.Missing, " ")
		}
		t.Rows = append(t.Rows, []string{s.Server, s.State, s.Issuer, strings.TrimPrefix(scopes, "; "), expires})
	}
	if len(all) == 0 {
		m.Info("the configuration has no server that uses sign-in")
	}
	return m.WriteTable(t)
}

func showToken(server string, held *mcpauth.TokenStatus) shownToken {
	if held == nil {
		return shownToken{Server: server, State: "signed out"}
	}
	s := shownToken{
		Server: server, State: "signed in", Issuer: held.Issuer, ClientID: held.ClientID,
		Scopes: held.Scopes, Missing: held.MissingScopes, Expires: held.Expires, Renewable: held.Renewable,
	}
	switch {
	case held.Usable:
	case held.Renewable:
		s.State = "renewed at the next use"
	default:
		s.State = "expired"
	}
	return s
}

// credentialsCommand is the command that gives a server in the state "sign in" what it wants: a sign-in, or a key.
func (m *Main) credentialsCommand(s *host.Status, config string) string {
	if !s.WantsKey {
		return m.signInCommand(s.Key, config)
	}
	command := m.program() + " set " + host.ShellQuote(s.Key) + " --header 'Authorization: Bearer KEY'"
	if config != "" {
		command += " --config " + host.ShellQuote(config)
	}
	return command
}

// signInCommand is the command that signs in to a server of the current configuration.
func (m *Main) signInCommand(server, config string) string {
	command := m.program() + " auth login " + host.ShellQuote(server)
	if config != "" {
		command += " --config " + host.ShellQuote(config)
	}
	return command
}
