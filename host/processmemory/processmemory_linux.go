package processmemory

import (
	"bytes"
	"os"
	"strconv"
)

// read returns the processes of this machine that this user may see.
//
// Spec: proc_pid_stat(5)
func read() *Memory {
	m := &Memory{resident: make(map[int]int64), children: make(map[int][]int)}
	proc, err := os.Open("/proc")
	if err != nil {
		return m
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1)
	page := int64(os.Getpagesize())
	for _, name := range names {
		id, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue
		}
		parent, pages := readStat(stat)
		m.resident[id] = pages * page
		m.children[parent] = append(m.children[parent], id)
	}
	return m
}

// readStat returns the parent of a process and its resident pages. The name of the program, in parentheses, may have
// any characters.
func readStat(stat []byte) (parent int, pages int64) {
	const fieldParent, fieldResident = 4, 24
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // from field 3 on
	if len(fields) <= fieldResident-3 {
		return 0, 0
	}
	parent, _ = strconv.Atoi(string(fields[fieldParent-3]))
	pages, _ = strconv.ParseInt(string(fields[fieldResident-3]), 10, 64)
	return parent, pages
}
