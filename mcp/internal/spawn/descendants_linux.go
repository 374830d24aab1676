package spawn

import (
	"bytes"
	"os"
	"strconv"
)

// processID identifies a process, also after its number was given to another one.
type processID struct {
	pid     int
	started string // in ticks since the start of the system
}

// readProcess returns the identity of a process, and the number of its parent.
func readProcess(pid int) (id processID, parent int, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return processID{}, 0, false
	}
	// The name of the program is in parentheses, and may have some itself. The parent is the
	// second field after it, and the start the twentieth.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 20 {
		return processID{}, 0, false
	}
	parent, err = strconv.Atoi(string(fields[1]))
	return processID{pid, string(fields[19])}, parent, err == nil
}

// alive reports whether a process is the one that was identified.
func (p processID) alive() bool {
	now, _, ok := readProcess(p.pid)
	return ok && now == p
}

// descendants returns the children of some processes, their children, and so on.
func descendants(ancestors ...int) []processID {
	children := make(map[int][]processID)
	entries, _ := os.ReadDir("/proc")
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if id, parent, ok := readProcess(pid); ok {
			children[parent] = append(children[parent], id)
		}
	}
	var found []processID
	for len(ancestors) > 0 {
		below := children[ancestors[0]]
		delete(children, ancestors[0]) // a number may have been reused meanwhile
		ancestors = ancestors[1:]
		for _, id := range below {
			found = append(found, id)
			ancestors = append(ancestors, id.pid)
		}
	}
	return found
}
