package replay

import "time"

// StartedAt returns when the call began: the same time in every run.
func (r *Run) StartedAt() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memory.StartedAt
}

// Seed returns 32 random bytes, the same in every run of the call.
func (r *Run) Seed() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []byte(r.seedLocked())
}

func (r *Run) seedLocked() string {
	if r.memory.Seed == "" {
		r.memory.Seed = string(NewSeed())
	}
	return r.memory.Seed
}
