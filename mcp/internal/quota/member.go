package quota

import (
	"context"
	"crypto/rand"
	"time"
)

const (
	// memberInterval is how often a replica says that it is there, and counts the others;
	// memberLife how long that holds.
	memberInterval = 5 * time.Second
	memberLife     = 15 * time.Second
	// maxReplicas is how many replicas are counted.
	maxReplicas = 256
)

// member is this replica among all those of the server.
type member struct {
	group  *Group
	prefix string
	id     string
}

// newID returns a random text for names of keys.
func newID() string { return rand.Text()[:13] }

// join keeps the replica among the members, and their number up to date, until the Group is closed.
func (m *member) join() {
	g := m.group
	tick := time.NewTicker(memberInterval)
	defer tick.Stop()
	for {
		g.report(m.count())
		select {
		case <-tick.C:
		case <-g.life.Done():
			ctx, cancel := context.WithTimeout(context.Background(), operationTimeout)
			defer cancel()
			_ = g.o.Store.Delete(ctx, m.prefix+m.id) // it expires soon
			return
		}
	}
}

func (m *member) count() error {
	g := m.group
	ctx, cancel := context.WithTimeout(g.life, operationTimeout)
	defer cancel()
	if err := g.o.Store.Put(ctx, m.prefix+m.id, nil, memberLife); err != nil {
		return err
	}
	all, err := g.o.Store.List(ctx, m.prefix, "", maxReplicas)
	if err == nil {
		g.replicas.Store(int64(max(len(all), 1)))
	}
	return err
}
