package gateway

import (
	"slices"
	"strings"
	"sync"
)

const (
	// maxTail and maxTailLine bound what is kept of standard error.
	maxTail     = 50  // lines
	maxTailLine = 500 // bytes
)

// tail is the end of what the processes of one upstream wrote to standard error.
type tail struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (t *tail) add(line string, _ int) {
	if len(line) > maxTailLine {
		line = strings.ToValidUTF8(line[:maxTailLine], "") + "…"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == maxTail {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	t.lines = append(t.lines, line)
}

func (t *tail) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}
