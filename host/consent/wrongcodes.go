package consent

import (
	"crypto/subtle"
	"fmt"
	"sync"
	"time"
)

const (
	// maxWrongCodes limits the wrong codes of a host, whatever they were given for: an
	// attacker who asks many questions has no more guesses. With this limit the probability
	// to guess one of a million codes within a day is below 1 in 10,000.
	maxWrongCodes = 20
	// wrongCodeTime is the time after which one of them no longer counts.
	wrongCodeTime = 30 * time.Minute
)

// WrongCodes counts the wrong codes that a host gets. The zero value is ready for use. All
// methods are safe for concurrent use.
type WrongCodes struct {
	mu sync.Mutex
	// clearAt is the time at which no wrong code counts any more. Each wrong code moves it by
	// wrongCodeTime.
	clearAt time.Time // guarded by mu
}

// compare returns nil if a code is the right one, or else counts it. While as many wrong codes
// count as may, no code is right.
func (w *WrongCodes) compare(right, given string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	if next := w.clearAt.Add(-(maxWrongCodes - 1) * wrongCodeTime); now.Before(next) {
		return fmt.Errorf("%w, or with a code after %s", ErrTooManyTries, next.Local().Format(time.TimeOnly))
	}
	if subtle.ConstantTimeCompare([]byte(right), []byte(given)) == 1 {
		return nil
	}
	if w.clearAt.Before(now) {
		w.clearAt = now
	}
	w.clearAt = w.clearAt.Add(wrongCodeTime)
	return ErrWrongCode
}
