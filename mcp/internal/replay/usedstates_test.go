package replay_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

func TestStateIsUsedOnce(t *testing.T) {
	t.Parallel()
	u := replay.UsedStates{Instance: "here"}
	var ids []string
	for range 10_000 {
		ids = append(ids, u.New(time.Now().Add(time.Hour)))
	}
	for _, id := range ids {
		if !u.Use(id) {
			t.Fatalf("%s: got used, want it new", id)
		}
		if u.Use(id) {
			t.Fatalf("%s: got new a second time", id)
		}
	}
	other := replay.UsedStates{Instance: "there"}
	for _, id := range []string{"", "here", "here.", "here.-1", "here.zzzz", other.New(time.Now().Add(time.Hour))} {
		if u.Use(id) {
			t.Errorf("%q: got new, want what this process has not made refused", id)
		}
	}
}

func TestManyStatesOfOneClientTakeNoneOfAnother(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "B-11")
	u := replay.UsedStates{Instance: "here"}
	expires := time.Now().Add(time.Hour)
	modest := u.New(expires)
	for range 1_000_000 {
		if !u.Use(u.New(expires)) {
			t.Fatal("a new state is refused")
		}
	}
	if !u.Use(modest) || u.Use(modest) {
		t.Error("want the state of another client used once")
	}
}

func TestStatesAreDeletedWhenAllOfTheirTimeHaveExpired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := replay.UsedStates{Instance: "here"}
		const chunk = 4096
		late := u.New(time.Now().Add(time.Hour))
		for range chunk { // fills the first chunk, whose last state expires in an hour
			u.New(time.Now().Add(time.Minute))
		}
		time.Sleep(30 * time.Minute)
		u.New(time.Now().Add(time.Minute))
		if !u.Use(late) {
			t.Error("a state that has not expired is forgotten")
		}
		second := u.New(time.Now().Add(time.Hour))
		time.Sleep(40 * time.Minute)
		u.New(time.Now().Add(time.Minute))
		if u.Use(late) {
			t.Error("a state that was used is new again")
		}
		if !u.Use(second) {
			t.Error("a later state was forgotten with an earlier one")
		}
	})
}
