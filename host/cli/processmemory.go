package cli

import "time"

// memoryTime is for how long the memory of processes is not read again.
const memoryTime = 2 * time.Second

// processMemory is the memory of processes, with that of the processes that they have started.
type processMemory struct {
	read     time.Time
	resident map[int]int64 // bytes, by process id
	children map[int][]int
}

// memory returns the memory of the processes of this machine, as far as it is known.
func (s *consoleSource) memory() *processMemory {
	s.measuring.Lock()
	defer s.measuring.Unlock()
	if s.measured == nil || time.Since(s.measured.read) > memoryTime {
		s.measured = readProcessMemory()
		s.measured.read = time.Now()
	}
	return s.measured
}

// of returns the memory of a process and of its descendants, 0 if it is not known.
func (m *processMemory) of(id int) int64 {
	const deepest = 64 // ids may be used again while they are read
	return m.sum(id, deepest)
}

func (m *processMemory) sum(id, depth int) (bytes int64) {
	bytes = m.resident[id]
	if depth == 0 {
		return bytes
	}
	for _, child := range m.children[id] {
		bytes += m.sum(child, depth-1)
	}
	return bytes
}
