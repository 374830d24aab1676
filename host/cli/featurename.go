package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/mcp"
)

// keyIn returns the key of the upstream in a name, or nothing.
func keyIn(written string) string { return host.KeyOf(host.ParseName(written)) }

// serverIn is keyIn where the name of a server is allowed, too.
func serverIn(written string) string { return cmp.Or(keyIn(written), strings.TrimSuffix(written, "/")) }

// isNamed reports whether a typed name is that of a feature with a wire name.
func isNamed(wire, written string) bool { return wire == written || wire == host.ParseName(written) }

// toolNamed returns the tool of a typed name.
func (p *serverConn) toolNamed(ctx context.Context, m *Main, written string) (mcp.Tool, error) {
	var names []string
	for t, err := range p.Tools(ctx) {
		if err != nil {
			return mcp.Tool{}, err
		}
		if isNamed(t.Name, written) {
			return t, nil
		}
		names = append(names, host.DisplayName(t.Name))
	}
	return mcp.Tool{}, p.unknownError(ctx, m, "tool", written, names)
}

// promptNamed returns the prompt of a typed name.
func (p *serverConn) promptNamed(ctx context.Context, m *Main, written string) (mcp.Prompt, error) {
	var names []string
	for prompt, err := range p.Prompts(ctx) {
		if err != nil {
			return mcp.Prompt{}, err
		}
		if isNamed(prompt.Name, written) {
			return prompt, nil
		}
		names = append(names, host.DisplayName(prompt.Name))
	}
	return mcp.Prompt{}, p.unknownError(ctx, m, "prompt", written, names)
}

// maxHints limits the names in a hint.
const maxHints = 3

// featureHint returns the hint that names the features that are probably meant, whole: one of the same
// name if no server was typed, else those that begin as it was typed, else a similar one.
func featureHint(written string, names []string) string {
	var begin []string
	for _, name := range names {
		_, rest, ok := strings.Cut(name, "/")
		if ok && rest == written {
			return fmt.Sprintf(" (did you mean %s?)", name)
		}
		if written != "" && (strings.HasPrefix(name, written) || ok && strings.HasPrefix(rest, written)) {
			begin = append(begin, name)
		}
	}
	if len(begin) == 0 {
		return didYouMean(written, names)
	}
	more := ""
	if len(begin) > maxHints {
		begin, more = begin[:maxHints], fmt.Sprintf(" or %d others", len(begin)-maxHints)
	} else if last := len(begin) - 1; last > 0 {
		begin, more = begin[:last], " or "+begin[last]
	}
	return fmt.Sprintf(" (did you mean %s%s?)", strings.Join(begin, ", "), more)
}

// unknownError explains why there is no feature of a name: the state of its server, or
// the name is wrong.
func (p *serverConn) unknownError(ctx context.Context, m *Main, kind, written string, names []string) error {
	unknown := func(known []string) error {
		return usagef("%s %q: unknown%s; %s %ss lists them", kind, written, featureHint(written, known), m.program(), kind)
	}
	plain := unknown(names)
	if p.statuses == nil {
		return plain
	}
	key := serverIn(written)
	all, err := p.statuses(ctx)
	if err != nil {
		return err
	}
	if featureHint(written, names) == "" { // perhaps the beginning of a server that cannot be reached
		plain = unknown(keysOf(all))
	}
	i := slices.IndexFunc(all, func(s host.Status) bool { return s.Key == key })
	switch {
	case i < 0 && keyIn(written) != "" && host.Suggest(written, names) == "":
		return unknownServer(m, key, all)
	case i < 0:
		return plain
	}
	if err := p.unavailableError(m, all[i], host.ParseName(written)); err != nil {
		return err
	}
	return plain
}

func unknownServer(m *Main, key string, all []host.Status) error {
	return usagef("server %q: unknown%s; %s servers lists them", key, featureHint(key, keysOf(all)), m.program())
}

func keysOf(all []host.Status) (keys []string) {
	for _, s := range all {
		keys = append(keys, s.Key)
	}
	return keys
}

// unavailableError explains why clients do not see a feature of an upstream, nil if it
// does not exist there.
func (p *serverConn) unavailableError(m *Main, s host.Status, wire string) error {
	for _, w := range s.Waiting {
		if (w.Kind == host.KindTool || w.Kind == host.KindPrompt) && host.WireName(s.Key, w.Name) == wire {
			err := fmt.Errorf("%s/%s waits for approval, because it is %s; %s shows and approves it", s.Key, w.Name, w.Change, m.approveCommand(s.Key, p.config))
			return &codedError{exitPolicy, &hiddenError{err, s.Key, host.OutcomeWithheld, "it waits for approval: it is " + string(w.Change)}}
		}
	}
	if s.WaitingCount > 0 && wire == s.Key {
		return codedErrorf(exitPolicy, "what the server %q lists waits for approval; %s shows and approves it", s.Key, m.approveCommand(s.Key, p.config))
	}
	for _, name := range s.Denied {
		if host.WireName(s.Key, name) == wire {
			err := fmt.Errorf("%s/%s is denied by the rules of the configuration", s.Key, name)
			return &codedError{exitPolicy, &hiddenError{err, s.Key, host.OutcomeDenied, "by the rules of the configuration"}}
		}
	}
	switch s.State {
	case host.NeedsApproval:
		err := fmt.Errorf("server %q is not started: %s; %s shows and approves it", s.Key, strings.TrimPrefix(s.Reason, string(host.NeedsApproval)+": "), m.approveCommand(s.Key, p.config))
		return &codedError{exitConsent, &hiddenError{err, s.Key, host.OutcomeWithheld, "the server is not approved"}}
	case host.NeedsSignIn:
		if s.WantsKey {
			return codedErrorf(exitSignIn, "server %q refuses its key, or has none: %s; %s gives it one", s.Key, s.Reason, m.credentialsCommand(&s, p.config))
		}
		return codedErrorf(exitSignIn, "server %q requires authorization; %s signs in", s.Key, m.signInCommand(s.Key, p.config))
	case host.Failed, host.Suspended:
		return codedErrorf(exitUnreachable, "server %q: %s: %s%s", s.Key, s.State, s.Reason, withheldNote(s))
	case host.Starting:
		return codedErrorf(exitUnreachable, "server %q is still starting", s.Key)
	case console.Disabled:
		return codedErrorf(exitUnreachable, "server %q is switched off in the console; it is switched on there, or when the host starts again", s.Key)
	}
	return nil
}

// credentialsError is the error of a call whose server wants credentials.
func (p *serverConn) credentialsError(ctx context.Context, m *Main, key string) error {
	s := host.Status{Key: key}
	if p.statuses != nil {
		all, _ := p.statuses(ctx) // without it a sign-in is the most likely
		if i := slices.IndexFunc(all, func(one host.Status) bool { return one.Key == key }); i >= 0 {
			s = all[i]
		}
	}
	what := "signs in"
	if s.WantsKey {
		what = "gives the server another key"
	}
	return codedErrorf(exitSignIn, "%s %s", m.credentialsCommand(&s, p.config), what)
}

// noneReachable returns an error if the server is a host that reaches none of its
// servers: an empty list would look like the truth.
func (p *serverConn) noneReachable(ctx context.Context, m *Main) error {
	if p.statuses == nil {
		return nil
	}
	all, err := p.statuses(ctx)
	if err != nil {
		return err
	}
	var first error
	for _, s := range all {
		err := p.unavailableError(m, s, "")
		if err == nil {
			return nil
		}
		first = cmp.Or(first, err)
	}
	if len(all) > 1 {
		return codedErrorf(exitCode(first), "none of the %d servers can be used: %w", len(all), first)
	}
	return first
}

// nameWaiting prints why a list is empty: the servers of which definitions wait for approval.
func (p *serverConn) nameWaiting(ctx context.Context, m *Main) {
	if p.statuses == nil {
		return
	}
	all, err := p.statuses(ctx)
	if err != nil {
		return // the list is printed all the same
	}
	for _, s := range all {
		if s.WaitingCount > 0 {
			m.Info("what the server %q lists waits for approval; %s shows and approves it", s.Key, m.approveCommand(s.Key, p.config))
		}
	}
}
