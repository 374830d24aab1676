package mcptest

import (
	"context"
	"fmt"
)

const (
	// fullValue is the size of the values that are written to a full engine, and fullWrites
	// how many are: more than the room that may be left.
	fullValue  = 256 << 10
	fullWrites = 80
)

// full lets the server have no room.
func (c *faultCheck) full() {
	c.writeBefore()
	s := c.replicas[0].store
	if s != nil {
		if err := s.Put(c.Context(), c.prefix+"swap", numbered(0, fullValue), 0); err != nil {
			c.Fatalf("Put: %v", err)
		}
	}
	drain := c.engine.Drain
	defer func() { drain() }()
	c.engine.Fill()
	if s != nil {
		c.writeUntilFull()
	}
	c.readAfter()
	drain()
	drain = func() {}
	c.callsWork()
}

// writeUntilFull writes until a write fails, and checks that values are whole.
func (c *faultCheck) writeUntilFull() {
	s, written := c.replicas[0].store, 0
	for written < fullWrites {
		ctx, cancel := context.WithTimeout(c.Context(), hangWait)
		err := s.Put(ctx, fmt.Sprint(c.prefix, "full/", written), numbered(written, fullValue), 0)
		late := ctx.Err() != nil
		cancel()
		if late {
			c.Errorf("Put without room: no end in %v, want an error", hangWait)
		}
		if err != nil {
			break
		}
		written++
	}
	if written == fullWrites {
		c.Errorf("Put without room: %d values of %d bytes were taken, want an error", written, fullValue)
	}
	for n := range written {
		c.wantWhole(fmt.Sprint(c.prefix, "full/", n), n, n)
	}
	swapped, err := s.Swap(c.Context(), c.prefix+"swap", numbered(0, fullValue), numbered(1, fullValue), 0)
	switch {
	case err != nil:
		c.wantWhole(c.prefix+"swap", 0, 1)
	case swapped:
		c.wantWhole(c.prefix+"swap", 1, 1)
	default:
		c.Error("Swap without room: got false, but nobody else writes")
	}
}

// wantWhole checks that a value has one of the two numbers and is whole.
func (c *faultCheck) wantWhole(key string, one, other int) {
	c.Helper()
	value, found, ok := c.value(c.replicas[1].store, key)
	if !ok {
		return
	}
	if n, whole := numberOf(value, fullValue); !found || !whole || n != one && n != other {
		c.Errorf("Get %q without room: got value %d of %d bytes, found %v, whole %v, want value %d or %d, whole", key, n, len(value), found, whole, one, other)
	}
}
