package cli

import (
	"context"
	"encoding/json/jsontext"
	"flag"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/terminal"
)

var auditEntry = commandInfo{
	name: "audit", operands: "verify|search", does: "verify or search the audit log",
	about:   "verify finds lines that were changed, removed, added or moved.",
	example: "audit search --person anna --decision denied --since 24h",
	make:    func() command { return new(auditCommand) },
}

type auditCommand struct {
	output
	query        audit.Query
	since, until string
	arguments    string
	limit        int
}

func (v *auditCommand) declare(f *flag.FlagSet) {
	v.output.declare(f)
	f.StringVar(&v.query.Person, "person", "", "`TEXT` in the caller, the client or the giver of a grant")
	f.StringVar(&v.query.Server, "server", "", "the server `NAME`")
	f.StringVar(&v.query.Name, "tool", "", "the tool, prompt or resource `NAME`")
	f.StringVar(&v.query.Decision, "decision", "", "the outcome or action `WORD`: done, denied, grant, revoke, …")
	f.StringVar(&v.query.ID, "id", "", "the call or the grant `ID`, and its uses")
	f.StringVar(&v.arguments, "arguments", "", "calls with exactly the arguments `JSON`")
	f.StringVar(&v.since, "since", "", "since `TIME`: 24h for before now, a date, or RFC 3339")
	f.StringVar(&v.until, "until", "", "before `TIME`")
	f.IntVar(&v.limit, "limit", 1000, "print the last `N` lines, 0 for all; default 1000")
}

func (v *auditCommand) run(ctx context.Context, m *Main, operands []string) error {
	if len(operands) != 1 {
		return usagef("want verify or search")
	}
	path, key, err := m.storage().AuditFile(ctx)
	if err != nil {
		return err
	}
	switch operands[0] {
	case "verify":
		return v.verify(ctx, m, path)
	case "search":
		return v.search(ctx, m, path, key)
	}
	return usagef("found %q, want verify or search%s", operands[0], didYouMean(operands[0], []string{"verify", "search"}))
}

func (v *auditCommand) verify(ctx context.Context, m *Main, path string) error {
	r, err := m.storage().VerifyAudit(ctx)
	if err != nil {
		return err
	}
	if v.json {
		if err := m.WriteDocument(terminal.Document{"path": path, "report": r}); err != nil {
			return err
		}
	} else {
		for _, p := range r.Problems {
			if err := m.WriteLine("%s", describeProblem(p)); err != nil {
				return err
			}
		}
	}
	m.Info("%s: lines: %d, processes: %d, files: %d; removed by age or size: %d, counted in other lines: %d, incomplete: %d",
		path, r.Lines, r.Writers, r.Files, r.Removed, r.Summed, r.Incomplete)
	if !r.OK() {
		return codedErrorf(exitInternal, "the audit log is not as it was written")
	}
	m.Info("the audit log is as it was written")
	return nil
}

// describeProblem returns a problem as one line.
func describeProblem(p audit.Problem) string {
	parts := []string{string(p.Kind)}
	if p.File != "" {
		parts = append(parts, fmt.Sprintf("%s:%d", p.File, p.Line))
	}
	if p.Writer != "" {
		parts = append(parts, "process "+p.Writer)
	}
	return strings.Join(append(parts, p.Text), ": ")
}

func (v *auditCommand) search(ctx context.Context, m *Main, path string, key []byte) (err error) {
	if all := audit.Decisions(); v.query.Decision != "" && !slices.Contains(all, v.query.Decision) {
		return usagef("--decision %q%s: want one of %s", v.query.Decision, didYouMean(v.query.Decision, all), strings.Join(all, ", "))
	}
	q := &v.query
	now := time.Now()
	if q.Since, err = parseTime(v.since, now); err != nil {
		return usagef("--since %w", err)
	}
	if q.Until, err = parseTime(v.until, now); err != nil {
		return usagef("--until %w", err)
	}
	if v.arguments != "" {
		if !jsontext.Value(v.arguments).IsValid() {
			return usagef("--arguments %q: want JSON", v.arguments)
		}
		q.Arguments = audit.ArgumentsCode(key, host.ArgumentsDigest(jsontext.Value(v.arguments)))
	}
	found, left, err := lastRecords(ctx, path, key, q, v.limit)
	if err != nil {
		return err
	}
	if left > 0 {
		m.Info("lines before these that are not printed: %d; --limit 0 prints all", left)
	}
	if v.json {
		return m.WriteDocument(terminal.Document{"records": found})
	}
	if len(found) == 0 {
		m.Info("no line of the audit log matches")
	}
	return m.WriteTable(recordTable(found))
}

// lastRecords returns the last records of a log that match, in their order, and how many more do. A
// limit of 0 means all.
func lastRecords(ctx context.Context, path string, key []byte, q *audit.Query, limit int) (found []audit.Record, left int, err error) {
	found = []audit.Record{}
	for r, err := range audit.Search(ctx, path, key, q) {
		if err != nil {
			return nil, 0, err
		}
		if found = append(found, r); limit > 0 && len(found) > 2*limit {
			left += len(found) - limit
			found = append(found[:0], found[len(found)-limit:]...)
		}
	}
	if n := len(found) - limit; limit > 0 && n > 0 {
		left += n
		found = found[n:]
	}
	return found, left, nil
}

// recordTable returns records as a table.
func recordTable(found []audit.Record) terminal.Table {
	t := terminal.Table{Head: []string{"TIME", "DECISION", "ACTION", "NAME", "WHO", "COUNT", "REASON"}}
	for i := range found {
		r := &found[i]
		name := r.Upstream
		switch {
		case r.Name == "":
		case r.Action == host.ActionApprove, r.Action == host.ActionStart: // the name is a program or a URL
			name = strings.TrimSpace(name + " " + r.Name)
		default:
			name += "/" + r.Name
		}
		who := strings.TrimSpace(r.Principal + " " + r.Client)
		if r.GrantedBy != "" {
			who += " (by " + r.GrantedBy + ")"
		}
		t.Rows = append(t.Rows, []string{
			r.Time.Format(time.RFC3339), string(r.Outcome), string(r.Action), name, who, fmt.Sprint(max(1, r.Count)), r.Reason,
		})
	}
	return t
}

// parseTime parses a time: a duration before now, a date, or a time of RFC 3339. Empty is
// the zero time.
func parseTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%q: want a duration such as 24h, a date such as %s, or a time such as %s", s, now.Format(time.DateOnly), now.Format(time.RFC3339))
	}
	return t, nil
}
