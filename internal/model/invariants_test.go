package model_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// invariant holds after every schedule.
type invariant struct {
	name  string
	says  string
	check func(f *facts) (violations []string)
}

var invariants = []invariant{
	{"one outcome", "each call has exactly one result or error at the client that waits for it", oneOutcome},
	{"no foreign answer", "each answer is that of the client's own call, and names its sender", noForeignAnswer},
	{"completed steps once", "a step that is completed is not begun again, and one that is not only after a fault", completedStepsOnce},
	{"no event lost or doubled", "a client that resumes a stream gets exactly the events that it has missed, in their order", noEventLost},
	{"resources return", "when the clients have ended, goroutines, places and keys of the engine are given back", resourcesReturn},
	{"shares hold", "no owner runs more calls at once than its share, and none excludes another one", sharesHold},
}

func oneOutcome(f *facts) (violations []string) {
	for _, c := range f.calls {
		if c.overdue || len(c.outcomes) > 1 || len(c.outcomes) == 0 && !c.cancelled {
			violations = append(violations, fmt.Sprintf("%s: call %s has %d outcomes: %v; too late: %v", c.who, c.nonce, len(c.outcomes), c.outcomes, c.overdue))
		}
	}
	return violations
}

func noForeignAnswer(f *facts) []string {
	violations := slices.Clone(f.foreign)
	for _, c := range f.calls {
		for _, o := range c.outcomes {
			if o.kind == succeeded && strings.TrimSpace(o.text) != strings.TrimSpace(c.want) {
				violations = append(violations, fmt.Sprintf("%s: call %s has the result %q, want %q", c.who, c.nonce, o.text, c.want))
			}
		}
	}
	return violations
}

func completedStepsOnce(f *facts) (violations []string) {
	calls := make(map[string]*call)
	for _, c := range f.calls {
		calls[c.nonce] = c
	}
	for _, key := range slices.Sorted(maps.Keys(f.steps)) {
		s := f.steps[key]
		nonce, _, _ := strings.Cut(key, " ")
		switch c := calls[nonce]; {
		case c.durable && s.again > 0:
			violations = append(violations, fmt.Sprintf("%s was begun %d times after it was completed", key, s.again))
		case c.durable && s.needless > 0:
			violations = append(violations, fmt.Sprintf("%s was begun again although its replica had no fault", key))
		case !c.durable && s.begun > 1+c.resent:
			violations = append(violations, fmt.Sprintf("%s was begun %d times, and %d rounds were sent again", key, s.begun, c.resent))
		}
	}
	return violations
}

func noEventLost(f *facts) []string {
	violations := append(slices.Clone(f.repeated), f.unreached...)
	for _, c := range f.calls {
		if len(c.outcomes) > 0 && c.outcomes[0].kind == succeeded && c.progress != c.steps {
			violations = append(violations, fmt.Sprintf("%s: call %s has a result after %d messages of progress, want %d", c.who, c.nonce, c.progress, c.steps))
		}
	}
	return violations
}

func resourcesReturn(f *facts) []string { return f.left }

func sharesHold(f *facts) []string {
	violations := slices.Clone(f.excluded)
	for _, key := range slices.Sorted(maps.Keys(f.most)) {
		if f.most[key] > shareCalls {
			violations = append(violations, fmt.Sprintf("%s: %d calls ran at once, want at most %d", key, f.most[key], shareCalls))
		}
	}
	return violations
}
