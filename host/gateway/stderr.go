package gateway

import (
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/host"
)

const (
	// Limits of the lines of standard error that are kept.
	maxTailLines     = 50  // lines
	maxTailLineBytes = 500 // bytes
)

// stderrTail holds the last lines that the processes of one upstream wrote to standard
// error.
type stderrTail struct {
	mu    sync.Mutex
	lines []string // guarded by mu
}

func (t *stderrTail) add(line string, _ int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) == maxTailLines {
		t.lines = slices.Delete(t.lines, 0, 1)
	}
	t.lines = append(t.lines, strings.Clone(host.CutText(line, maxTailLineBytes)))
}

func (t *stderrTail) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lines)
}
