package console

import (
	"context"
	"net/http"

	"github.com/fondaco/fondaco/host"
)

// maxDecisions limits the decisions on a page of the audit log.
const maxDecisions = 200

// Decision is a line of the audit log.
type Decision struct {
	host.Decision
	// Count is how many decisions the line stands for.
	Count int64
}

// Who is on whose behalf it was requested.
func (d *Decision) Who() string {
	if d.Principal == "" {
		return "host"
	}
	return d.Principal
}

// Why says in the words of the host why the request was not made; empty if Reason says it.
func (d *Decision) Why() string {
	switch {
	case d.Outcome == host.OutcomeDenied && d.Action == host.ActionCall:
		return "The rules of the server, or the managed policy, hide this tool from clients."
	case d.Outcome == host.OutcomeWithheld && d.Action == host.ActionCall:
		return "Clients see this tool once you have approved its definition as it is now."
	}
	return ""
}

// Mend is the page on which the user can change what was decided, without the path of the session; empty if there is
// none.
func (d *Decision) Mend() string {
	switch d.Outcome {
	case host.OutcomeDenied:
		return "config#" + serverAnchor(d.Upstream)
	case host.OutcomeWithheld:
		return "inbox"
	}
	return ""
}

// serverAnchor is the id of a server on the page of the configuration.
func serverAnchor(name string) string { return "server-" + name }

// Tone is how an outcome is marked, as that of a Server.
func (d *Decision) Tone() string {
	switch d.Outcome {
	case host.OutcomeDone:
		return "good"
	case host.OutcomeFailed:
		return "bad"
	case host.OutcomeDenied, host.OutcomeRefused, host.OutcomeWithheld:
		return "warn"
	}
	return ""
}

// AuditQuery says which decisions are shown. Empty members match all, as in "fondaco audit search".
type AuditQuery struct{ Server, Name, Person, Decision string }

// AuditSource is what the page of the audit log needs of a host.
type AuditSource interface {
	// Decisions returns the last decisions that match, at most limit, the newest first, and how
	// many more match.
	Decisions(ctx context.Context, q AuditQuery, limit int) (found []Decision, more int, err error)
	// DecisionWords returns the outcomes and actions that a query may have.
	DecisionWords() []string
	// VerifyAudit reads the whole log, and returns what was read, and what is not as it was
	// written.
	VerifyAudit(context.Context) (read string, problems []string, err error)
}

// auditView is the data of the page.
type auditView struct {
	Query     AuditQuery
	Words     []string
	Decisions []Decision
	More      int
	Problems  []string // found by a verification
}

// audit shows decisions, the newest first.
func (c *Console) audit(w http.ResponseWriter, r *http.Request, s *session) {
	c.showAudit(w, r, s, &view{}, nil)
}

func (c *Console) showAudit(w http.ResponseWriter, r *http.Request, s *session, v *view, problems []string) {
	query := r.URL.Query()
	a := &auditView{
		Query: AuditQuery{Server: query.Get("server"), Name: query.Get("name"), Person: query.Get("person"), Decision: query.Get("decision")},
		Words: c.source.DecisionWords(), Problems: problems,
	}
	var err error
	if a.Decisions, a.More, err = c.source.Decisions(r.Context(), a.Query, maxDecisions); err != nil {
		v.Message, v.Failed = "The audit log could not be read: "+shown(err.Error()), true
	}
	v.Title, v.Section, v.Still, v.Data = "Audit", "audit", true, a
	c.show(w, s, "audit", v)
}

// verifyAudit verifies the audit log. It is a POST, because it reads all of it.
func (c *Console) verifyAudit(w http.ResponseWriter, r *http.Request, s *session) {
	read, problems, err := c.source.VerifyAudit(r.Context())
	v := new(view)
	switch {
	case err != nil:
		v.Message, v.Failed = "The audit log could not be verified: "+shown(err.Error()), true
	case len(problems) > 0:
		v.Message, v.Failed = "The audit log is not as it was written. "+shown(read), true
	default:
		v.Message = "The audit log is as it was written. " + shown(read)
	}
	c.showAudit(w, r, s, v, problems)
}
