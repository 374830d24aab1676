package trial

import "github.com/fondaco/fondaco/bench/internal/load"

// A Start is the time from the start of a process to its first list of tools over
// stdio, in milliseconds, over its rounds.
type Start struct {
	Name    string
	Tools   int
	Took    Spread
	Failure Failure
}

func (t *Trial) starts(tools int) (all []Start) {
	t.say("cold start, %d tools", 3+tools)
	for _, x := range t.Contestants {
		s := Start{Name: x.Name, Tools: 3 + tools}
		var took []float64
		for range 3 * t.Rounds {
			d, err := load.ColdStart(x.args(Cell{Mode: StatelessStdio, Tools: tools}), "26", tools)
			if err != nil {
				s.Failure = failure(err)
				break
			}
			took = append(took, d.Seconds()*1e3)
		}
		s.Took = SpreadOf(took)
		all = append(all, s)
	}
	return all
}
