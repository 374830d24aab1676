package limit_test

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// call is a running call that notes when it has to end.
type call struct {
	running limit.RunningCall
	owner   limit.Owner
	size    int
	name    string
	ended   *[]string
}

func (c *call) Owner() limit.Owner { return c.owner }

func (c *call) Size() int { return c.size }

func (c *call) Evict() { *c.ended = append(*c.ended, c.name) }

// calls are those of one test.
type calls struct {
	*limit.RunningCalls
	ended []string
}

func newCalls() *calls {
	return &calls{RunningCalls: limit.NewRunningCalls(limit.Bounds{Calls: 100, Bytes: 1000})}
}

func (c *calls) begin(o limit.Owner, name string, bytes int) *call {
	made := &call{name: name, owner: o, size: bytes, ended: &c.ended}
	c.Add(&made.running, made)
	return made
}

func (c *calls) wantEnded(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(c.ended, want) {
		t.Errorf("got %v ended, want %v", c.ended, want)
	}
	c.ended = nil
}

func TestTheNewestCallOfTheOwnerWithTheMostCallsIsEnded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                    string
		greedy, modest, another limit.Owner
	}{
		{"addresses", session("192.0.2.1"), session("192.0.2.2"), session("192.0.2.3")},
		{"sessions of this machine", loopback(), loopback(), loopback()},
		{"principals", principal("greedy"), principal("modest"), principal("another")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCalls()
			c.begin(tt.greedy, "greedy 1", 0)
			c.begin(tt.greedy, "greedy 2", 0)
			last := c.begin(tt.greedy, "greedy 3", 0)
			c.begin(tt.modest, "modest", 0)
			c.MakeRoom(tt.another, 0)
			c.wantEnded(t, "greedy 3")
			if !c.Remove(&last.running) {
				t.Error("want the call known as one that made room")
			}
			c.MakeRoom(tt.greedy, 0)
			c.wantEnded(t)
		})
	}
}

func TestCallsOfOwnersWithOneCallEachAreNotEnded(t *testing.T) {
	t.Parallel()
	c := newCalls()
	c.begin(principal("alice"), "alice", 0)
	c.begin(session("192.0.2.1"), "an address", 0)
	c.MakeRoom(principal("bob"), 0)
	c.wantEnded(t)
}

func TestClientThatOpensASessionForEachCallLosesTheOldest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCalls()
		c.begin(loopback(), "old", 0)
		c.begin(loopback(), "younger", 0)
		time.Sleep(time.Second)
		c.MakeRoom(loopback(), 0)
		c.wantEnded(t) // neither is old
		time.Sleep(10 * time.Second)
		c.begin(loopback(), "new", 0)
		c.MakeRoom(loopback(), 0)
		c.wantEnded(t, "old")
		c.MakeRoom(loopback(), 0)
		c.wantEnded(t, "younger")
		c.MakeRoom(loopback(), 0)
		c.wantEnded(t) // the new one is not old yet
	})
}

func TestBytesOfCallsCountToo(t *testing.T) {
	t.Parallel()
	c := newCalls() // in which 10 bytes are worth a call
	c.begin(session("192.0.2.1"), "large", 500)
	for range 20 {
		c.begin(session("192.0.2.2"), "small", 0)
	}
	c.MakeRoom(session("192.0.2.3"), 0)
	c.wantEnded(t, "large")
}

func TestCallsCanBeginAndEndDuringEvictions(t *testing.T) {
	t.Parallel()
	c := limit.NewRunningCalls(limit.Bounds{Calls: 100, Bytes: 1000})
	greedy, modest := loopback(), loopback()
	var storm sync.WaitGroup
	for range 4 {
		storm.Go(func() {
			for range 1000 {
				a, b := &quiet{owner: greedy}, &quiet{owner: greedy}
				c.Add(&a.running, a)
				c.Add(&b.running, b)
				c.MakeRoom(modest, 0)
				c.Remove(&a.running)
				c.Remove(&b.running)
			}
		})
	}
	storm.Wait()
	last := &quiet{owner: greedy}
	c.Add(&last.running, last)
	if c.Remove(&last.running) {
		t.Error("a call that never had to make room is known as one that had")
	}
}

// quiet is a call that does not note that it has to end.
type quiet struct {
	running limit.RunningCall
	owner   limit.Owner
}

func (q *quiet) Owner() limit.Owner { return q.owner }

func (*quiet) Size() int { return 0 }

func (*quiet) Evict() {}

func BenchmarkRunningCalls(b *testing.B) {
	c := limit.NewRunningCalls(limit.Bounds{Calls: 100, Bytes: 1000})
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		var one limit.RunningCall
		for pb.Next() {
			one = limit.RunningCall{}
			c.Add(&one, nil)
			c.Remove(&one)
		}
	})
}
