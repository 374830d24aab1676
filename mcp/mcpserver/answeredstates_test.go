package mcpserver

import (
	"encoding/binary"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnsweredStatesAreForgottenWhenTheyHaveExpiredOrAreTooMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var a answeredStates
		mark := func(n int) (m stateMark) {
			binary.BigEndian.PutUint64(m[:], uint64(n))
			return m
		}
		wantFirst := func(n int, want bool) {
			t.Helper()
			if got := a.add(mark(n), time.Minute); got != want {
				t.Errorf("state %d: first is %t, want %t", n, got, want)
			}
		}
		wantFirst(0, true)
		time.Sleep(time.Minute) // until it expires
		wantFirst(0, false)
		wantFirst(1, true)
		a.remove(mark(1))
		wantFirst(1, true)
		time.Sleep(2 * time.Minute)
		wantFirst(2, true)
		time.Sleep(time.Minute)
		wantFirst(3, true)
		wantFirst(0, true)
		for n := range 4 * maxAnsweredStates {
			a.add(mark(10+n), time.Hour)
		}
		if len(a.recent)+len(a.older) > 2*maxAnsweredStates {
			t.Errorf("%d states are remembered, want at most %d", len(a.recent)+len(a.older), 2*maxAnsweredStates)
		}
		wantFirst(9+4*maxAnsweredStates, false)
	})
}
