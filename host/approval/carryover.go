package approval

import (
	"context"
	"encoding/json/v2"
	"fmt"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
)

// replacement is a file that was replaced by another one, at the same path or, behind a
// symbolic link or in the PATH, at another.
type replacement struct{ before, after commandfiles.File }

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
func (s *Store) carryOver(ctx context.Context, u *host.Upstream, before *Approval, now *Subject, changes []string) error {
	text, err := json.Marshal(&Approval{Subject: *now, At: time.Now().UTC(), By: before.By, Proxies: before.Proxies}, json.Deterministic(true))
	swapped := false
	if err == nil {
		swapped, err = s.store.Swap(ctx, storeKey(u.Key, u.Origin.File), before.stored, text, 0)
	}
	switch {
	case err != nil:
		return fmt.Errorf("approvals: %w", err)
	case !swapped:
		return fmt.Errorf("approvals: that of %q was changed in the meantime; try again", u.Key)
	}
	if s.opts.OnCarryOver != nil {
		s.opts.OnCarryOver(u, changes)
	}
	return nil
}

// onlyInterpreters reports whether no replaced file is a script or a text of the server itself.
func onlyInterpreters(replaced []replacement) bool {
	return len(replaced) > 0 && !slices.ContainsFunc(replaced, func(r replacement) bool {
		return r.after.Role == commandfiles.RoleScript || r.after.Role == commandfiles.RoleText
	})
}

func newFiles(replaced []replacement) (files []commandfiles.File) {
	for _, r := range replaced {
		files = append(files, r.after)
	}
	return files
}
