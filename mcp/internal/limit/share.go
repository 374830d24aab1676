package limit

import (
	"math"
	"sync/atomic"
)

// Bounds limit what is held at once: the number of calls, and the bytes of their params.
type Bounds struct{ Calls, Bytes int }

// Share counts the calls of one owner and, in the same word, their bytes. It is safe for
// concurrent use. A nil Share is unbounded.
type Share struct {
	bounds Bounds
	held   atomic.Int64 // calls << byteBits | bytes
}

const byteBits = 40

// NewShare returns a share within the bounds.
func NewShare(b Bounds) *Share { return &Share{bounds: b} }

// weigh returns what one call of that many bytes adds to a share.
func weigh(bytes int) int64 { return 1<<byteBits | int64(min(bytes, math.MaxInt32)) }

// take adds one call, unless that exceeds the bounds. The first call is added whatever its
// bytes, because the end of no other call could make more room for it.
func (s *Share) take(weight int64) bool {
	if s == nil {
		return true
	}
	for {
		held := s.held.Load()
		if !s.bounds.allow(held, weight) {
			return false
		}
		if s.held.CompareAndSwap(held, held+weight) {
			return true
		}
	}
}

// release subtracts a call.
func (s *Share) release(weight int64) {
	if s != nil {
		s.held.Add(-weight)
	}
}

func (b Bounds) allow(held, more int64) bool {
	const bytes = 1<<byteBits - 1
	return held == 0 || held>>byteBits < int64(b.Calls) && held&bytes+more&bytes <= int64(b.Bytes)
}

// Shares has one Share for each owner. It is safe for concurrent use.
type Shares[Owner comparable] struct{ table[Owner, *Share] }

// NewShares returns Shares in which each share has the bounds.
func NewShares[Owner comparable](b Bounds) *Shares[Owner] {
	s := new(Shares[Owner])
	s.make = func() *Share { return NewShare(b) }
	s.idle = func(s *Share) bool { return s.held.Load() == 0 }
	return s
}

// Of returns the share of an owner.
func (s *Shares[Owner]) Of(owner Owner) *Share { return s.get(owner) }
