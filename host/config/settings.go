package config

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"time"

	"github.com/fondaco/fondaco/host"
)

// settings reads the host's own settings of a server, which stand together in one
// member where no other program looks for them:
//
//	"fondaco": {"share": true, "lazy": true, "idle": "5m", "allow": ["read_*"], "deny": ["*_all"],
//	            "confirm": {"read_*": "never", "*": "destructive"}}
//
// Of confirm the first pattern that matches a tool decides; a single word stands
// for all tools.
func (p *parser) settings(raw jsontext.Value, offset int64, at jsontext.Pointer) (s host.Settings) {
	if raw == nil {
		return s
	}
	var own struct {
		Share   bool           `json:"share,omitzero"`
		Lazy    bool           `json:"lazy,omitzero"`
		Idle    string         `json:"idle,omitzero"`
		Allow   []string       `json:"allow,omitzero"`
		Deny    []string       `json:"deny,omitzero"`
		Confirm jsontext.Value `json:"confirm,omitzero"`
	}
	if err := json.Unmarshal(raw, &own, json.RejectUnknownMembers(true)); err != nil {
		p.valueFault(offset, at, err)
		return s
	}
	s = host.Settings{Share: own.Share, Lazy: own.Lazy, Rules: host.Rules{Allow: own.Allow, Deny: own.Deny}}
	if own.Idle != "" {
		idle, err := time.ParseDuration(own.Idle)
		if err != nil || idle <= 0 {
			p.fault(offset, at.AppendToken("idle"), `found %q, want a duration such as "90s" or "5m"`, own.Idle)
		}
		s.Idle = idle
	}
	s.Rules.Confirm = p.confirm(own.Confirm, offset, at.AppendToken("confirm"))
	return s
}

func (p *parser) confirm(raw jsontext.Value, offset int64, at jsontext.Pointer) (rules []host.ConfirmRule) {
	var one host.When
	switch raw.Kind() {
	case 0:
		return nil
	case jsontext.KindString:
		_ = json.Unmarshal(raw, &one) // a string is one
		rules = []host.ConfirmRule{{Tools: "*", When: one}}
	default:
		dec := jsontext.NewDecoder(bytes.NewReader(raw))
		err := eachMember(dec, func(pattern string) error {
			var when host.When
			err := json.UnmarshalDecode(dec, &when)
			rules = append(rules, host.ConfirmRule{Tools: pattern, When: when})
			return err
		})
		if err != nil {
			p.valueFault(offset, at, err)
			return nil
		}
	}
	if err := (&host.Rules{Confirm: rules}).Check(); err != nil {
		p.fault(offset, at, "%v", err)
	}
	return rules
}
