package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/backoff"
)

func TestPauseDoublesUpToTheLongest(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{
		-1: 0, 0: 0, 1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 4: 7 * time.Second, 100: 7 * time.Second, math.MaxInt: 7 * time.Second,
	} {
		if got := backoff.Pause(failures, time.Second, 7*time.Second); got != want {
			t.Errorf("after %d failures: got %v, want %v", failures, got, want)
		}
	}
	if got := backoff.Pause(1, time.Minute, time.Second); got != time.Second {
		t.Errorf("a first pause over the longest: got %v, want %v", got, time.Second)
	}
	if got := backoff.Pause(math.MaxInt, 0, time.Second); got != 0 {
		t.Errorf("no pause: got %v", got)
	}
	if got := backoff.Pause(100, math.MaxInt64/2, math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("got %d, want no overflow", got)
	}
}

func TestRandomPauseIsBetweenHalfAndAll(t *testing.T) {
	t.Parallel()
	for range 1000 {
		if got := backoff.Random(time.Second); got < time.Second/2 || got > time.Second {
			t.Fatalf("got %v", got)
		}
	}
	if got := backoff.Random(0); got != 0 {
		t.Errorf("of no pause: got %v", got)
	}
}
