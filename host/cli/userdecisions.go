package cli

import (
	"context"
	"errors"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/supervisor"
)

// userDecisions are what the user has decided about the servers of a host.
type userDecisions struct{ host *hostProcess }

// Admit implements supervisor.Decisions. From then on the values of references are in no log.
func (d userDecisions) Admit(ctx context.Context, u *host.Upstream) (*host.Upstream, error) {
	admitted, err := d.approveAndAdmit(ctx, u)
	switch {
	case err == nil:
		d.host.unapproved.Delete(u.Key)
		d.host.audit.Hide(d.host.main.secrets.resolve(admitted))
	case errors.Is(err, host.ErrNeedsApproval):
		d.host.unapproved.Store(u.Key, nil)
	}
	return admitted, err
}

// approveAndAdmit admits an upstream that is approved. With --yes it approves what it is.
func (d userDecisions) approveAndAdmit(ctx context.Context, u *host.Upstream) (*host.Upstream, error) {
	h := d.host
	admitted, err := h.approvals.Admit(ctx, u)
	if !errors.Is(err, host.ErrNeedsApproval) || !h.approvesAll(ctx) {
		return admitted, err
	}
	p, err := h.approvals.Check(ctx, u)
	if err == nil && p != nil {
		err = h.approveServer(ctx, p, "by --yes")
	}
	if err != nil {
		return nil, err
	}
	return h.approvals.Admit(ctx, u)
}

// IsRevoked implements supervisor.Decisions. With --yes no approval is needed.
func (d userDecisions) IsRevoked(ctx context.Context, u *host.Upstream) bool {
	p, err := d.host.approvals.Check(ctx, u)
	return err == nil && p != nil && p.Before == nil && !d.host.yes
}

// LacksScopes implements supervisor.Decisions.
func (d userDecisions) LacksScopes(ctx context.Context, admitted *host.Upstream) bool {
	missing, err := d.host.tokens.MissingScopes(ctx, admitted)
	return err != nil || len(missing) > 0
}

// Versions implements supervisor.Decisions.
func (d userDecisions) Versions() supervisor.Versions {
	state := d.host.state
	return supervisor.Versions{
		Approvals: state.Version(approval.Section), Definitions: state.Version(definition.Section), SignIns: d.host.tokens.Version(),
	}
}
