package approval

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
)

// replacement is a file that was replaced by another one, at the same path or, behind a
// symbolic link or in the PATH, at another.
type replacement struct{ before, after File }

// replacedFiles returns the files that were replaced, if that is all that distinguishes two
// subjects, else nothing.
func replacedFiles(before, after *Subject) (all []replacement) {
	if before.Program == nil || after.Program == nil || len(before.Program.Files) != len(after.Program.Files) {
		return nil
	}
	patched, program := *after, *after.Program
	program.Files = before.Program.Files
	patched.Program = &program
	if !patched.equal(before) {
		return nil
	}
	for i, b := range before.Program.Files {
		a := after.Program.Files[i]
		if a.Role != b.Role || (a.SHA256 == "") != (b.SHA256 == "") {
			return nil
		}
		if a != b {
			all = append(all, replacement{b, a})
		}
	}
	return all
}

// canCarryOver reports whether files were replaced by the administrator: each is at the
// path where it was, and nobody else can write to it or to a directory above it.
// Scripts count as well as interpreters: packages of the system have both, and who can
// replace the one can replace the other.
func (s *Store) canCarryOver(replaced []replacement) bool {
	return len(replaced) > 0 && !slices.ContainsFunc(replaced, func(r replacement) bool {
		return r.before.Path != r.after.Path || !s.adminOnly(r.after.Path) || r.after.Target != "" && !s.adminOnly(r.after.Target)
	})
}

// carryOver replaces an approval by one for the files that the administrator has installed,
// unless it was changed or revoked in the meantime.
func (s *Store) carryOver(ctx context.Context, before *Approval, p *Pending) error {
	text, err := json.Marshal(&Approval{Subject: *p.Subject, At: time.Now().UTC(), By: before.By}, json.Deterministic(true))
	swapped := false
	if err == nil {
		swapped, err = s.store.Swap(ctx, storeKey(p.Upstream.Key, p.Upstream.Origin.File), before.stored, text, 0)
	}
	switch {
	case err != nil:
		return fmt.Errorf("approvals: %w", err)
	case !swapped:
		return fmt.Errorf("approvals: that of %q was changed in the meantime; try again", p.Upstream.Key)
	}
	if s.opts.OnCarryOver != nil {
		s.opts.OnCarryOver(p.Upstream, p.Changes)
	}
	return nil
}

// onlyInterpreters reports whether no replaced file is a script or a text of the server itself.
func onlyInterpreters(replaced []replacement) bool {
	return len(replaced) > 0 && !slices.ContainsFunc(replaced, func(r replacement) bool { return r.after.Role == RoleScript || r.after.Role == RoleText })
}

func newFiles(replaced []replacement) (files []File) {
	for _, r := range replaced {
		files = append(files, r.after)
	}
	return files
}

// Question is what the user is asked at once: one server, or all servers whose only change
// are replaced programs of which they share one, such as Node.js and its npx.
type Question struct {
	Pending []Pending
	// Replaced are the replaced programs, if they are all that has changed.
	Replaced []File
}

// add adds a server.
func (q *Question) add(p *Pending) {
	q.Pending = append(q.Pending, *p)
	for _, f := range p.replaced {
		if !q.has(f) {
			q.Replaced = append(q.Replaced, f)
		}
	}
}

// has reports whether a file is among the replaced ones: it may be the program of one server and
// the interpreter of another.
func (q *Question) has(f File) bool {
	return slices.ContainsFunc(q.Replaced, func(r File) bool { return r.Path == f.Path && r.Target == f.Target && r.SHA256 == f.SHA256 })
}

// Questions returns what the upstreams need approval for, in their order. Upstreams that
// cannot be started are left out.
func (s *Store) Questions(ctx context.Context, upstreams []host.Upstream) (all []Question, err error) {
	for i := range upstreams {
		p, err := s.Check(ctx, &upstreams[i])
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if err != nil || p == nil {
			continue // the start reports the error
		}
		j := slices.IndexFunc(all, func(q Question) bool { return slices.ContainsFunc(p.replaced, q.has) })
		if j < 0 {
			all, j = append(all, Question{}), len(all)
		}
		all[j].add(p)
	}
	return all, nil
}
