package doctor

import (
	"context"
	"strings"
)

// checkApproval asks whether the server may be used. Without a yes nothing of it is started or
// contacted.
func checkApproval(ctx context.Context, e *examination) {
	if e.opts.Admit == nil {
		e.skip("not needed: you have named the server in this command")
		return
	}
	a, err := e.opts.Admit(ctx)
	approve := e.opts.command("approve", e.upstream.Key)
	switch {
	case err != nil:
		e.fail(ApprovalFailed, approve, "the server cannot be started: %v", err)
	case a.Denied != "":
		e.fail(ApprovalDenied, e.opts.command("policy", "explain", e.upstream.Key), "%s", a.Denied)
	case a.Upstream == nil && len(a.Changes) > 0:
		e.fail(ApprovalChanged, approve, "the server has changed since you approved it: %s", strings.Join(a.Changes, "; "))
	case a.Upstream == nil:
		e.fail(ApprovalMissing, approve, "you have not approved the server yet")
	default:
		e.upstream = a.Upstream
		e.pass("you have approved the server as it is now")
	}
}
