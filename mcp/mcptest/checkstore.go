package mcptest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// Limits of mcp.Store.
const (
	maxStoreKey   = 256
	maxStoreValue = 1 << 20
)

// The tests of the checks shorten these times.
var (
	// storeTTL is the time to live of values that are still there while a check reads them.
	storeTTL = 2 * time.Second
	// storeWait is when an expired value has to be gone, also on a busy machine. Engines may
	// count in seconds and remove values periodically.
	storeWait = 2 * time.Minute
)

const (
	// storeEarly is how much earlier than its ttl a value may expire, for rounding.
	storeEarly = 100 * time.Millisecond
	// manyKeys is the size of the large list.
	manyKeys = 300
)

// CheckStore tests that a Store keeps the contract of mcp.Store: values, their expiry, writes
// of several replicas at once, lists, and limits. It runs subtests in parallel and takes about
// five seconds, because values have to expire. An expired value may stay for a few seconds, as
// in engines that count in seconds, but may not expire earlier than its ttl.
//
// open is called once for each subtest, possibly concurrently. It returns two connections to
// one store without entries, as two replicas have them; a store of one process is returned
// twice. What has to be closed is closed by t.Cleanup. Use a namespace of its own for each
// call where the engine is shared.
//
// A wrapper of a store that takes shorter keys or smaller values than mcp.Store says has a method
// Limits() (key, value int), which returns the length of the longest key and the size of the
// largest value, and says so to its users.
//
// [CheckFaults] tests what happens while the engine fails.
func CheckStore(t *testing.T, open func(t *testing.T) (one, two mcp.Store)) {
	t.Helper()
	for name, check := range map[string]func(*storeCheck){
		"values are kept until they are deleted": (*storeCheck).values,
		"writes are seen by all replicas":        (*storeCheck).visibility,
		"values belong to their callers":         (*storeCheck).ownership,
		"values expire":                          (*storeCheck).expiry,
		"short times to live are no eternity":    (*storeCheck).shortTTL,
		"a negative time to live fails":          (*storeCheck).negativeTTL,
		"a swap renews a lease":                  (*storeCheck).lease,
		"one of many creates a value":            (*storeCheck).concurrentCreate,
		"no swap is lost":                        (*storeCheck).concurrentSwap,
		"a swap compares":                        (*storeCheck).swap,
		"lists are in order":                     (*storeCheck).list,
		"large lists are complete":               (*storeCheck).largeList,
		"keys and values have limits":            (*storeCheck).limits,
		"calls end with their context":           (*storeCheck).context,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one, two := open(t)
			check(&storeCheck{T: t, one: one, two: two})
		})
	}
}

type storeCheck struct {
	*testing.T
	one, two mcp.Store
}

func (c *storeCheck) put(s mcp.Store, key, value string, ttl time.Duration) {
	c.Helper()
	if err := s.Put(c.Context(), key, []byte(value), ttl); err != nil {
		c.Fatalf("Put %q: %v", key, err)
	}
}

// want checks the value of a key on both replicas. An empty want means that there is none.
func (c *storeCheck) want(key, want string) {
	c.Helper()
	for i, s := range []mcp.Store{c.one, c.two} {
		value, found, err := s.Get(c.Context(), key)
		if err != nil || string(value) != want || found != (want != "") {
			c.Errorf("Get %q on replica %d: got %q, %v, %v, want %q", key, i+1, clipped(value), found, err, want)
		}
	}
}

func clipped(value []byte) []byte { return value[:min(len(value), 100)] }

func (c *storeCheck) values() {
	c.want("a", "")
	c.put(c.one, "a", "1", 0)
	c.want("a", "1")
	c.put(c.two, "a", "2", 0)
	c.want("a", "2")
	if created, err := c.one.Create(c.Context(), "a", []byte("3"), 0); err != nil || created {
		c.Errorf("Create of a key with a value: got %v, %v, want false", created, err)
	}
	if created, err := c.one.Create(c.Context(), "b", []byte("3"), 0); err != nil || !created {
		c.Errorf("Create of a key without a value: got %v, %v, want true", created, err)
	}
	c.want("a", "2")
	c.want("b", "3")
	for range 2 { // the second one deletes nothing
		if err := c.one.Delete(c.Context(), "a"); err != nil {
			c.Errorf("Delete: %v", err)
		}
	}
	c.want("a", "")
	c.want("b", "3")
	for _, empty := range [][]byte{nil, {}} {
		if err := c.one.Put(c.Context(), "empty", empty, 0); err != nil {
			c.Fatal(err)
		}
		if value, found, err := c.two.Get(c.Context(), "empty"); err != nil || !found || len(value) != 0 {
			c.Errorf("an empty value: got %q, %v, %v, want it found", value, found, err)
		}
	}
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	c.put(c.one, "bytes", string(all), 0)
	c.want("bytes", string(all))
}

// visibility checks that the other replica sees every kind of write at once.
func (c *storeCheck) visibility() {
	for i := range 20 {
		writer, reader := c.one, c.two
		if i%2 == 1 {
			writer, reader = reader, writer
		}
		value := strconv.Itoa(i)
		c.put(writer, "put", value, 0)
		if got, found, err := reader.Get(c.Context(), "put"); err != nil || !found || string(got) != value {
			c.Fatalf("Get after Put on the other replica: got %q, %v, %v, want %q", got, found, err, value)
		}
		if swapped, err := reader.Swap(c.Context(), "put", []byte(value), []byte("swapped"), 0); err != nil || !swapped {
			c.Fatalf("Swap after Put on the other replica: got %v, %v, want true", swapped, err)
		}
		if created, err := writer.Create(c.Context(), "put", nil, 0); err != nil || created {
			c.Fatalf("Create of a key with a value: got %v, %v, want false", created, err)
		}
		if err := writer.Delete(c.Context(), "put"); err != nil {
			c.Fatalf("Delete: %v", err)
		}
		if keys, err := reader.List(c.Context(), "", "", 10); err != nil || len(keys) != 0 {
			c.Fatalf("List after Delete on the other replica: got %q, %v, want no key", keys, err)
		}
		if created, err := reader.Create(c.Context(), "put", nil, 0); err != nil || !created {
			c.Fatalf("Create after Delete on the other replica: got %v, %v, want true", created, err)
		}
	}
}

// ownership checks that the store shares no bytes with its callers.
func (c *storeCheck) ownership() {
	value, old := []byte("1"), []byte("1")
	spoil := func() { value[0], old[0] = 'x', 'x' }
	c.putBytes("a", value)
	spoil()
	c.want("a", "1")
	value[0] = '1'
	if _, err := c.one.Create(c.Context(), "b", value, 0); err != nil {
		c.Fatal(err)
	}
	spoil()
	c.want("b", "1")
	value[0], old[0] = '2', '1'
	if swapped, err := c.one.Swap(c.Context(), "a", old, value, 0); err != nil || !swapped {
		c.Errorf("Swap: got %v, %v, want true", swapped, err)
	}
	if value[0] != '2' || old[0] != '1' {
		c.Errorf("Swap changed its arguments to %q and %q", old, value)
	}
	spoil()
	c.want("a", "2")
	for range 2 {
		got, _, err := c.one.Get(c.Context(), "a")
		if err != nil || string(got) != "2" {
			c.Fatalf("Get: got %q, %v, want %q also after a caller has changed what it got", got, err, "2")
		}
		got[0] = 'x'
	}
}

func (c *storeCheck) putBytes(key string, value []byte) {
	c.Helper()
	if err := c.one.Put(c.Context(), key, value, 0); err != nil {
		c.Fatalf("Put %q: %v", key, err)
	}
}

func (c *storeCheck) expiry() {
	begun := time.Now() // before the writes, so that a slow one does not look like an early expiry
	c.put(c.one, "put", "1", storeTTL)
	if _, err := c.one.Create(c.Context(), "created", []byte("1"), storeTTL); err != nil {
		c.Fatal(err)
	}
	c.put(c.one, "swapped", "0", 0)
	if _, err := c.one.Swap(c.Context(), "swapped", []byte("0"), []byte("1"), storeTTL); err != nil {
		c.Fatal(err)
	}
	c.put(c.one, "kept", "0", storeTTL)
	c.put(c.one, "kept", "1", 0) // which ends the expiry
	written := time.Now()
	for present := []string{"put", "created", "swapped"}; len(present) > 0; time.Sleep(storeTTL / 20) {
		if time.Since(written) > storeWait {
			c.Fatalf("%q are there %v after they have expired", present, storeWait-storeTTL)
		}
		present = slices.DeleteFunc(present, func(key string) bool {
			gone := !c.has(key)
			if since := time.Since(begun); gone && since < storeTTL-storeEarly {
				c.Errorf("%s: the value expired after %v, want %v", key, since, storeTTL)
			}
			return gone
		})
	}
	c.want("kept", "1")
	if swapped, err := c.one.Swap(c.Context(), "put", []byte("1"), []byte("2"), 0); err != nil || swapped {
		c.Errorf("Swap of an expired value: got %v, %v, want false", swapped, err)
	}
	if created, err := c.one.Create(c.Context(), "put", []byte("2"), 0); err != nil || !created {
		c.Errorf("Create after the value has expired: got %v, %v, want true", created, err)
	}
	c.wantList("", "", 10, "kept", "put")
}

// shortTTL checks that a ttl that an engine may round to 0 does not make a value stay.
func (c *storeCheck) shortTTL() {
	ttls := map[string]time.Duration{"1ns": 1, "1ms": time.Millisecond, "999ms": 999 * time.Millisecond}
	for key, ttl := range ttls {
		c.put(c.one, key, "1", ttl)
	}
	written := time.Now()
	for key, ttl := range ttls {
		for c.has(key) {
			if time.Since(written) > storeWait {
				c.Fatalf("a value with a ttl of %v is there after %v", ttl, storeWait)
			}
			time.Sleep(storeTTL / 20)
		}
	}
}

// negativeTTL checks that a value that would have expired already is neither kept nor stays forever.
func (c *storeCheck) negativeTTL() {
	c.put(c.one, "present", "1", 0)
	for _, ttl := range []time.Duration{-1, -time.Hour} {
		if err := c.one.Put(c.Context(), "put", nil, ttl); err == nil {
			c.Errorf("Put with a ttl of %v: got no error", ttl)
		}
		if created, err := c.one.Create(c.Context(), "created", nil, ttl); err == nil || created {
			c.Errorf("Create with a ttl of %v: got %v, %v, want an error", ttl, created, err)
		}
		if swapped, err := c.one.Swap(c.Context(), "present", []byte("1"), []byte("2"), ttl); err == nil || swapped {
			c.Errorf("Swap with a ttl of %v: got %v, %v, want an error", ttl, swapped, err)
		}
	}
	c.want("present", "1")
	c.wantList("", "", 10, "present")
}

// maxLeases is how many leases the check of leases takes at most.
const maxLeases = 10

// lease checks that a value stays for as long as a Swap of the same value renews it, and
// expires then. This is how a replica keeps a lease. If the check itself is too late to renew one,
// because the machine is busy, it begins again with another.
func (c *storeCheck) lease() {
	for n := range maxLeases {
		key := fmt.Sprint("lease/", n)
		if renewed, inTime := c.renewLease(key); inTime {
			c.leaseEnds(key, renewed)
			return
		}
	}
	c.Fatalf("in %d attempts, no lease of %v could be renewed in time, want faster calls", maxLeases, storeTTL)
}

var leaseHolder = []byte("holder")

// renewLease takes a lease and renews it for longer than it lasts. It returns a time before the last
// renewal, and false if a renewal may have come too late.
func (c *storeCheck) renewLease(key string) (renewed time.Time, inTime bool) {
	isLate := func() bool { return time.Since(renewed) > storeTTL-storeEarly }
	renewed = time.Now()
	if created, err := c.one.Create(c.Context(), key, leaseHolder, storeTTL); err != nil || !created {
		c.Fatalf("Create: got %v, %v, want true", created, err)
	}
	for range 6 {
		time.Sleep(storeTTL / 4)
		now := time.Now()
		switch swapped, err := c.one.Swap(c.Context(), key, leaseHolder, leaseHolder, storeTTL); {
		case err == nil && !swapped && isLate():
			return renewed, false
		case err != nil || !swapped:
			c.Fatalf("Swap of a lease with the same value: got %v, %v, want true", swapped, err)
		}
		renewed = now
		switch created, err := c.two.Create(c.Context(), key, []byte("other"), storeTTL); {
		case err == nil && created && isLate():
			return renewed, false
		case err != nil || created:
			c.Fatalf("Create of a lease that another replica has: got %v, %v, want false", created, err)
		}
	}
	return renewed, true
}

// leaseEnds checks that a lease ends when it is not renewed any more, and not earlier.
func (c *storeCheck) leaseEnds(key string, renewed time.Time) {
	for {
		created, err := c.two.Create(c.Context(), key, []byte("other"), 0)
		if err != nil {
			c.Fatal(err)
		}
		if created {
			break
		}
		if time.Since(renewed) > storeWait {
			c.Fatalf("a lease that is not renewed is there after %v", storeWait)
		}
		time.Sleep(storeTTL / 20)
	}
	if since := time.Since(renewed); since < storeTTL-storeEarly {
		c.Errorf("the lease expired %v after it was renewed, want %v", since, storeTTL)
	}
	if swapped, err := c.one.Swap(c.Context(), key, leaseHolder, leaseHolder, storeTTL); err != nil || swapped {
		c.Errorf("Swap of a lease that another replica has: got %v, %v, want false", swapped, err)
	}
}

func (c *storeCheck) has(key string) bool {
	_, found, err := c.two.Get(c.Context(), key)
	if err != nil {
		c.Fatal(err)
	}
	return found
}

// race calls f concurrently, on both replicas in turn.
func (c *storeCheck) race(n int, f func(i int, s mcp.Store)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i, []mcp.Store{c.one, c.two}[i%2]) })
	}
	all.Wait()
}

func (c *storeCheck) concurrentCreate() {
	for round := range 10 {
		var created atomic.Int32
		key := fmt.Sprint("round/", round)
		c.race(16, func(i int, s mcp.Store) {
			ok, err := s.Create(c.Context(), key, []byte{byte(i)}, 0)
			if err != nil {
				c.Errorf("Create: %v", err)
			}
			if ok {
				created.Add(1)
			}
		})
		if n := created.Load(); n != 1 {
			c.Fatalf("%d of 16 concurrent calls of Create have created the value, want one", n)
		}
	}
}

func (c *storeCheck) concurrentSwap() {
	const writers, each = 8, 10
	c.put(c.one, "n", string(make([]byte, 8)), 0)
	begun := time.Now()
	c.race(writers, func(_ int, s mcp.Store) {
		for done := 0; done < each; {
			old, _, err := s.Get(c.Context(), "n")
			if err != nil || len(old) != 8 {
				c.Errorf("Get: got %q, %v", old, err)
				return
			}
			next := binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(old)+1)
			swapped, err := s.Swap(c.Context(), "n", old, next, 0)
			if err != nil {
				c.Errorf("Swap: %v", err)
				return
			}
			if swapped {
				done++
			}
			if time.Since(begun) > storeWait {
				c.Errorf("%d concurrent writers have not swapped %d times each in %v", writers, each, storeWait)
				return
			}
		}
	})
	c.want("n", string(binary.BigEndian.AppendUint64(nil, writers*each)))
}

func (c *storeCheck) swap() {
	c.put(c.one, "a", "1", 0)
	for _, tt := range []struct {
		key, old, value string
		want            bool
	}{{"a", "0", "2", false}, {"a", "", "2", false}, {"none", "", "2", false}, {"a", "1", "2", true}, {"a", "1", "3", false}} {
		if swapped, err := c.two.Swap(c.Context(), tt.key, []byte(tt.old), []byte(tt.value), 0); err != nil || swapped != tt.want {
			c.Errorf("Swap of %q from %q: got %v, %v, want %v", tt.key, tt.old, swapped, err, tt.want)
		}
	}
	c.want("a", "2")
	c.want("none", "")
	c.put(c.one, "empty", "", 0)
	if swapped, err := c.two.Swap(c.Context(), "empty", nil, nil, 0); err != nil || !swapped {
		c.Errorf("Swap of an empty value from an empty one: got %v, %v, want true", swapped, err)
	}
}

func (c *storeCheck) wantList(prefix, after string, limit int, want ...string) {
	c.Helper()
	if got, err := c.two.List(c.Context(), prefix, after, limit); err != nil || !slices.Equal(got, want) {
		c.Errorf("List of %q after %q, at most %d: got %d keys %q, %v, want %d keys %q",
			prefix, after, limit, len(got), got[:min(len(got), 20)], err, len(want), want[:min(len(want), 20)])
	}
}

func (c *storeCheck) list() {
	c.wantList("", "", 10)
	// Characters that have a meaning in patterns and subjects of engines.
	keys := []string{"a", "a b", "a*", "a.b", "a.b.c", "a/", "a/b", "a/c", "a>", "a[x]", "a\\", "a_", "a{x}", "aa", "b", "B", "a%", "a?", "a:b", "~"}
	for _, key := range keys {
		c.put(c.one, key, "1", 0)
	}
	slices.Sort(keys)
	c.wantList("", "", 100, keys...)
	c.wantList("a/", "", 100, "a/", "a/b", "a/c")
	for _, literal := range []string{"a*", "a>", "a?", "a_", "a%", "a[x]", "a\\", "a.b.c"} {
		c.wantList(literal, "", 100, literal)
	}
	c.wantList("a", "a.b", 2, "a.b.c", "a/")
	c.wantList("c", "", 100)
	c.wantList("", "~", 100)
	c.wantList("", "", 0)
	var all []string
	for after := ""; ; after = all[len(all)-1] {
		page, err := c.one.List(c.Context(), "", after, 3)
		if err != nil {
			c.Fatal(err)
		}
		if all = append(all, page...); len(page) < 3 {
			break
		}
	}
	if !slices.Equal(all, keys) {
		c.Errorf("in pages: got %q, want %q", all, keys)
	}
	if err := c.one.Delete(c.Context(), "a/b"); err != nil {
		c.Fatal(err)
	}
	c.wantList("a/", "", 100, "a/", "a/c")
}

func (c *storeCheck) largeList() {
	var want []string
	for i := range manyKeys {
		want = append(want, fmt.Sprintf("%s/%03d", []string{"a", "b"}[i%2], i))
	}
	c.race(8, func(first int, s mcp.Store) {
		for i := first; i < manyKeys; i += 8 {
			if err := s.Put(c.Context(), want[i], nil, 0); err != nil {
				c.Errorf("Put %q: %v", want[i], err)
			}
		}
	})
	slices.Sort(want)
	c.wantList("", "", 2*manyKeys, want...)
	c.wantList("b/", "", 2*manyKeys, want[manyKeys/2:]...)
	c.wantList("b/", want[manyKeys/2], 10, want[manyKeys/2+1:manyKeys/2+11]...)
}

func (c *storeCheck) limits() {
	maxKey, maxValue := maxStoreKey, maxStoreValue
	if l, ok := c.one.(interface{ Limits() (key, value int) }); ok {
		maxKey, maxValue = l.Limits()
	}
	longest := strings.Repeat("k", maxKey)
	largest := bytes.Repeat([]byte{'v'}, maxValue)
	if err := c.one.Put(c.Context(), longest, largest, 0); err != nil {
		c.Fatalf("the longest key and the largest value: %v", err)
	}
	c.want(longest, string(largest))
	for name, put := range map[string]struct {
		key   string
		value []byte
	}{
		"a longer key":   {longest + "k", nil},
		"no key":         {"", nil},
		"a larger value": {"a", append(largest, 'v')},
		"a line break":   {"a\n", nil},
		"a control":      {"a\x7f", nil},
		"not ASCII":      {"\u00e4", nil},
	} {
		if err := c.one.Put(c.Context(), put.key, put.value, 0); err == nil {
			c.Errorf("Put of %s: got no error", name)
		}
		if created, err := c.one.Create(c.Context(), put.key, put.value, 0); err == nil || created {
			c.Errorf("Create of %s: got %v, %v, want an error", name, created, err)
		}
	}
	if swapped, err := c.one.Swap(c.Context(), longest, largest, append(largest, 'v'), 0); err == nil || swapped {
		c.Errorf("Swap to a larger value: got %v, %v, want an error", swapped, err)
	}
	c.want(longest, string(largest))
	c.wantList("", "", 10, longest)
}

func (c *storeCheck) context() {
	ctx, cancel := context.WithCancel(c.Context())
	cancel()
	within(c.T, storeWait, "calls whose context has ended", func() { // they may succeed, but must not wait
		_, _, _ = c.one.Get(ctx, "a")
		_ = c.one.Put(ctx, "a", nil, 0)
		_, _ = c.one.Create(ctx, "a", nil, 0)
		_, _ = c.one.Swap(ctx, "a", nil, nil, 0)
		_ = c.one.Delete(ctx, "a")
		_, _ = c.one.List(ctx, "", "", 1)
	})
}

// within calls f and fails the test if it does not return in time. f may run on when the
// test has ended, so it must not use t.
func within(t *testing.T, limit time.Duration, what string, f func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() { // stays if f hangs, which has failed the test
		defer close(ended)
		f()
	}()
	select {
	case <-ended:
	case <-time.After(limit):
		t.Fatalf("%s: no end after %v", what, limit)
	}
}
