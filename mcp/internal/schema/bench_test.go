package schema_test

import (
	"encoding/json/jsontext"
	"reflect"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/schema"
)

func BenchmarkValidate(b *testing.B) {
	text, err := schema.For(reflect.TypeFor[flight](), schema.Input)
	if err != nil {
		b.Fatal(err)
	}
	v := schema.Lazy(text, nil)
	instance := jsontext.Value(`{"number":"AZ612","date":"2026-01-31"}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Validate(instance); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInfer(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.For(reflect.TypeFor[kinds](), schema.Input); err != nil {
			b.Fatal(err)
		}
	}
}
