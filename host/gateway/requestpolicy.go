package gateway

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/gateway/relay"
)

// requestPolicy is the relay.Policy of a request: it records the request before it is sent, if it has to
// be recorded, and keeps the consent to it between its rounds.
type requestPolicy struct {
	upstream *upstream
	decision *host.Decision
	policyState
}

var _ relay.Policy = (*requestPolicy)(nil)

// policyState is what a requestPolicy keeps between two rounds.
type policyState struct {
	// Call is the id under which the rounds of the request are recorded.
	Call string `json:"call,omitzero"`
	// Consent is who has consented to the call, if that was needed.
	Consent *consentState `json:"consent,omitzero"`
}

// newPolicy returns the policy of a request after its earlier rounds.
func (u *upstream) newPolicy(d *host.Decision, before relay.RoundState) (*requestPolicy, error) {
	p := &requestPolicy{upstream: u, decision: d}
	if before.Policy != nil {
		if err := json.Unmarshal(before.Policy, &p.policyState); err != nil {
			return nil, fmt.Errorf("state: %w", err)
		}
	}
	return p, nil
}

func (p *requestPolicy) Begin(resumed bool) error {
	if p.decision.Call != "" {
		mustRecord(p.decision, p.Call)
		p.Call = p.decision.Call
	}
	if resumed { // it was recorded when it was sent
		return nil
	}
	return p.upstream.recordIntent(p.decision)
}

func (p *requestPolicy) NextRound() jsontext.Value {
	next := policyState{Call: p.Call, Consent: p.upstream.gateway.nextRound(p.Consent)}
	if next == (policyState{}) {
		return nil
	}
	text, _ := json.Marshal(next) // which has strings and times only
	return text
}

func (p *requestPolicy) Abandoned(err error) {
	d := *p.decision
	d.Outcome = host.OutcomeCancelled
	p.upstream.gateway.record(d, err)
}
