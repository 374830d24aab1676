package cli

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/policy"
	"github.com/fondaco/fondaco/host/supervisor"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// hiddenError reports that clients do not see a feature. A request for it reaches no host, so the
// command records it.
type hiddenError struct {
	error
	server  string
	outcome host.Outcome
	reason  string // for the audit log, without the command of a server
}

// recordHidden records that the user has asked for a feature that a hiddenError is about.
func (m *Main) recordHidden(err error, a host.Action, written string) {
	hidden, ok := errors.AsType[*hiddenError](err)
	if !ok {
		return
	}
	name, found := strings.CutPrefix(written, hidden.server+"/")
	if !found {
		name = strings.TrimPrefix(written, host.WireName(hidden.server, ""))
	}
	m.recordDenial(host.Decision{Upstream: hidden.server, Action: a, Name: name, Outcome: hidden.outcome, Reason: hidden.reason})
}

// recordServerDenial records that the managed policy denies a server that a command was to use.
func (m *Main) recordServerDenial(u *host.Upstream, why error) {
	d := host.Decision{Upstream: u.Key, Action: host.ActionStart, Outcome: host.OutcomeDenied, Reason: why.Error()}
	if strings.Contains(u.Key, "://") { // a URL of the command line
		d.Upstream = ""
	}
	if t, ok := u.Target.(*mcpclient.CommandTarget); ok {
		d.Name = t.Path
	} else if t, err := url.Parse(fmt.Sprint(u.Target)); err == nil && t.Host != "" {
		d.Name = t.Scheme + "://" + t.Host // the rest may have secrets
	}
	m.recordDenial(d)
}

// recordDenial records what a command was denied, on behalf of the user. The denial holds although
// it cannot be recorded.
func (m *Main) recordDenial(d host.Decision) {
	d.Principal, d.Client = mcp.PrincipalLocal.String(), host.ClientName(clientName, host.Version)
	m.writeDenial(d)
}

func (m *Main) writeDenial(d host.Decision) {
	d.Time = time.Now()
	record, err := m.commandAudit()
	if err == nil {
		err = record(d)
	}
	if err != nil {
		m.Message("audit log: %s", terminal.CleanLine(err.Error()))
	}
}

// refuseDenied returns an error if the managed policy denies every server of the configuration, or
// the only one that is to be started.
func (h *hostProcess) refuseDenied() (err error) {
	denied, all := h.servers.Denied()
	i := slices.IndexFunc(denied, func(d supervisor.Denial) bool { return d.Key == h.only })
	switch {
	case i >= 0:
		err = &codedError{exitPolicy, denied[i].Err}
	case all:
		err = codedErrorf(exitPolicy, "%s: each of its servers is %w", h.path, policy.ErrDenied)
	default:
		return nil
	}
	h.recordDenials()
	return err
}

// recordDenials records the servers that the managed policy denies, of those that would be started.
func (h *hostProcess) recordDenials() {
	if h.startsNothing {
		return
	}
	denied, _ := h.servers.Denied()
	for _, d := range denied {
		if h.only == "" || h.only == d.Key {
			h.main.writeDenial(host.Decision{Upstream: d.Key, Action: host.ActionStart, Outcome: host.OutcomeDenied, Reason: d.Err.Error()})
		}
	}
}
