package durable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/durable"
	"github.com/fondaco/fondaco/mcp/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// store is a Store in memory. It can be cut off, and counts calls.
type store struct {
	mu     sync.Mutex
	values map[string]value
	cut    atomic.Bool
	lists  atomic.Int64
	calls  atomic.Int64
}

type value struct {
	text    string
	expires time.Time
}

var errCut = errors.New("cut off")

// with calls f with the values that have not expired.
func (s *store) with(f func(values map[string]value)) error {
	s.calls.Add(1)
	if s.cut.Load() {
		return errCut
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[string]value)
	}
	now := time.Now()
	for key, v := range s.values {
		if !v.expires.IsZero() && !now.Before(v.expires) {
			delete(s.values, key)
		}
	}
	f(s.values)
	return nil
}

func newValue(text []byte, ttl time.Duration) value {
	v := value{text: string(text)}
	if ttl > 0 {
		v.expires = time.Now().Add(ttl)
	}
	return v
}

func (s *store) Get(_ context.Context, key string) (text []byte, found bool, err error) {
	err = s.with(func(values map[string]value) {
		var v value
		v, found = values[key]
		text = []byte(v.text)
	})
	return text, found, err
}

func (s *store) Put(_ context.Context, key string, text []byte, ttl time.Duration) error {
	return s.with(func(values map[string]value) { values[key] = newValue(text, ttl) })
}

func (s *store) Create(_ context.Context, key string, text []byte, ttl time.Duration) (made bool, err error) {
	err = s.with(func(values map[string]value) {
		if _, found := values[key]; !found {
			values[key], made = newValue(text, ttl), true
		}
	})
	return made, err
}

func (s *store) Swap(_ context.Context, key string, old, text []byte, ttl time.Duration) (swapped bool, err error) {
	err = s.with(func(values map[string]value) {
		if v, found := values[key]; found && v.text == string(old) {
			values[key], swapped = newValue(text, ttl), true
		}
	})
	return swapped, err
}

func (s *store) Delete(_ context.Context, key string) error {
	return s.with(func(values map[string]value) { delete(values, key) })
}

func (s *store) List(_ context.Context, prefix, after string, limit int) (keys []string, err error) {
	s.lists.Add(1)
	err = s.with(func(values map[string]value) {
		for key := range values {
			if strings.HasPrefix(key, prefix) && key > after {
				keys = append(keys, key)
			}
		}
	})
	sort.Strings(keys)
	return keys[:min(limit, len(keys))], err
}

func (s *store) keys() (keys []string) {
	_ = s.with(func(values map[string]value) {
		for key := range values {
			keys = append(keys, key)
		}
	})
	return keys
}

func enter(t *testing.T, l *durable.Lease) *durable.Term {
	t.Helper()
	term, err := l.Enter(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return term
}

func ids(work []durable.Work) (ids []string) {
	for _, w := range work {
		ids = append(ids, w.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestLeaseIsRenewedWhileItIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s store
		q := durable.NewQueue(&s, "task", "works")
		l := durable.NewLease(q)
		one, two := enter(t, l), enter(t, l)
		if one != two {
			t.Fatal("a process has two Terms at once")
		}
		two.Leave()
		time.Sleep(time.Minute)
		if alive, err := q.Alive(t.Context(), one.Token); !alive || err != nil || !one.Held() || one.Context().Err() != nil {
			t.Errorf("after a minute: alive %v, %v, held %v", alive, err, one.Held())
		}
		one.Leave()
		if one.Held() || len(s.keys()) != 0 {
			t.Errorf("when nobody uses it any more the lease is held, or has the keys %q", s.keys())
		}
		three := enter(t, l)
		defer three.Leave()
		if three.Token == one.Token {
			t.Error("the next Term has the same token")
		}
	})
}

// Without its holder key nobody finds the work of a Term that is lost.
func TestHolderKeyIsKeptForAsLongAsTheTerm(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var s store
		term := enter(t, durable.NewLease(durable.NewQueue(&s, "task", "works")))
		defer term.Leave()
		left := func() (left time.Duration) {
			_ = s.with(func(values map[string]value) {
				for key, v := range values {
					if strings.HasSuffix(key, "holder."+term.Token) {
						left = time.Until(v.expires)
					}
				}
			})
			return left
		}
		began := left()
		time.Sleep(25 * time.Hour)
		if now := left(); now < began-2*time.Hour {
			t.Errorf("the holder key is kept for %v, and a day later for %v", began, now)
		}
	})
}

// A process has to stop before another one may begin.
func TestLeaseIsLostHereBeforeItExpiresInTheStore(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var s store
		q := durable.NewQueue(&s, "task", "works")
		l := durable.NewLease(q)
		term := enter(t, l)
		time.Sleep(3 * time.Second)
		s.cut.Store(true)
		<-term.Context().Done()
		if err := context.Cause(term.Context()); !errors.Is(err, durable.ErrLost) || term.Held() {
			t.Errorf("the Term ended with %v, held %v", err, term.Held())
		}
		s.cut.Store(false)
		if alive, _ := q.Alive(t.Context(), term.Token); !alive {
			t.Error("the lease has expired in the Store before the process has lost it")
		}
		next := enter(t, l)
		if next == term || next.Token == term.Token {
			t.Error("a Term that was lost goes on")
		}
		term.Leave()
		time.Sleep(durable.LeaseTime)
		if alive, _ := q.Alive(t.Context(), term.Token); alive {
			t.Error("the lease that was lost is renewed")
		}
		next.Leave()
	})
}

func TestShortLossOfTheStoreDoesNotLoseTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s store
		term := enter(t, durable.NewLease(durable.NewQueue(&s, "task", "works")))
		defer term.Leave()
		for range 5 {
			s.cut.Store(true)
			time.Sleep(3 * time.Second)
			s.cut.Store(false)
			time.Sleep(time.Second)
		}
		if !term.Held() {
			t.Errorf("the lease is lost: %v", context.Cause(term.Context()))
		}
	})
}

func TestLeaseThatExpiredInTheStoreIsLost(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var s store
		q := durable.NewQueue(&s, "task", "works")
		term := enter(t, durable.NewLease(q))
		defer term.Leave()
		for _, key := range s.keys() {
			_ = s.Delete(t.Context(), key)
		}
		time.Sleep(3 * time.Second)
		if !errors.Is(context.Cause(term.Context()), durable.ErrLost) {
			t.Errorf("the Term ended with %v", context.Cause(term.Context()))
		}
	})
}

func TestLeaseThatCannotBeWrittenFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s store
		l := durable.NewLease(durable.NewQueue(&s, "task", "works"))
		s.cut.Store(true)
		if _, err := l.Enter(t.Context()); !errors.Is(err, errCut) {
			t.Errorf("got %v, want the error of the Store", err)
		}
		s.cut.Store(false)
		enter(t, l).Leave()
	})
}

func TestOrphansAreTheWorkOfTermsThatHaveEnded(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var s store
		q := durable.NewQueue(&s, "task", "works")
		mine, lost := enter(t, durable.NewLease(q)), enter(t, durable.NewLease(q))
		defer mine.Leave()
		for _, w := range []durable.Work{q.Running(mine.Token, "MINE"), q.Running(lost.Token, "ONE"), q.Running(lost.Token, "TWO")} {
			if err := q.Add(t.Context(), w, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		other := durable.NewQueue(&s, "task", "another server")
		if err := other.Add(t.Context(), other.Running(lost.Token, "OTHER"), time.Hour); err != nil {
			t.Fatal(err)
		}
		if got, err := q.Orphans(t.Context(), 10); len(got) != 0 || err != nil {
			t.Errorf("while all leases are held the orphans are %v, %v", got, err)
		}
		lost.Leave()
		got, err := q.Orphans(t.Context(), 10)
		if err != nil || !slices.Equal(ids(got), []string{"ONE", "TWO"}) {
			t.Errorf("the orphans are %v, %v, want ONE and TWO", got, err)
		}
		if got, _ := q.Orphans(t.Context(), 1); len(got) != 1 {
			t.Errorf("there are %d orphans, want at most 1", len(got))
		}
		for _, w := range got {
			_ = q.Remove(t.Context(), w)
		}
		for range 4 {
			if got, err := q.Orphans(t.Context(), 10); len(got) != 0 || err != nil {
				t.Errorf("the orphans are %v, %v, want none", got, err)
			}
			time.Sleep(30 * time.Second)
		}
		before := s.lists.Load()
		_, _ = q.Orphans(t.Context(), 10)
		if n := s.lists.Load() - before; n != 2 {
			t.Errorf("a scan costs %d Lists when Terms that were lost have had no work for a minute, want 2", n)
		}
	})
}

// Work that cannot be run here must not hide other work.
func TestOrphansAreFoundInTurn(t *testing.T) {
	claim.Shows(t, "B-14")
	synctest.Test(t, func(t *testing.T) {
		var s store
		q := durable.NewQueue(&s, "task", "works")
		lost := enter(t, durable.NewLease(q))
		for i := range 10 {
			if err := q.Add(t.Context(), q.Running(lost.Token, fmt.Sprint("d", i)), time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		lost.Leave()
		times := make(map[string]int)
		for range 10 {
			work, err := q.Orphans(t.Context(), 3)
			if err != nil || len(work) != 3 {
				t.Fatalf("got the orphans %v, %v, want 3", work, err)
			}
			for _, w := range work {
				times[w.ID]++
			}
		}
		for i := range 10 {
			if n := times[fmt.Sprint("d", i)]; n != 3 {
				t.Errorf("d%d was found %d times, want 3 times as each", i, n)
			}
		}
	})
}

func TestScanCostsTheSameWhateverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s store
		q := durable.NewQueue(&s, "task", "works")
		term := enter(t, durable.NewLease(q))
		defer term.Leave()
		for i := range 300 { // more than fit into one List
			if err := q.Add(t.Context(), q.Running(term.Token, fmt.Sprint(i)), time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		s.calls.Store(0)
		if _, err := q.Orphans(t.Context(), 64); err != nil {
			t.Fatal(err)
		}
		if _, err := q.NextDue(t.Context(), 64); err != nil {
			t.Fatal(err)
		}
		if n := s.calls.Load(); n != 3 {
			t.Errorf("a scan calls the Store %d times, want 3", n)
		}
	})
}

func TestWorkIsDueInTheOrderOfItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s store
		q := durable.NewQueue(&s, "task", "works")
		for i, id := range []string{"D", "C", "B", "A"} {
			if err := q.Add(t.Context(), q.Due(time.Now().Add(time.Duration(i)*time.Minute), id), time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		next := func(limit int) string {
			t.Helper()
			work, err := q.NextDue(t.Context(), limit)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for _, w := range work {
				text.WriteString(w.ID)
			}
			return text.String()
		}
		if got := next(10); got != "D" {
			t.Errorf("%q is due, want D", got)
		}
		time.Sleep(150 * time.Second)
		if got := []string{next(2), next(2), next(2)}; !slices.Equal(got, []string{"DC", "B", "DC"}) {
			t.Errorf("%q are due, want DC, then B, then again DC", got)
		}
	})
}

func TestDeadWorkIsListedInPages(t *testing.T) {
	var s store
	q := durable.NewQueue(&s, "task", "works")
	for _, id := range []string{"A", "B", "C"} {
		if err := q.Add(t.Context(), q.Dead(id), time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	first, err := q.ListDead(t.Context(), "", 2)
	if err != nil {
		t.Fatal(err)
	}
	last, err := q.ListDead(t.Context(), "B", 2)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ids(first), []string{"A", "B"}) || !slices.Equal(ids(last), []string{"C"}) {
		t.Errorf("the pages are %v and %v", first, last)
	}
}

// Who can write the Store must not be able to stop a scan by strange keys.
func FuzzKeysOfTheQueue(f *testing.F) {
	f.Add("due.0000000000000.A", "run.X.B", "holder.X")
	f.Add("due.", "run.", "holder.")
	f.Add("due.x.y", "run.a.b.c", "holder.a.b")
	f.Add("due.99999999999999999999.y", "lease.", "dead.")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var s store
		q := durable.NewQueue(&s, "task", "works")
		if err := q.Add(t.Context(), q.Dead("A"), time.Hour); err != nil {
			t.Fatal(err)
		}
		prefix := strings.TrimSuffix(s.keys()[0], "dead.A")
		for _, key := range []string{a, b, c} {
			_ = s.Put(t.Context(), prefix+key, nil, time.Hour)
		}
		if _, err := q.Orphans(t.Context(), 8); err != nil {
			t.Fatal(err)
		}
		if _, err := q.NextDue(t.Context(), 8); err != nil {
			t.Fatal(err)
		}
		if _, err := q.ListDead(t.Context(), "", 8); err != nil {
			t.Fatal(err)
		}
	})
}
