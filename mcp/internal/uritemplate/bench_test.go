package uritemplate_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/uritemplate"
)

func benchmarkMatch(b *testing.B, text, uri string) {
	template, err := uritemplate.Parse(text)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(uri)))
	b.ReportAllocs()
	for b.Loop() {
		template.Match(uri)
	}
}

func BenchmarkMatch(b *testing.B) {
	benchmarkMatch(b, "repos://{owner}/{repo}/contents/{+path}{?ref}", "repos://fondaco/fondaco/contents/docs/guide.md?ref=main")
}

func BenchmarkMatchOther(b *testing.B) {
	benchmarkMatch(b, "repos://{owner}/{repo}/contents/{+path}{?ref}", "users://fondaco/profile")
}

func BenchmarkMatchHostile(b *testing.B) {
	benchmarkMatch(b, "{?x*,y*}{&x*,y*}z", "?x=a"+strings.Repeat("&x=a", 50<<10/4))
}

func BenchmarkMatchHostilePath(b *testing.B) {
	benchmarkMatch(b, "{+x}/a/{+y}/a/{z}", strings.Repeat("/a", 50<<10/2))
}
