package schema_test

import (
	"reflect"
	"testing"

	"github.com/fondaco/fondaco/mcp/schema"
)

func BenchmarkInfer(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.ForType(reflect.TypeFor[kinds](), schema.Input); err != nil {
			b.Fatal(err)
		}
	}
}
