package trial

import (
	"errors"
	"fmt"
	"time"

	"github.com/fondaco/fondaco/bench/internal/load"
	"github.com/fondaco/fondaco/bench/internal/proc"
)

// A Gateway is the cost of the host between clients and servers, in one round.
type Gateway struct {
	Round int
	Full  load.Outcome // the calls that the host relays without pauses
	Turns []Turn       // at half as many calls
	// Direct are lists of one server that has as many tools as the host lists, and
	// Merged those of the host.
	Direct, Merged load.Outcome
	Resident       int64   // bytes of the host without its servers, while no call runs
	Started        float64 // milliseconds until the host serves, with all servers ready
	Servers        float64 // milliseconds until the same servers, started alone, have listed their tools
	Failure        Failure
}

// A Turn is the same calls at the same pace through a reverse proxy and through the
// host, one right after the other.
type Turn struct{ Proxy, Host load.Outcome }

const (
	// Behind is how many servers over stdio are behind the host, and ToolsOfEach how
	// many generated tools each of them has.
	Behind      = 6
	ToolsOfEach = 50

	relayCallers = 16
	listCallers  = 8
	turns        = 5
)

func (t *Trial) gateways() (all []Gateway) {
	for round := range t.Rounds {
		t.say("through the gateway, round %d", round+1)
		g := Gateway{Round: round}
		err := errors.Join(t.relay(&g), t.stay(&g), t.lists(&g))
		if g.Failure = failure(err); err != nil {
			t.say("    %v", err)
		}
		all = append(all, g)
	}
	return all
}

// relay measures calls of the floor through the proxy and through the host. Proxy and host
// run on the processor of servers; the floor runs on that of the client, which has capacity
// left.
func (t *Trial) relay(g *Gateway) error {
	floor, err := start(Floor, t.contestant(Floor).argsOn(clientCore, Cell{Mode: StatelessJSON}), nil)
	if err != nil {
		return err
	}
	defer floor.stop()
	proxy, err := start("proxy", append(onCore(serverCore), t.Proxy, "-to", "http://"+floor.host), nil)
	if err != nil {
		return err
	}
	defer proxy.stop()
	host, err := startHost(append(onCore(serverCore), t.Host), behind{"floor": {URL: "http://" + floor.host + "/mcp"}})
	if err != nil {
		return err
	}
	defer host.end()

	p := t.params(load.Params{Call: "echo", Callers: relayCallers, Size: 32})
	if g.Full, err = generate(host.asked(p)); err != nil {
		return fmt.Errorf("calls at full load: %w", err)
	}
	p.Rate = g.Full.PerSecond / 2
	for i := range turns {
		var turn Turn
		if turn.Proxy, turn.Host, err = inTurn((g.Round+i)%2 == 1, proxy.asked(p), host.asked(p)); err != nil {
			return fmt.Errorf("calls at half load: %w", err)
		}
		g.Turns = append(g.Turns, turn)
	}
	return nil
}

// lists measures tool lists: of the host, which merges those of all servers, and of one
// server with as many tools.
func (t *Trial) lists(g *Gateway) error {
	all := Behind*(3+ToolsOfEach) - 3
	one, err := t.contestant("fondaco").start(Cell{Mode: StatelessJSON, Tools: all})
	if err != nil {
		return err
	}
	defer one.stop()
	host, err := startHost(append(onCore(serverCore), t.Host), t.servers())
	if err != nil {
		return err
	}
	defer host.end()
	p := t.params(load.Params{Call: "list", Callers: listCallers, Tools: all})
	direct := one.asked(p)
	p.Tools = ToolsOfEach
	if g.Direct, g.Merged, err = inTurn(g.Round%2 == 1, direct, host.asked(p)); err != nil {
		return fmt.Errorf("lists: %w", err)
	}
	return nil
}

// inTurn runs the two measurements in sequence, in reverse order if requested.
func inTurn(swapped bool, a, b load.Params) (ofA, ofB load.Outcome, err error) {
	if swapped {
		ofB, ofA, err = inTurn(false, b, a)
		return ofA, ofB, err
	}
	if ofA, err = generateRight(a); err == nil {
		ofB, err = generateRight(b)
	}
	return ofA, ofB, err
}

// generateRight is generate, and fails when an answer is wrong.
func generateRight(p load.Params) (load.Outcome, error) {
	o, err := generate(p)
	if err == nil && o.Wrong > 0 {
		err = fmt.Errorf("%d wrong: %s", o.Wrong, o.FirstWrong)
	}
	return o, err
}

// stay starts the host with approved servers on all processors, and measures its memory
// while it is idle.
func (t *Trial) stay(g *Gateway) error {
	began := time.Now()
	if err := t.startServers(); err != nil {
		return err
	}
	g.Servers = time.Since(began).Seconds() * 1e3
	host, err := startHost([]string{t.Host}, t.servers())
	if err != nil {
		return err
	}
	defer host.end()
	if err := host.restart(); err != nil {
		return err
	}
	g.Started = host.took.Seconds() * 1e3
	time.Sleep(time.Second)
	g.Resident = proc.Resident(host.pid())
	return nil
}

// startServers starts what the host starts, side by side as it does, and waits until
// each has listed its tools.
func (t *Trial) startServers() error {
	ready := make(chan error)
	for _, e := range t.servers() {
		go func() {
			_, err := load.ColdStart(append([]string{e.Command}, e.Args...), "26", ToolsOfEach)
			ready <- err
		}()
	}
	var errs []error
	for range Behind {
		errs = append(errs, <-ready)
	}
	return errors.Join(errs...)
}

// servers are those that the host runs.
func (t *Trial) servers() behind {
	command := append(t.contestant("fondaco").Command, "-mode", "stdio", "-tools", fmt.Sprint(ToolsOfEach))
	all := make(behind)
	for i := range Behind {
		all[fmt.Sprintf("server%d", i+1)] = entry{Command: command[0], Args: command[1:]}
	}
	return all
}

func (t *Trial) params(p load.Params) load.Params {
	p.Era, p.WarmUp, p.Seconds = "26", 0.5, 2
	if t.Quick {
		p.WarmUp, p.Seconds = 0.2, 0.3
	}
	return p
}
