package host

import (
	"reflect"
	"slices"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Permission says whether something is allowed. The zero value leaves it at its default.
type Permission string

// The permissions.
const (
	PermissionDefault Permission = ""
	PermissionGranted Permission = "granted"
	PermissionRefused Permission = "refused"
)

func (p Permission) or(byDefault bool) bool {
	if p == PermissionDefault {
		return byDefault
	}
	return p == PermissionGranted
}

// SamplingRule says what happens to sampling requests of an upstream. The zero value leaves it at its
// default.
type SamplingRule string

// The rules for sampling requests.
const (
	SamplingDefault SamplingRule = ""
	// SamplingRelay relays them to the model of a client that declares sampling.
	SamplingRelay SamplingRule = "relay"
	// SamplingAsk shows the user of the host each request before a model gets it, and each answer
	// before the upstream gets it. Where a client has no model, the user can answer.
	SamplingAsk SamplingRule = "ask"
	// SamplingDeny refuses them.
	SamplingDeny SamplingRule = "deny"
)

// QuestionRules say what an upstream may ask the clients that call it. The zero value gives
// the defaults, see Upstream.Questions.
type QuestionRules struct {
	// Roots are the directories that a client works in.
	Roots Permission
	// Sampling are requests to the client's model.
	Sampling SamplingRule
	// Elicitation are forms and URLs for the client's user.
	Elicitation Permission
	// Secrets are forms with fields for passwords, keys and other secrets.
	Secrets Permission
}

// Questions are the questions that an upstream may ask the clients that call it.
type Questions struct {
	Roots, Elicitation, Secrets bool
	Sampling                    SamplingRule // never SamplingDefault
}

// Questions returns what the upstream may ask. By default that is everything but secrets, and
// not the roots if the upstream is at a URL: they say where files are on the client's machine.
// Sampling requests are relayed, those of a project's upstream after the user was asked.
// The file of a project can only refuse: what it grants has no effect.
func (u *Upstream) Questions() Questions {
	rules, sampling := u.Settings.Questions, SamplingRelay
	if u.Origin.Project != "" {
		rules, sampling = rules.Refusals(), SamplingAsk
	}
	return Questions{
		Roots:       rules.Roots.or(!u.isRemote()),
		Sampling:    rules.Sampling.or(sampling),
		Elicitation: rules.Elicitation.or(true),
		Secrets:     rules.Secrets.or(false),
	}
}

// Refusals returns the rules without those that grant something.
func (r QuestionRules) Refusals() QuestionRules {
	for _, p := range []*Permission{&r.Roots, &r.Elicitation, &r.Secrets} {
		if *p == PermissionGranted {
			*p = PermissionDefault
		}
	}
	if r.Sampling == SamplingRelay {
		r.Sampling = SamplingDefault
	}
	return r
}

func (s SamplingRule) or(byDefault SamplingRule) SamplingRule {
	if s == SamplingDefault {
		return byDefault
	}
	return s
}

// remoteTargets are the types of the targets at URLs.
var remoteTargets = []reflect.Type{reflect.TypeOf(mcpclient.URL("")), reflect.TypeOf(mcpclient.EventStream(""))}

// isRemote reports whether the upstream is at a URL.
func (u *Upstream) isRemote() bool { return slices.Contains(remoteTargets, reflect.TypeOf(u.Target)) }
