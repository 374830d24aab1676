package config

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"slices"
	"strconv"
	"time"

	"github.com/fondaco/fondaco/host"
)

// settingsMember is the member of an entry with the host's own settings. Other programs
// ignore it.
const settingsMember = "fondaco"

// settingNames are its members.
var settingNames = []string{"share", "lazy", "idle", "startupTimeout", "timeout", "allow", "deny", "confirm", "auditArguments", "dev", "roots", "sampling", "elicitation", "secrets", "trust", "dynamic", "validate"}

// readSettings parses the host's own settings. Unknown members are errors. Rules for
// tools replace the lists of other clients.
func (s *source) readSettings(e *entry, all value) {
	if !s.requireKind(all, kindObject) {
		return
	}
	own := &e.settings
	s.each(all, func(m member, v value) {
		switch m.name {
		case "share":
			own.Share = s.boolean(v)
		case "lazy":
			own.Lazy = s.boolean(v)
		case "idle":
			own.Idle = s.duration(v)
		case "startupTimeout":
			own.StartupTimeout = s.duration(v)
		case "timeout":
			own.Timeouts = s.timeouts(v)
		case "allow":
			own.Rules.Allow = append(own.Rules.Allow, s.patterns(v)...)
		case "deny":
			own.Rules.Deny = append(own.Rules.Deny, s.patterns(v)...)
		case "confirm":
			own.Rules.Confirm = s.confirm(v)
		case "auditArguments":
			own.AuditArguments = append(own.AuditArguments, s.patterns(v)...)
		case "dev":
			own.Dev = s.boolean(v)
		case "roots":
			s.readRoots(e, v)
		case "sampling":
			own.Questions.Sampling = s.sampling(v)
		case "elicitation":
			own.Questions.Elicitation = s.permission(v)
		case "secrets":
			own.Questions.Secrets = s.permission(v)
		case "trust":
			own.Trust = s.trust(v)
		case "dynamic":
			own.Dynamic = s.boolean(v)
		case "validate":
			own.Validate = s.boolean(v)
		default:
			s.addError(all.named(m), "found %q, want %s%s", m.name, oneOf(settingNames), suggest(m.name, settingNames))
		}
	})
}

// permission parses whether something is granted.
func (s *source) permission(v value) host.Permission {
	switch {
	case !s.requireKind(v, kindBoolean):
		return host.PermissionDefault
	case v.text == "true":
		return host.PermissionGranted
	}
	return host.PermissionRefused
}

// timeouts parses how long calls may take: one duration for all requests, or one for each pattern of tools.
// The first pattern that matches a tool decides.
func (s *source) timeouts(v value) (timeouts []host.CallTimeout) {
	switch v.kind {
	case kindString:
		return []host.CallTimeout{{Tools: "*", Timeout: s.duration(v)}}
	case kindObject:
		s.each(v, func(m member, v value) {
			timeouts = append(timeouts, host.CallTimeout{Tools: m.name, Timeout: s.duration(v)})
		})
		return timeouts
	}
	s.addError(v, `found %s, want a duration such as "90s" or "10m", or an object of patterns`, v.kind)
	return nil
}

func (s *source) duration(v value) time.Duration {
	if !s.requireKind(v, kindString) {
		return 0
	}
	d, err := time.ParseDuration(v.text)
	if err != nil || d <= 0 {
		s.addError(v, `found %q, want a duration such as "90s" or "10m"`, v.text)
	}
	return d
}

// number parses a duration that another client writes as a number of units.
func (s *source) number(v value, unit time.Duration) time.Duration {
	if !s.requireKind(v, kindNumber) {
		return 0
	}
	n, err := strconv.ParseFloat(v.text, 64)
	if err != nil || n <= 0 || n > float64(maxNumber/unit) {
		s.addError(v, "found %s, want a number from 1 to %d", v.text, maxNumber/unit)
		return 0
	}
	return time.Duration(n * float64(unit))
}

// maxNumber limits such a duration.
const maxNumber = 24 * time.Hour

var samplingRules = []host.SamplingRule{host.SamplingRelay, host.SamplingAsk, host.SamplingDeny}

// sampling parses what happens to sampling requests.
func (s *source) sampling(v value) host.SamplingRule {
	if !s.requireKind(v, kindString) {
		return host.SamplingDefault
	}
	rule := host.SamplingRule(v.text)
	if !slices.Contains(samplingRules, rule) {
		s.addError(v, "found %q, want %s%s", v.text, oneOf(samplingRules), suggest(v.text, []string{"relay", "ask", "deny"}))
		return host.SamplingDefault
	}
	return rule
}

var trusts = []host.Trust{host.TrustAsk, host.TrustBaseline, host.TrustAuto}

func (s *source) trust(v value) host.Trust {
	if !s.requireKind(v, kindString) {
		return ""
	}
	t := host.Trust(v.text)
	if !slices.Contains(trusts, t) {
		s.addError(v, "found %q, want %s%s", v.text, oneOf(trusts), suggest(v.text, []string{"ask", "baseline", "auto"}))
	}
	return t
}

// patterns parses one pattern or an array.
func (s *source) patterns(v value) []string {
	switch v.kind {
	case kindString:
		return []string{v.text}
	case kindArray:
		return s.texts(v)
	}
	s.addError(v, "found %s, want a string, or an array of strings", v.kind)
	return nil
}

// confirm parses when calls need consent: one word for all tools, or a word for each
// pattern. The first pattern that matches a tool decides.
func (s *source) confirm(v value) (rules []host.ConfirmRule) {
	switch v.kind {
	case kindString:
		return []host.ConfirmRule{{Tools: "*", When: s.when(v)}}
	case kindObject:
		s.each(v, func(m member, v value) {
			if s.requireKind(v, kindString) {
				rules = append(rules, host.ConfirmRule{Tools: m.name, When: s.when(v)})
			}
		})
		return rules
	}
	s.addError(v, "found %s, want %s, or an object of patterns", v.kind, oneOf(whens))
	return nil
}

var whens = []host.When{host.Never, host.Destructive, host.Always}

func (s *source) when(v value) host.When {
	w := host.When(v.text)
	if !slices.Contains(whens, w) {
		s.addError(v, "found %q, want %s%s", v.text, oneOf(whens), suggest(v.text, []string{string(host.Never), string(host.Destructive), string(host.Always)}))
	}
	return w
}

// writeSettings returns settings as readSettings parses them, nil for the defaults.
func writeSettings(own host.Settings) (jsontext.Value, error) {
	var o orderedObject
	o.add("share", own.Share, own.Share)
	o.add("lazy", own.Lazy, own.Lazy)
	o.add("idle", own.Idle.String(), own.Idle > 0)
	o.add("startupTimeout", own.StartupTimeout.String(), own.StartupTimeout > 0)
	var timeouts orderedObject
	for _, t := range own.Timeouts {
		timeouts.add(t.Tools, t.Timeout.String(), true)
	}
	o.add("timeout", &timeouts, len(timeouts.members) > 0)
	o.add("allow", own.Rules.Allow, len(own.Rules.Allow) > 0)
	o.add("deny", own.Rules.Deny, len(own.Rules.Deny) > 0)
	var confirm orderedObject
	for _, rule := range own.Rules.Confirm {
		confirm.add(rule.Tools, rule.When, true)
	}
	o.add("confirm", &confirm, len(confirm.members) > 0)
	o.add("auditArguments", own.AuditArguments, len(own.AuditArguments) > 0)
	o.add("dev", own.Dev, own.Dev)
	o.addPermission("roots", own.Questions.Roots)
	o.add("roots", own.Roots, len(own.Roots) > 0)
	o.add("sampling", own.Questions.Sampling, own.Questions.Sampling != host.SamplingDefault)
	o.addPermission("elicitation", own.Questions.Elicitation)
	o.addPermission("secrets", own.Questions.Secrets)
	o.add("trust", own.Trust, own.Trust != "")
	o.add("dynamic", own.Dynamic, own.Dynamic)
	o.add("validate", own.Validate, own.Validate)
	if len(o.members) == 0 {
		return nil, nil
	}
	return json.Marshal(&o)
}

// An orderedObject is a JSON object whose members keep their order.
type orderedObject struct {
	members []struct {
		name  string
		value any
	}
}

// add adds a member if said is set.
func (o *orderedObject) add(name string, v any, said bool) {
	if said {
		o.members = append(o.members, struct {
			name  string
			value any
		}{name, v})
	}
}

func (o *orderedObject) addPermission(name string, p host.Permission) {
	o.add(name, p == host.PermissionGranted, p != host.PermissionDefault)
}

// MarshalJSONTo implements json.MarshalerTo.
func (o *orderedObject) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, m := range o.members {
		if err := enc.WriteToken(jsontext.String(m.name)); err != nil {
			return err
		}
		if err := json.MarshalEncode(enc, m.value); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}
