package trial

import (
	"fmt"
	"time"

	"github.com/fondaco/fondaco/bench/internal/load"
	"github.com/fondaco/fondaco/bench/internal/proc"
)

// Idle is the memory of idle clients. Each has a stream in the stateless era, and a
// session without a stream in the session era.
type Idle struct {
	Name    string
	Mode    Mode
	Clients int
	Bytes   Spread // of resident memory, for each
	Failure Failure
}

// idlers is large enough that fixed costs are negligible.
const idlers = 5000

func (t *Trial) idle(m Mode) (all []Idle) {
	for _, x := range t.Contestants {
		if !x.has(m) {
			continue
		}
		t.say("%d idle clients, %s, %s", idlers, m, x.Name)
		i := Idle{Name: x.Name, Mode: m, Clients: idlers}
		var bytes []float64
		for range t.Rounds {
			n, err := idleBytes(x, m)
			if err != nil {
				i.Failure = failure(err)
				break
			}
			bytes = append(bytes, n)
		}
		i.Bytes = SpreadOf(bytes)
		all = append(all, i)
	}
	return all
}

// idleBytes opens a few clients first, so that one-time allocations do not count.
func idleBytes(x Contestant, m Mode) (float64, error) {
	s, err := x.start(Cell{Mode: m})
	if err != nil {
		return 0, err
	}
	defer s.stop()
	leave, err := settle(s, m, 20)
	if err != nil {
		return 0, err
	}
	leave()
	before, err := s.collected()
	if err != nil {
		return 0, err
	}
	leave, err = settle(s, m, idlers)
	if err != nil {
		return 0, err
	}
	defer leave()
	time.Sleep(500 * time.Millisecond) // garbage counts too, because no collection is forced
	return float64(proc.Resident(s.pid())-before) / idlers, nil
}

func settle(s *server, m Mode, n int) (leave func(), err error) {
	if m == SessionJSON {
		return func() {}, load.OpenSessions(s.host, n)
	}
	_, era, _ := m.parts()
	c, err := load.OpenCrowd(s.host, era, n)
	if err != nil {
		return nil, err
	}
	return c.Close, nil
}

// collected returns the resident memory after a collection.
func (s *server) collected() (int64, error) {
	time.Sleep(300 * time.Millisecond)
	err := s.hook("gc")
	time.Sleep(300 * time.Millisecond)
	return proc.Resident(s.pid()), err
}

// A Fanout is one update that goes to many subscribers, over its rounds.
type Fanout struct {
	Name        string
	Subscribers int
	CPU         Spread // of the server, per delivery, in microseconds
	Last        Spread // until the last has it, in milliseconds
	Failure     Failure
}

func (t *Trial) fanouts() (all []Fanout) {
	for _, n := range Crowds {
		for _, x := range t.Contestants {
			t.say("update of %d subscribers, %s", n, x.Name)
			f := Fanout{Name: x.Name, Subscribers: n}
			f.Failure = failure(t.fanout(x, &f))
			all = append(all, f)
		}
	}
	return all
}

func (t *Trial) fanout(x Contestant, f *Fanout) error {
	s, err := x.start(Cell{Mode: StatelessJSON})
	if err != nil {
		return err
	}
	defer s.stop()
	crowd, err := load.OpenCrowd(s.host, "26", f.Subscribers)
	if err != nil {
		return err
	}
	defer crowd.Close()
	var cpu, last []float64
	for round := range 2 * t.Rounds {
		used, took, err := update(s, crowd, f.Subscribers)
		if err != nil {
			return err
		}
		if round > 0 { // the first one warms up
			cpu, last = append(cpu, used), append(last, took)
		}
	}
	f.CPU, f.Last = SpreadOf(cpu), SpreadOf(last)
	return nil
}

func update(s *server, crowd *load.Crowd, n int) (cpu, last float64, err error) {
	before, began := proc.CPU(s.pid()), time.Now()
	if err := s.hook("update"); err != nil {
		return 0, 0, err
	}
	heard := crowd.Await(began.Add(10 * time.Second))
	last = time.Since(began).Seconds() * 1e3
	if heard < n {
		return 0, 0, fmt.Errorf("%d of %d subscribers heard of an update within 10 s", heard, n)
	}
	time.Sleep(100 * time.Millisecond) // what the server does after it, and what it holds back
	cpu = (proc.CPU(s.pid()) - before).Seconds() * 1e6 / float64(n)
	return cpu, last, nil
}
