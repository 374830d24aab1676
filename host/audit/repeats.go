package audit

import (
	"cmp"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
)

// Lines about what did not happen or failed, and about definitions with findings, are kept for
// the whole retention time, so an owner could fill the disk with them. Each owner may write repeatBurst of them at once and
// one more every repeatRefill. Further ones are counted, and a line a minute has the number.
const (
	repeatBurst    = 60
	repeatRefill   = 10 * time.Second
	repeatInterval = time.Minute
	// maxRepeatOwners limits the owners that are known at the same time. The rest share one.
	maxRepeatOwners = 1000
	// maxRepeatNames limits those among them that are callers without credentials by the name of
	// their client, which they choose. The rest of one principal share one.
	maxRepeatNames = maxRepeatOwners / 2
)

// repeats counts failures that repeat.
type repeats struct {
	owners map[owner]*repeatOwner
	names  int // of owners that are names of clients
}

func newRepeats() repeats { return repeats{owners: make(map[owner]*repeatOwner)} }

// repeatOwner is one owner of failures.
type repeatOwner struct {
	tokens  float64
	filled  time.Time
	counted map[repeatKind]*Record
}

// repeatKind is what the counted failures of one line have in common.
type repeatKind struct {
	upstream string
	action   host.Action
	outcome  host.Outcome
}

// limited reports whether a record may be counted instead of written.
func limited(r *Record) bool {
	switch r.Action {
	case host.ActionOffer:
		return true // also of a definition with findings: a server can list another one each time
	case host.ActionCall, host.ActionRead, host.ActionGet, host.ActionStart:
		return r.Outcome != host.OutcomeDone && r.Outcome != host.OutcomeBegun
	}
	return false
}

// admit reports whether a record is to be written. Otherwise it was counted.
func (p *repeats) admit(r *Record, now time.Time) bool {
	if !limited(r) {
		return true
	}
	id := p.place(r.owner(), now)
	o := p.owner(id, now)
	o.tokens = min(repeatBurst, o.tokens+now.Sub(o.filled).Seconds()/repeatRefill.Seconds())
	o.filled = now
	if o.tokens >= 1 {
		o.tokens--
		return true
	}
	k := repeatKind{r.Upstream, r.Action, r.Outcome}
	counted := o.counted[k]
	if counted == nil {
		first := *r
		first.From, first.Call, first.Arguments, first.ArgumentsText = r.Time, "", "", ""
		switch id {
		case r.owner():
		case owner{}:
			first.Principal, first.Client = severalNames, ""
		default:
			first.Client = ""
		}
		o.counted[k] = &first
		counted = &first
	}
	counted.Count++
	counted.Time, counted.Reason = r.Time, r.Reason
	if counted.Name != r.Name {
		counted.Name = severalNames
	}
	if counted.Client != r.Client {
		counted.Client = ""
	}
	if counted.Session != r.Session {
		counted.Session = ""
	}
	return false
}

// severalNames is the name in a line about decisions with different names.
const severalNames = "…[several]"

// place returns the id under which the failures of an owner are counted. That is its own id; the id of
// its principal if there is no room for the name of its client; or the zero id if there is no room for
// the owner. All owners without room share the zero id.
func (p *repeats) place(id owner, now time.Time) owner {
	if p.owners[id] != nil {
		return id
	}
	if id.client != "" && p.names >= maxRepeatNames || len(p.owners) >= maxRepeatOwners {
		p.forgetFull(now)
	}
	if id.client != "" && p.names >= maxRepeatNames {
		id.client = ""
	}
	if p.owners[id] == nil && len(p.owners) >= maxRepeatOwners {
		return owner{}
	}
	return id
}

// forgetFull forgets the owners that may write as much as new ones.
func (p *repeats) forgetFull(now time.Time) {
	for id, o := range p.owners {
		if len(o.counted) == 0 && now.Sub(o.filled) > repeatBurst*repeatRefill {
			delete(p.owners, id)
			if id.client != "" {
				p.names--
			}
		}
	}
}

// owner returns the owner that is counted under an id.
func (p *repeats) owner(id owner, now time.Time) *repeatOwner {
	o := p.owners[id]
	if o == nil {
		o = &repeatOwner{tokens: repeatBurst, filled: now, counted: make(map[repeatKind]*Record)}
		p.owners[id] = o
		if id.client != "" {
			p.names++
		}
	}
	return o
}

// take returns the lines that count failures, and starts to count anew.
func (p *repeats) take() (lines []Record) {
	for _, o := range p.owners {
		for _, r := range o.counted {
			lines = append(lines, *r)
		}
		clear(o.counted)
	}
	slices.SortFunc(lines, func(a, b Record) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Upstream, b.Upstream)) })
	return lines
}
