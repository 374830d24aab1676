package replay_test

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/replay"
)

// FuzzRun drives calls through the state machine: any order of questions, steps, parked
// values, closes, background moves and answers, on several goroutines, some of which go
// on after the run has been closed. Whatever the order:
//
//   - an outcome does not change once the run is closed;
//   - an answer is only taken for a question that the state says is open;
//   - a step is remembered or fails, and nothing is done once the run has ended;
//   - values are parked together or not at all, also when their place is taken away,
//     and each is closed exactly once.
func FuzzRun(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})
	f.Add([]byte("\x21ask once park late answers twice\xff\x80\x40"))
	f.Add([]byte{0xf1, 0x03, 0x02, 0x03, 0x42, 0x01, 0x83, 0x03, 0xc1, 0x02, 0x41, 0x42})
	f.Fuzz(func(t *testing.T, program []byte) {
		m := &machine{t: t, program: program, parked: replay.Parked{Instance: "here"}}
		m.call()
		_ = m.parked.Shutdown(t.Context())
		if n := m.places.held; n != 0 {
			t.Errorf("%d places are held when all values are closed, want none", n)
		}
		for _, v := range m.values {
			if n := v.closed.Load(); n != 1 {
				t.Errorf("value %s was closed %d times, want 1", v.key, n)
			}
		}
	})
}

// machine interprets a program as the life of one call.
type machine struct {
	t       *testing.T
	program []byte
	parked  replay.Parked
	places  places

	mu     sync.Mutex
	values []*value // every value that was ever opened
}

// places is where values are parked. It has room for six, and takes places away when it
// is told to.
type places struct {
	mu     sync.Mutex
	held   int            // guarded by mu
	evicts map[int]func() // guarded by mu: of those that are held
	last   int            // guarded by mu
}

// take is a replay.TakePlace. If lose is true the place is taken away at once.
func (p *places) take(n int, evict func(), lose bool) (release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held+n > 6 {
		return nil, errors.New("there is no room")
	}
	if p.evicts == nil {
		p.evicts = make(map[int]func())
	}
	p.last++
	id := p.last
	p.held += n
	p.evicts[id] = evict
	free := func() { // needs mu
		if p.evicts[id] != nil {
			delete(p.evicts, id)
			p.held -= n
		}
	}
	if lose {
		free()
		p.mu.Unlock()
		evict()
		p.mu.Lock()
	}
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		free()
	}, nil
}

// evictAll takes all places away.
func (p *places) evictAll() {
	p.mu.Lock()
	evicts := p.evicts
	p.evicts, p.held = nil, 0
	p.mu.Unlock()
	for _, evict := range evicts {
		evict()
	}
}

// value counts how often it is closed.
type value struct {
	key    string
	closed atomic.Int32
}

// next takes one byte of the program, which is 0 at its end.
func (m *machine) next() byte {
	if len(m.program) == 0 {
		return 0
	}
	b := m.program[0]
	m.program = m.program[1:]
	return b
}

// take takes up to n bytes of the program.
func (m *machine) take(n int) []byte {
	n = min(n, len(m.program))
	ops := m.program[:n]
	m.program = m.program[n:]
	return ops
}

// canceler records how often the context of a run is cancelled.
type canceler struct{ times atomic.Int32 }

func (c *canceler) Cancel(error) { c.times.Add(1) }

// call makes one call, with as many rounds as the program has.
func (m *machine) call() {
	memory := replay.Memory{StartedAt: time.Unix(1, 0).UTC()}
	var given map[string]jsontext.Value
	for round := 0; ; round++ {
		next := m.round(memory, given)
		if next == nil {
			return
		}
		if next.Round != round+1 {
			m.t.Fatalf("got round %d after round %d", next.Round, round)
		}
		again, err := replay.DecodeMemory(next.Encode())
		if err != nil {
			m.t.Fatalf("the memory does not survive its encoding: %v", err)
		}
		if !sameMemory(*next, again) {
			m.t.Fatalf("the memory changes when it is encoded:\n got %+v\nwant %+v", again, *next)
		}
		if len(m.program) == 0 { // the client does not come back
			return
		}
		memory, given = again, m.answers(again.Open)
	}
}

// sameMemory compares by the JSON of both, in which no map and an empty one are alike. The
// seeds are no text.
func sameMemory(a, b replay.Memory) bool {
	if a.Seed != b.Seed {
		return false
	}
	a.Seed, b.Seed = "", ""
	one, err1 := json.Marshal(a, json.Deterministic(true), json.FormatNilMapAsNull(false))
	other, err2 := json.Marshal(b, json.Deterministic(true), json.FormatNilMapAsNull(false))
	return err1 == nil && err2 == nil && string(one) == string(other)
}

// answers are those of the client, some of them to what nobody has asked.
func (m *machine) answers(open replay.Table[replay.OpenQuestion]) map[string]jsontext.Value {
	given := make(map[string]jsontext.Value)
	for _, b := range m.take(int(m.next() & 3)) {
		key := keyOf(b)
		given[key] = jsontext.Value(fmt.Sprintf("%q", key))
	}
	if m.next()&1 == 0 {
		for _, q := range open {
			given[q.Key] = jsontext.Value(fmt.Sprintf("%q", q.Key))
		}
	}
	return given
}

func keyOf(b byte) string { return string('a' + rune(b>>4&7)) }

// round does one run and returns the memory of the next, or nil when the call has ended.
func (m *machine) round(memory replay.Memory, given map[string]jsontext.Value) *replay.Memory {
	var run replay.Run
	var ctx canceler
	open, answered := slices.Clone(memory.Open), slices.Clone(memory.Answers)
	run.Start(memory, &ctx, 8)
	for key, raw := range given {
		run.Give(key, raw)
	}

	head := m.next()
	tickets := run.Tickets()
	values := m.parked.TakeAll(tickets, mcp.PrincipalLocal)
	if again := m.parked.TakeAll(tickets, mcp.PrincipalLocal); len(again) > 0 {
		m.t.Errorf("a second request with the same state got %d values", len(again))
	}
	run.Claim(values)
	handler, late := m.take(int(head&7)), m.take(int(head>>3&7))
	step := func(op byte) { m.step(&run, op, open, answered, given) }
	if head&0x80 == 0 {
		for _, op := range handler {
			step(op)
		}
	}
	var work sync.WaitGroup
	if head&0x80 != 0 { // the handler and what it leaves behind run side by side
		for i := range handler {
			work.Go(func() { step(handler[i]) })
		}
		for i := range late {
			work.Go(func() { step(late[i]) })
		}
	}
	var out *replay.Outcome
	if head&0x40 != 0 {
		out = run.CloseRaw(map[string]mcp.InputRequest{"raw": question("raw", 0)}, nil)
	} else {
		out = run.Close()
	}
	frozen := frozenOutcome(out)
	if head&0x80 == 0 {
		for _, op := range late {
			step(op)
		}
	}
	work.Wait()
	if got := run.Close(); got != nil || !reflect.DeepEqual(frozenOutcome(out), frozen) {
		m.t.Errorf("the outcome changed after the run was closed:\n got %+v\nwant %+v", frozenOutcome(out), frozen)
	}
	if err := run.Blocked(); err == nil || (out.Next != nil) != errors.Is(err, replay.ErrAsked) {
		m.t.Errorf("got %v of a run with the outcome %+v", err, out)
	}
	if n := ctx.times.Load(); n > 1 {
		m.t.Errorf("the context was cancelled %d times", n)
	}
	return m.settle(out)
}

// frozenOutcome is a copy of what must not change.
func frozenOutcome(out *replay.Outcome) replay.Outcome {
	c := replay.Outcome{Questions: maps.Clone(out.Questions), Values: maps.Clone(out.Values)}
	if out.Next != nil {
		next := *out.Next
		next.Answers, next.Results, next.Open = slices.Clone(next.Answers), maps.Clone(next.Results), slices.Clone(next.Open)
		c.Next = &next
	}
	return c
}

// settle does with an outcome what a server does.
func (m *machine) settle(out *replay.Outcome) *replay.Memory {
	if out.Next == nil {
		replay.CloseAll(out.Values)
		return nil
	}
	op := m.next()
	tickets, err := m.parked.Put(mcp.PrincipalLocal, out.Values, time.Hour, func(n int, evict func()) (func(), error) {
		return m.places.take(n, evict, op&1 != 0)
	})
	if op&2 != 0 {
		m.places.evictAll()
	}
	if err != nil {
		if tickets != nil {
			m.t.Errorf("got %v and tickets %v, want all or none", err, tickets)
		}
		replay.CloseAll(out.Values)
		return nil
	}
	if out.Next.Parked == nil {
		out.Next.Parked = make(map[string]string)
	}
	maps.Copy(out.Next.Parked, tickets)
	return out.Next
}

func question(key string, version byte) mcp.InputRequest {
	return mcp.InputRequest{Method: "elicitation/create", Params: jsontext.Value(fmt.Sprintf(`{"message":"%s%d"}`, key, version))}
}

// step does one thing that a handler can do.
func (m *machine) step(run *replay.Run, op byte, open replay.Table[replay.OpenQuestion], answered replay.Table[replay.Answer], given map[string]jsontext.Value) {
	key := keyOf(op)
	ended := run.Blocked()
	switch op & 3 {
	case 0:
		m.ask(run, key, op>>2&1, open, answered, given)
	case 1:
		m.once(run, key)
	case 2:
		m.park(run, key)
	case 3:
		run.Seed()
		run.Advance(float64(op))
		if op&4 != 0 {
			m.places.evictAll()
		}
		if run.Repeats() && run.Round() == 0 {
			m.t.Error("the first run repeats another one")
		}
	}
	if ended != nil && run.Blocked() == nil {
		m.t.Error("a run that was blocked goes on")
	}
}

func (m *machine) ask(run *replay.Run, key string, version byte, open replay.Table[replay.OpenQuestion], answered replay.Table[replay.Answer], given map[string]jsontext.Value) {
	if run.Use(key) != nil {
		return
	}
	q := question(key, version)
	digest := replay.DigestOfRequest(q)
	found, err := run.Answer(key, digest)
	if err != nil {
		return
	}
	if found.Answer != nil {
		_, gave := given[key]
		asked, _ := open.Get(key)
		before, _ := answered.Get(key)
		if fromOpen := gave && asked.Digest == digest; !fromOpen && before.Question != digest {
			m.t.Errorf("an answer to %q was taken, which was not open", key)
		}
		_ = run.Keep(key, digest, found.Answer)
		return
	}
	if err := run.Ask(table(key, replay.Question{InputRequest: q, Digest: digest})); err == nil {
		m.t.Error("a question has neither an answer nor an error")
	}
}

func (m *machine) once(run *replay.Run, key string) {
	if run.Use(key) != nil || run.Blocked() != nil {
		return
	}
	if _, known := run.Result(key); known {
		return
	}
	if err := run.Remember(key, jsontext.Value("1")); err != nil {
		return
	}
	if _, known := run.Result(key); !known {
		m.t.Errorf("the result of %q is lost", key)
	}
}

func (m *machine) park(run *replay.Run, key string) {
	if run.Use(key) != nil || run.Blocked() != nil {
		return
	}
	if held, lost := run.Value(key); held != nil || lost {
		return
	}
	v := &value{key: key}
	m.mu.Lock()
	m.values = append(m.values, v)
	m.mu.Unlock()
	_ = run.Hold(key, replay.NewValue(v, func() { v.closed.Add(1) }))
}

// table returns a Table with one key.
func table[V any](key string, v V) replay.Table[V] { return replay.Table[V]{{Key: key, Value: v}} }
