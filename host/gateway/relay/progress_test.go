package relay

import (
	"math"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

// progressStep is progress of the upstream or, if it is hostWaits, of the host.
type progressStep float64

const hostWaits progressStep = -1

func TestProgressRisesWhateverTheUpstreamAndTheHostReport(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		known float64
		steps []progressStep
		want  []float64
	}{
		"upstream alone":                 {0, []progressStep{1, 2, 3}, []float64{1, 2, 3}},
		"upstream that goes on":          {2, []progressStep{3, 4}, []float64{3, 4}},
		"upstream that begins again":     {2, []progressStep{1, 2}, []float64{3, 4}},
		"upstream that begins with zero": {2, []progressStep{0, 1}, []float64{0, 3}},
		"host before the upstream":       {0, []progressStep{hostWaits, hostWaits, 1}, []float64{waitingStep, 2 * waitingStep, 1}},
		"host within the upstream":       {0, []progressStep{1, hostWaits, hostWaits, 2}, []float64{1, 1 + waitingStep, 1 + 2*waitingStep, 2}},
		"upstream in small steps":        {0, []progressStep{0.5, hostWaits, 0.5 + waitingStep/2, 0.75}, []float64{0.5, 0.5 + waitingStep, 0.5 + 1.5*waitingStep, 0.75 + waitingStep}},
		"upstream with large numbers":    {0, []progressStep{1e15, hostWaits, 1e15 + 1}, []float64{1e15, math.Nextafter(1e15, 2e15), 1e15 + 1}},
		"upstream that goes back":        {0, []progressStep{5, 3, 6}, []float64{5, 3, 6}},
	} {
		var p callerProgress
		p.raise(test.known)
		var got []float64
		for _, step := range test.steps {
			if step == hostWaits {
				progress, _ := p.wait()
				got = append(got, progress)
				continue
			}
			got = append(got, p.next(mcp.ProgressParams{Progress: float64(step)}).Progress)
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

func TestProgressOfAWaitKeepsTheTotalUntilItIsReached(t *testing.T) {
	t.Parallel()
	var p callerProgress
	p.next(mcp.ProgressParams{Progress: 1, Total: 2})
	if _, total := p.wait(); total != 2 {
		t.Errorf("got the total %v, want that of the upstream", total)
	}
	p.next(mcp.ProgressParams{Progress: 2, Total: 2})
	if _, total := p.wait(); total != 0 {
		t.Errorf("got the total %v, want none, because it is reached", total)
	}
}
