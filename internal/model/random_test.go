package model_test

import (
	"math/rand/v2"
	"time"
)

// random is a source of random choices that follow from a seed.
type random struct{ *rand.Rand }

func newRandom(seed, stream uint64) *random { return &random{rand.New(rand.NewPCG(seed, stream))} }

func (r *random) percent() int { return r.IntN(100) }

// duration returns one between two others, with the precision of nanoseconds: events that do not
// depend on each other hardly ever happen at the same instant, at which their order would not
// follow from the seed.
func (r *random) duration(least, most time.Duration) time.Duration {
	return least + time.Duration(r.Int64N(int64(most-least)+1))
}

// fate makes one random source for each event of one party, so that what happens to an event does not
// depend on the events of others.
type fate struct{ seed, party uint64 }

func (f fate) of(event uint64) *random { return newRandom(f.seed^event<<20, f.party) }
