//go:build !unix && !windows

package spawn

import (
	"os"
	"os/exec"
	"time"
)

// tree is a child without its descendants: this platform cannot identify them, or cannot
// start processes at all.
type tree struct{ leader *os.Process }

func (*tree) prepare(*exec.Cmd) {}

func (t *tree) attach(leader *os.Process) error {
	t.leader = leader
	return nil
}

func (t *tree) terminate() { t.kill() }

func (t *tree) kill() { _ = t.leader.Kill() }

func (*tree) noteDescendants() {}

func (*tree) killRest(time.Time) {}

func awaitExit(int) bool { return false }
