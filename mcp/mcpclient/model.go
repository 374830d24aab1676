package mcpclient

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// ErrRejected is the refusal of a user who does not want the server to ask the
// model.
//
// Spec: 2025-11-25 client/sampling#error-handling
var ErrRejected error = mcp.Errorf(mcp.CodeRejected, "User rejected sampling request")

// Model is one that a client may sample from. Its scores run from 0 to 1: how
// cheap, how fast, how intelligent it is compared with the others.
type Model struct {
	Name                           string
	Cheapness, Speed, Intelligence float64
}

// PickModel returns the model that fits a server's preferences best: the first
// hint that is a part of a model's name decides, in any case of letters, and
// without one the priorities do. Models that are equally good are in the order
// of preference. It reports false when there are no models.
//
// Spec: 2026-07-28 client/sampling#model-preferences
//
// Deprecated: part of Sampling (SEP-2577), which the first revision released
// on or after 2027-07-28 may remove.
func PickModel(models []Model, p *mcp.ModelPreferences) (Model, bool) {
	if len(models) == 0 {
		return Model{}, false
	}
	if p == nil {
		return models[0], true
	}
	for _, hint := range p.Hints {
		fits := slices.DeleteFunc(slices.Clone(models), func(m Model) bool {
			return hint.Name == "" || !strings.Contains(strings.ToLower(m.Name), strings.ToLower(hint.Name))
		})
		if len(fits) > 0 {
			return best(fits, p), true
		}
	}
	return best(models, p), true
}

// best returns the model with the highest score, the first of several.
func best(models []Model, p *mcp.ModelPreferences) Model {
	score := func(m Model) float64 {
		return weight(p.CostPriority)*m.Cheapness + weight(p.SpeedPriority)*m.Speed + weight(p.IntelligencePriority)*m.Intelligence
	}
	return slices.MaxFunc(models, func(a, b Model) int { return cmp.Compare(score(a), score(b)) })
}

func weight(priority *float64) float64 {
	if priority == nil {
		return 0
	}
	return *priority
}
