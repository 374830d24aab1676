package jsonschema_test

import (
	"encoding/json/jsontext"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
)

func BenchmarkValidate(b *testing.B) {
	v := jsonschema.Lazy(jsontext.Value(`{"type":"object","properties":{`+
		`"number":{"type":"string","title":"Flight","description":"flight number such as AZ612","pattern":"^[A-Z]{2}[0-9]+$","examples":["AZ612"]},`+
		`"date":{"type":"string","description":"day, of departure","format":"date"}},"required":["number"],"additionalProperties":false}`), nil)
	instance := jsontext.Value(`{"number":"AZ612","date":"2026-01-31"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Validate(instance); err != nil {
			b.Fatal(err)
		}
	}
}
