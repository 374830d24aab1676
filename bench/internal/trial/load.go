package trial

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json/v2"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/fondaco/fondaco/bench/internal/load"
)

// A Load is the outcome of one contestant for one cell in one round.
type Load struct {
	Name  string
	Cell  Cell
	Round int
	load.Outcome
	Failure Failure
}

// A measurement is repeated when other processes used at least disturbed processors, at
// most attempts times.
const (
	disturbed = 0.15
	attempts  = 3
)

// loads measures all cells. Consecutive cells share servers where possible.
func (t *Trial) loads(cells []Cell) (all []Load) {
	on := new(stage)
	defer on.clear()
	for i, c := range cells {
		t.say("%d/%d %s", i+1, len(cells), c)
		on.set(c)
		all = append(all, t.cell(on, c)...)
	}
	return all
}

// cell measures one cell. Each round starts with another contestant.
func (t *Trial) cell(on *stage, c Cell) (all []Load) {
	for round := range t.Rounds {
		for i := range t.Contestants {
			x := t.Contestants[(i+round)%len(t.Contestants)]
			if x.has(c.Mode) {
				l := t.leastDisturbed(on, x, c)
				l.Round = round
				all = append(all, l)
			}
		}
	}
	return all
}

func (t *Trial) leastDisturbed(on *stage, x Contestant, c Cell) (best Load) {
	for i := range attempts {
		l := t.load(on, x, c)
		if i == 0 || l.Failure == "" && l.Others < best.Others {
			best = l
		}
		if t.Quick || best.Failure != "" || best.Others < disturbed {
			break
		}
	}
	if best.Failure != "" || best.Wrong > 0 {
		t.say("    %s: %s %d wrong: %s", x.Name, best.Failure, best.Wrong, best.FirstWrong)
	}
	return best
}

func (t *Trial) load(on *stage, x Contestant, c Cell) Load {
	transport, era, _ := c.Mode.parts()
	p := load.Params{
		Era: era, Call: c.Call, Callers: c.Callers, Sessions: c.Sessions, Size: cmp.Or(c.Size, 32), Tools: c.Tools,
		WarmUp: 0.3, Seconds: 1,
	}
	if t.Quick {
		p.WarmUp, p.Seconds = 0.2, 0.3
	}
	if transport == "stdio" {
		p.Command = x.args(c)
		return measured(x, c, p)
	}
	s, leave, err := on.server(x, c)
	if err != nil {
		return Load{Name: x.Name, Cell: c, Failure: failure(err)}
	}
	defer leave()
	return measured(x, c, s.asked(p))
}

func measured(x Contestant, c Cell, p load.Params) Load {
	o, err := generate(p)
	return Load{Name: x.Name, Cell: c, Outcome: o, Failure: failure(err)}
}

// generate measures in a separate process of this program.
func generate(p load.Params) (o load.Outcome, err error) {
	self, err := os.Executable()
	if err != nil {
		panic(err) // cannot fail on Linux
	}
	params, err := json.Marshal(p)
	if err != nil {
		panic(err) // Params are numbers and strings
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	args := append(onCore(clientCore), self, "load")
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Stdin = bytes.NewReader(params)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &o)
	}
	if err != nil {
		err = fmt.Errorf("%w: %.300s", err, complaint.Bytes())
	}
	return o, err
}
