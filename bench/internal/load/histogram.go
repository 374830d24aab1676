package load

import (
	"math/bits"
	"time"
)

// histogram counts durations in 64 steps for each power of two, so that a quantile
// is exact to 1.6 %.
type histogram struct {
	steps [64 * 64]uint64
	count uint64
}

func (h *histogram) add(d time.Duration) {
	h.count++
	h.steps[stepOf(uint64(max(1, d)))]++
}

func stepOf(ns uint64) int {
	if ns < 64 {
		return int(ns)
	}
	shift := bits.Len64(ns) - 7
	return (shift+1)*64 + int(ns>>shift) - 64
}

// lower returns the least duration of a step.
func lower(step int) time.Duration {
	if step < 64 {
		return time.Duration(step)
	}
	shift := step/64 - 1
	return time.Duration(step%64+64) << shift
}

// quantile returns 0 when nothing was counted.
func (h *histogram) quantile(q float64) time.Duration {
	want := uint64(q * float64(h.count))
	var seen uint64
	for step, n := range h.steps {
		seen += n
		if seen > want {
			return lower(step)
		}
	}
	return 0
}
