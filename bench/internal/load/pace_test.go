package load

import (
	"testing"
	"time"
)

func TestCallThatFindsNoConnectionCountsFromWhenItWasDue(t *testing.T) {
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	a, b := new(conn), new(conn)
	p := &pace{every: 10 * time.Millisecond, due: at(10), free: []*conn{a, b}}
	for _, step := range []struct {
		now  int
		c    *conn
		due  int
		back *conn // is free again after it
	}{
		{9, nil, 0, nil},
		{11, a, 10, nil},
		{12, nil, 0, nil},
		{25, b, 20, nil},
		{35, nil, 0, b}, // none is free
		{47, b, 30, a},
		{47, a, 40, nil},
	} {
		c, due := p.next(at(step.now))
		if c != step.c || c != nil && !due.Equal(at(step.due)) {
			t.Errorf("after %d ms: got %p, due after %v, want %p, after %d ms", step.now, c, due.Sub(start), step.c, step.due)
		}
		if step.back != nil {
			p.free = append(p.free, step.back)
		}
	}
}
