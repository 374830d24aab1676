package main

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// store keeps notes in memory, in place of a database. It is independent of the protocol.
type store struct {
	mu    sync.Mutex
	notes map[int]note // guarded by mu: by id
	last  int          // guarded by mu: the id of the newest note
}

type note struct {
	ID   int    `json:"id"`
	Text string `json:"text"`
}

func newStore() *store { return &store{notes: make(map[int]note)} }

func (s *store) add(text string) note {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	n := note{s.last, text}
	s.notes[n.ID] = n
	return n
}

func (s *store) get(id int) (n note, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok = s.notes[id]
	return n, ok
}

func (s *store) remove(id int) (ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok = s.notes[id]
	delete(s.notes, id)
	return ok
}

// find returns up to limit notes that contain text, with ids above after, by their ids.
func (s *store) find(text string, after, limit int) (found []note) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.notes)) {
		if id > after && len(found) < limit && strings.Contains(s.notes[id].Text, text) {
			found = append(found, s.notes[id])
		}
	}
	return found
}
