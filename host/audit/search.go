package audit

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
)

// Query says which records Search returns. Empty fields match every record.
type Query struct {
	// Person is part of the principal, of the client's name, or of who gave a grant.
	Person string
	// Server is the key of an upstream, and Name a tool, prompt or resource.
	Server, Name string
	// Decision is the outcome or the action of the decision.
	Decision string
	// ID is that of a call or of a grant.
	ID string
	// Arguments is the code of arguments, from ArgumentsCode.
	Arguments string
	// Since and Until limit the time. A record that counts decisions matches if any of them
	// may have been made in that time.
	Since, Until time.Time
}

// Decisions returns what Query.Decision may be: the outcomes, then the actions.
func Decisions() []string {
	return []string{
		string(host.OutcomeBegun), string(host.OutcomeDone), string(host.OutcomeFailed), string(host.OutcomeDenied), string(host.OutcomeRefused),
		string(host.OutcomeCancelled), string(host.OutcomeWithheld),
		string(host.ActionApprove), string(host.ActionCarryOver), string(host.ActionStart), string(host.ActionOffer), string(host.ActionCall),
		string(host.ActionRead), string(host.ActionGet), string(host.ActionConsent), string(host.ActionGrant), string(host.ActionRevoke), string(host.ActionAnswer),
		string(host.ActionSwitchOff), string(host.ActionSwitchOn), string(host.ActionRestart), string(host.ActionAddRoot), string(host.ActionRemoveRoot),
		string(ActionRemove), string(actionLose),
	}
}

// matches reports whether a record is asked for.
func (q *Query) matches(r *Record) bool {
	from := r.Time
	if !r.From.IsZero() {
		from = r.From
	}
	for _, pair := range [][2]string{{q.Server, r.Upstream}, {q.Name, r.Name}, {q.Arguments, r.Arguments}} {
		if pair[0] != "" && pair[0] != pair[1] {
			return false
		}
	}
	if q.Decision != "" && q.Decision != string(r.Outcome) && q.Decision != string(r.Action) || q.ID != "" && q.ID != r.Call && q.ID != r.Grant {
		return false
	}
	if q.Person != "" && !strings.Contains(r.Principal, q.Person) && !strings.Contains(r.Client, q.Person) && !strings.Contains(r.GrantedBy, q.Person) {
		return false
	}
	return (q.Since.IsZero() || !r.Time.Before(q.Since)) && (q.Until.IsZero() || from.Before(q.Until))
}

// Search returns the records that match a query, in the order of the files, which is nearly
// that of their times. Lines that are not authentic are left out; Verify reports them. It
// does not wait for other processes.
func Search(ctx context.Context, path string, key []byte, q *Query) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		files, err := openAll(path, key)
		defer closeFiles(files)
		if err != nil {
			yield(Record{}, fmt.Errorf("audit: %w", err))
			return
		}
		for _, f := range files {
			for line, err := range f.lines() {
				if err = cmp.Or(err, ctx.Err()); err != nil {
					yield(Record{}, fmt.Errorf("audit: %w", err))
					return
				}
				if r, _, err := decodeLine(key, line.text); err == nil && q.matches(&r) && !yield(r, nil) {
					return
				}
			}
		}
	}
}
