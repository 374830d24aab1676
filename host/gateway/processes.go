package gateway

import (
	"slices"
	"sync"
)

// processes are the programs of one upstream that run, by their ids.
type processes struct {
	mu  sync.Mutex
	ids []int // guarded by mu: in the order in which they were started
}

func (p *processes) add(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ids = append(p.ids, id)
}

// remove removes one process with an id.
func (p *processes) remove(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.ids, id); i >= 0 {
		p.ids = slices.Delete(p.ids, i, i+1)
	}
}

func (p *processes) all() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ids)
}
