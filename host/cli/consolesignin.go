package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/host/supervisor"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

const (
	// signInTime is how long a sign-in in the console waits for the browser.
	signInTime = 10 * time.Minute
	// signInStart is how long the page waits for the address that the browser opens.
	signInStart = 30 * time.Second
)

// consoleSignIn is a sign-in that was begun in the console.
type consoleSignIn struct {
	client *mcpauth.Client
	cancel context.CancelFunc
	known  chan error     // gets nil once the address for the browser is known, or why it is none
	ended  chan error     // gets how it has ended
	shown  console.SignIn // guarded by consoleSource.signing
}

// signIn returns the sign-in at a server that was begun last, nil for none.
func (s *consoleSource) signIn(name string) *console.SignIn {
	s.signing.Lock()
	defer s.signing.Unlock()
	if one := s.signIns[name]; one != nil {
		shown := one.shown
		return &shown
	}
	return nil
}

// SignIn implements console.Source. Like the command, it sends nothing to a server that is not approved.
func (s *consoleSource) SignIn(ctx context.Context, name string) error {
	u, err := s.signInTarget(ctx, name)
	if err != nil {
		return err
	}
	address, ok := signin.URL(u)
	if !ok {
		return errors.New("it is not reached over HTTP, has its Authorization header from the configuration, or has sign-in switched off")
	}
	one, err := s.beginSignIn(ctx, u, address)
	if err != nil {
		return err
	}
	timer := time.NewTimer(signInStart)
	defer timer.Stop()
	select {
	case err := <-one.known:
		return err
	case err := <-one.ended: // it needed no browser, or has failed before
		return err
	case <-timer.C:
		return fmt.Errorf("the server has not said within %v where to sign in", signInStart)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// beginSignIn begins a sign-in at a server, in place of the one that was begun before. It goes on without ctx.
func (s *consoleSource) beginSignIn(ctx context.Context, u *host.Upstream, address string) (*consoleSignIn, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTime)
	one := &consoleSignIn{cancel: cancel, known: make(chan error, 1), ended: make(chan error, 1)}
	one.client = s.host.tokens.Client(u, func(_ context.Context, page string) error { return s.showSignIn(one, page) })
	s.signing.Lock()
	defer s.signing.Unlock()
	if s.ended {
		cancel()
		return nil, errors.New("the host is ending")
	}
	if s.signIns == nil {
		s.signIns = make(map[string]*consoleSignIn)
	}
	if before := s.signIns[u.Key]; before != nil {
		before.cancel()
	}
	s.signIns[u.Key] = one
	s.running.Go(func() {
		defer cancel()
		one.ended <- s.endSignIn(u, one, one.client.SignIn(ctx, address, u.SignIn.Scopes...))
	})
	return one, nil
}

// showSignIn shows the address of a sign-in for the browser, if it is one of the web.
func (s *consoleSource) showSignIn(one *consoleSignIn, page string) error {
	err := checkWebAddress(page)
	if err == nil {
		s.signing.Lock()
		one.shown.Address = page
		s.signing.Unlock()
	}
	select {
	case one.known <- err:
	default: // the page has an address already
	}
	return err
}

// keepSignIns ends and forgets all sign-ins but those at some servers.
func (s *consoleSource) keepSignIns(kept []host.Upstream) {
	s.signing.Lock()
	defer s.signing.Unlock()
	maps.DeleteFunc(s.signIns, func(name string, one *consoleSignIn) bool {
		if slices.ContainsFunc(kept, func(u host.Upstream) bool { return u.Key == name }) {
			return false
		}
		one.cancel()
		return true
	})
}

// close ends all sign-ins.
func (s *consoleSource) close() {
	s.signing.Lock()
	s.ended = true
	for _, one := range s.signIns {
		one.cancel()
	}
	s.signing.Unlock()
	s.running.Wait()
}

// signInTarget returns a server as it is approved, with its references expanded.
func (s *consoleSource) signInTarget(ctx context.Context, name string) (*host.Upstream, error) {
	h := s.host
	u, err := h.servers.Server(name)
	if err != nil {
		return nil, err
	}
	if h.tokens == nil {
		return nil, fmt.Errorf("server %q: %w", name, supervisor.ErrUnknownServer)
	}
	if err := h.servers.Policy().Check(u); err != nil {
		return nil, err
	}
	if h.inspected != nil { // the user has typed it
		return u, nil
	}
	switch p, err := h.approvals.Check(ctx, u); {
	case err != nil:
		return nil, err
	case p != nil:
		return nil, fmt.Errorf("server %q needs approval before a sign-in: %s", name, h.main.approveCommand(name, h.config))
	}
	return u.Resolved(ctx)
}

// checkWebAddress returns an error if a page is not one of the web.
func checkWebAddress(page string) error {
	u, err := url.Parse(page)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	return errors.New("the server has sent an address that is no page of the web")
}

// endSignIn notes the end of a sign-in, and makes the host use the token.
func (s *consoleSource) endSignIn(u *host.Upstream, one *consoleSignIn, err error) error {
	err = signin.ExplainError(u, err)
	if err == nil {
		err = s.host.tokens.MarkChanged()
	}
	s.signing.Lock()
	switch {
	case s.signIns[u.Key] != one: // another one was begun
	case err == nil:
		delete(s.signIns, u.Key)
	default:
		one.shown = console.SignIn{Problem: err.Error()}
	}
	s.signing.Unlock()
	if err == nil {
		s.logs.Add(u.Key, console.LogLine{FromHost: true, Text: "signed in"})
		s.host.gateway.ClearMissingScopes(u.Key)
		s.host.gateway.Retry(u.Key)
	}
	return err
}

// FinishSignIn implements console.Source.
func (s *consoleSource) FinishSignIn(name, address string) error {
	s.signing.Lock()
	one := s.signIns[name]
	s.signing.Unlock()
	if one == nil {
		return errors.New("no sign-in waits")
	}
	err := one.client.Finish(address)
	if errors.Is(err, mcpauth.ErrUnknownResponse) {
		return errors.New("this is not the redirect address of this sign-in; want the whole address that the browser shows")
	}
	return err
}
