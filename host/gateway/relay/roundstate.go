package relay

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// RoundState is the state of a request between two rounds. It is sealed like the state of
// every handler.
type RoundState struct {
	// Upstream is the key of the upstream, which alone gets its state and the answers.
	Upstream string `json:"upstream"`
	// UpstreamState is the state of an upstream of the stateless era.
	UpstreamState *string `json:"upstreamState,omitzero"`
	// Parked is the key of the parked call at an upstream of the session era.
	Parked string `json:"parked,omitzero"`
	// Progress is the progress that the caller knows.
	Progress float64 `json:"progress,omitzero"`
	// Spent is how long the earlier rounds took at an upstream of the stateless era, in nanoseconds. Between
	// two rounds the caller answers questions, and no request is under way at the upstream: that time counts for
	// no limit, as the time in which a question of a parked call is open.
	Spent int64 `json:"spent,omitzero"`
	// PersonRounds is how many rounds the user of the host has answered, and PersonAnswers are the
	// answers of that user to questions that an upstream of the stateless era has asked together with
	// questions that only the caller can answer.
	PersonRounds  int                       `json:"personRounds,omitzero"`
	PersonAnswers map[string]jsontext.Value `json:"personAnswers,omitzero"`
	// Reviewed are the keys of the sampling requests of the last round whose answers the user of the host
	// sees before an upstream of the stateless era gets them.
	Reviewed []string `json:"reviewed,omitzero"`
	// Policy is what the Policy keeps of the request.
	Policy jsontext.Value `json:"policy,omitzero"`
	// URLs are those of the URL elicitations of the last round.
	URLs []string `json:"urls,omitzero"`
	// Roots are the keys of the questions for roots of an upstream of the stateless era, to whose answers the
	// host adds the roots of the configuration.
	Roots []string `json:"roots,omitempty"`
}

// DecodeRoundState returns the state of a request, which is empty in its first round.
func DecodeRoundState(text *string) (s RoundState, err error) {
	if text == nil {
		return s, nil
	}
	if err := json.Unmarshal([]byte(*text), &s); err != nil {
		return s, fmt.Errorf("state: %w", err)
	}
	return s, nil
}

// wrap returns a result with the questions under prefixed keys, and with the state.
func (s RoundState) wrap(in *mcp.InputRequiredResult) (mcp.Result, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	out := &mcp.InputRequiredResult{RequestState: new(string(text))}
	for key, q := range in.InputRequests {
		if out.InputRequests == nil {
			out.InputRequests = make(map[string]mcp.InputRequest, len(in.InputRequests))
		}
		out.InputRequests[upstreamPrefix+key] = q
	}
	return out, nil
}

// upstreamPrefix distinguishes the keys of an upstream's questions from the host's own.
const upstreamPrefix = "upstream."

// upstreamAnswers returns the answers to the upstream's questions under the upstream's
// keys.
func upstreamAnswers(given map[string]jsontext.Value) map[string]jsontext.Value {
	answers := make(map[string]jsontext.Value, len(given))
	for key, raw := range given {
		if key, ok := strings.CutPrefix(key, upstreamPrefix); ok {
			answers[key] = raw
		}
	}
	return answers
}
