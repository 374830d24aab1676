package dpop

import (
	"strconv"
	"testing"
	"time"
)

func TestReplayCacheOfProofsIsBounded(t *testing.T) {
	t.Parallel()
	m, now := newProofMemory(time.Minute), time.Now()
	add := func(key string, n int) (fresh int) {
		for i := range n {
			if m.add(key, proofDigest(key, strconv.Itoa(i)), now) == proofFresh {
				fresh++
			}
		}
		return fresh
	}
	if got := add("greedy", maxProofsPerKey+10); got != maxProofsPerKey {
		t.Errorf("one key: %d, want %d", got, maxProofsPerKey)
	}
	if got := m.add("modest", proofDigest("modest", "1"), now); got != proofFresh {
		t.Errorf("another key: %v", got)
	}
	for i := range 8 {
		add(strconv.Itoa(i), maxProofsPerKey)
	}
	if got := len(m.recent.used) + len(m.previous.used); got != maxProofs {
		t.Errorf("%d proofs, want %d", got, maxProofs)
	}
	if got := m.add("late", proofDigest("late", "1"), now); got != proofNoRoom {
		t.Errorf("when it is full: %v, want no room", got)
	}
	if got := m.add("greedy", proofDigest("greedy", "1"), now); got != proofUsed {
		t.Errorf("one of before, when it is full: %v, want used", got)
	}
	for range 2 {
		now = now.Add(time.Minute)
		m.add("tick", proofDigest("tick", now.String()), now)
	}
	if got := m.add("late", proofDigest("late", "1"), now); got != proofFresh {
		t.Errorf("after two lives: %v", got)
	}
	if got := len(m.recent.used) + len(m.previous.used); got > 3 {
		t.Errorf("%d proofs after two lives", got)
	}
}
