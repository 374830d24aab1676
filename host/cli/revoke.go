package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/host/revocation"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

var revokeEntry = commandInfo{
	name: "revoke", operands: "[PRINCIPAL | CLIENT | @FILE]", does: "refuse a client of the host from now on",
	about: `PRINCIPAL is the name of a token's owner, or the subject of a token. CLIENT is
the id of an OAuth client, or the name of a program. @FILE is a token, - reads
it from standard input. Running hosts end its requests, sessions and processes
at once. Its credentials are refused until --undo. A program that is known only
by the name that it declares can connect again. While a host with a terminal or
a desktop runs, it shows a code that --undo needs. Without a name the command
lists what is revoked.`,
	example: "revoke laptop",
	make:    func() command { return new(revokeCommand) },
}

type revokeCommand struct {
	output
	undo bool
	code string
}

func (v *revokeCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.BoolVar(&v.undo, "undo", false, "accept it again")
	f.StringVar(&v.code, "code", "", "with --undo: the `CODE` that the host shows")
}

func (v *revokeCommand) run(ctx context.Context, m *Main, operands []string) error {
	store, err := m.storage().State()
	if err != nil {
		return err
	}
	list := revocation.Open(store)
	if v.code != "" && !v.undo {
		return usagef("found --code without --undo, want it with --undo only")
	}
	if len(operands) == 0 && !v.undo {
		return v.list(ctx, m, list)
	}
	if len(operands) != 1 {
		return usagef("found %d names, want one", len(operands))
	}
	name, err := m.revokedName(operands[0])
	if err != nil {
		return err
	}
	if v.undo {
		return v.accept(ctx, m, list, name)
	}
	if err := list.Add(ctx, name); err != nil {
		return err
	}
	return v.apply(ctx, m, name)
}

// revokedName returns the name in the list for what the user has written.
func (m *Main) revokedName(written string) (string, error) {
	switch path, isFile := strings.CutPrefix(written, "@"); {
	case written == "-":
		text, err := io.ReadAll(io.LimitReader(m.Stdin, maxSecret))
		if err != nil {
			return "", fmt.Errorf("standard input: %w", err)
		}
		return tokenNameOf(string(text))
	case isFile:
		text, err := readSecret(path)
		if err != nil {
			return "", usagef("%w", err)
		}
		return tokenNameOf(text)
	case written == "":
		return "", usagef("found an empty name, want the name of a token's owner, of a client or of a program, or @FILE")
	case written == "local", written == "anonymous":
		return "", usagef("%q is no name of a client: programs of your own use the control socket, others no credentials; up --protect requires them", written)
	}
	if strings.HasPrefix(written, "eyJ") && strings.Count(written, ".") == 2 { // a JSON Web Token
		return revocation.TokenName(written), nil
	}
	return written, nil
}

// tokenNameOf returns the name of a token, which may be a line NAME:TOKEN of a token file.
func tokenNameOf(text string) (string, error) {
	token := strings.TrimSpace(text)
	if _, after, ok := strings.Cut(token, ":"); ok {
		token = after
	}
	if !bearerToken.MatchString(token) {
		return "", usagef("found no token, want one token alone, or a line NAME:TOKEN")
	}
	return revocation.TokenName(token), nil
}

// apply has every running host end what was revoked, ends the grants, and prints the result.
func (v *revokeCommand) apply(ctx context.Context, m *Main, name string) error {
	hosts, ended, unapplied := m.applyRevocations(ctx, name)
	grants, err := m.revokeGrants(ctx, name)
	err = errors.Join(err, m.recordRevocation(host.Decision{Name: name, Reason: "by " + m.userName()}), unapplied)
	if err != nil {
		return fmt.Errorf("%s is revoked, but: %w", name, err)
	}
	if v.json {
		return m.WriteDocument(terminal.Document{"revoked": name, "hosts": hosts, "ended": ended, "grants": grants})
	}
	m.Info("%s is revoked; ended in running hosts (%d): requests %d, sessions %d, connections to servers %d; grants %d",
		name, hosts, ended.Requests, ended.Sessions, ended.Connections, grants)
	if !revocation.IsTokenName(name) {
		m.Info("a program that only declares the name %s, without credentials of that owner or client, can connect again", name)
	}
	return nil
}

// revokeGrants ends the grants of a principal or client, and its questions.
func (m *Main) revokeGrants(ctx context.Context, name string) (ended int, err error) {
	log, err := m.commandAudit()
	if err != nil {
		return 0, err
	}
	q, err := m.openQuestions(log)
	if err != nil {
		return 0, err
	}
	ended, _, err = q.calls.RevokeCaller(ctx, func(p mcp.Principal, client string) bool {
		return revocation.MatchesCaller(name, p, client)
	}, "by "+m.userName())
	return ended, err
}

// applyRevocations has the running hosts of the user read the list of what is revoked, and returns what they
// have ended because of a name. Hosts that are not asked, such as one that has no control socket, notice the change within a
// second.
func (m *Main) applyRevocations(ctx context.Context, name string) (hosts int, all control.Ended, err error) {
	found, err := m.runningHosts(ctx)
	if err != nil {
		return 0, all, err
	}
	for _, h := range found {
		ended, err := h.client.Revoked(ctx, name)
		if err != nil {
			return 0, all, fmt.Errorf("the host with process ID %d: %w", h.status.PID, err)
		}
		all.Requests += ended.Requests
		all.Sessions += ended.Sessions
		all.Connections += ended.Connections
	}
	return len(found), all, nil
}

// recordRevocation writes a revocation, or the end of one, to the audit log.
func (m *Main) recordRevocation(d host.Decision) error {
	log, err := m.commandAudit()
	if err != nil {
		return err
	}
	d.Time, d.Action, d.Outcome = time.Now(), host.ActionRevoke, host.OutcomeDone
	return log(d)
}

// accept removes a name from the list. That is recorded first, and refused if it cannot be
// recorded.
func (v *revokeCommand) accept(ctx context.Context, m *Main, list *revocation.List, name string) error {
	has, err := list.Has(ctx, name)
	switch {
	case err != nil:
		return err
	case !has:
		return usagef("%q is not revoked%s", name, didYouMean(name, revokedNames(ctx, list)))
	}
	q, err := m.openQuestions(nil)
	if err != nil {
		return err
	}
	how, err := q.requireCode(ctx, fmt.Sprintf("accept %q again, which was revoked", name), v.code)
	if err != nil {
		return err
	}
	by := m.userName()
	if err := m.recordRevocation(host.Decision{Name: name, Reason: "undone by " + by, GrantedBy: by, GrantedHow: how}); err != nil {
		return err
	}
	if err := list.Remove(ctx, name); err != nil {
		return err
	}
	if _, _, err := m.applyRevocations(ctx, name); err != nil {
		return err
	}
	m.Info("%s is accepted again", name)
	return nil
}

// revokedNames returns the names of a list, none if it cannot be read.
func revokedNames(ctx context.Context, list *revocation.List) (names []string) {
	all, _ := list.All(ctx)
	for _, r := range all {
		names = append(names, r.Name)
	}
	return names
}

func (v *revokeCommand) list(ctx context.Context, m *Main, list *revocation.List) error {
	all, err := list.All(ctx)
	if err != nil {
		return err
	}
	if v.json {
		return m.WriteDocument(terminal.Document{"revoked": append([]revocation.Revocation{}, all...)})
	}
	t := terminal.Table{Head: []string{"REVOKED", "TIME"}}
	for _, r := range all {
		t.Rows = append(t.Rows, []string{r.Name, r.At.Local().Format(time.DateTime)})
	}
	if len(all) == 0 {
		m.Info("nothing is revoked")
	}
	return m.WriteTable(t)
}
