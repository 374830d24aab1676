package mcpclient

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
)

// ErrRejected is the error to return from Options.Sample and its hooks in Options.Ask if
// the user rejects the request of the server.
//
// Spec: 2025-11-25 client/sampling#error-handling
var ErrRejected error = mcp.Errorf(mcp.CodeRejected, "User rejected sampling request")

// Model is a model that a client may sample from.
type Model struct {
	Name string
	// Cheapness, Speed and Intelligence compare the model with the others, from 0
	// to 1.
	Cheapness, Speed, Intelligence float64
}

// PickModel returns the model that matches a server's preferences best. The first hint
// that is part of the name of a model, ignoring case, selects the models that match it;
// without such a hint all are candidates. Among the candidates the priorities decide,
// and of equal ones the first in models is returned. Without preferences it returns the
// first model. It returns false if there are no models.
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
		matches := slices.DeleteFunc(slices.Clone(models), func(m Model) bool {
			return hint.Name == "" || !strings.Contains(strings.ToLower(m.Name), strings.ToLower(hint.Name))
		})
		if len(matches) > 0 {
			return best(matches, p), true
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
