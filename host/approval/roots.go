package approval

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// AdmitRoots returns those of the paths that an upstream may get as roots now, with their symbolic links followed. For
// the user's own file these are the paths as they are. The approval of a project's server covers each path together with
// the directory that it leads to: one that leads elsewhere since then is left out, and the error wraps
// host.ErrNeedsApproval. Nothing else of the approval is checked. What leads to another machine is never given.
func (s *Store) AdmitRoots(ctx context.Context, u *host.Upstream, paths []string) (admitted []string, err error) {
	if u.Origin.Project == "" || len(paths) == 0 {
		return paths, nil
	}
	approved, err := s.read(ctx, u)
	switch {
	case err != nil:
		return nil, err
	case approved == nil:
		return nil, fmt.Errorf("%w: its approval was revoked", host.ErrNeedsApproval)
	}
	var changed []string
	d := s.describer(u, nil)
	for _, root := range d.roots(paths) {
		switch {
		case !slices.Contains(approved.Subject.Roots, root):
			changed = append(changed, host.EscapeUnprintable(root.String()))
		case d.checkLocal(root.Path) == nil:
			admitted = append(admitted, cmp.Or(root.Target, root.Path))
		}
	}
	if len(changed) > 0 {
		return admitted, fmt.Errorf("%w: the directory of a root has changed: %s", host.ErrNeedsApproval, strings.Join(changed, ", "))
	}
	return admitted, nil
}
