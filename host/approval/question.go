package approval

import (
	"context"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/approval/commandfiles"
)

// Question is what the user is asked at once: one server, or all servers whose only change
// are replaced programs of which they share one, such as Node.js and its npx.
type Question struct {
	Pending []Pending
	// Replaced are the replaced programs, if they are all that has changed.
	Replaced []commandfiles.File
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
func (q *Question) has(f commandfiles.File) bool {
	return slices.ContainsFunc(q.Replaced, func(r commandfiles.File) bool {
		return r.Path == f.Path && r.Target == f.Target && r.SHA256 == f.SHA256
	})
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
		if s.opts.Tools != nil {
			p.Tools = s.opts.Tools(ctx, &upstreams[i])
		}
		j := slices.IndexFunc(all, func(q Question) bool { return slices.ContainsFunc(p.replaced, q.has) })
		if j < 0 {
			all, j = append(all, Question{}), len(all)
		}
		all[j].add(p)
	}
	return all, nil
}
