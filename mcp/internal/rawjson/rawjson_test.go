package rawjson_test

import (
	"bytes"
	"encoding/json/jsontext"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// seeds are texts on both sides of every border.
var seeds = []string{
	`{}`, `[]`, `""`, `0`, `-0`, `-1.50`, `true`, `false`, `null`, ` { "a" : [ 1 , 2 ] , "b" : { } } `,
	`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":{"b":1},"b":{"a":1}}`, `{"a":1,}`, `[1,]`, `[,1]`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`,
	`01`, `1.`, `.5`, `+1`, `-`, `1e5`, `1E-400`, `0x10`, `tru`, `nul`, `truee`, `NaN`, `1 2`, `{} {}`, `{}]`, ``, ` `, `]`, `}`, `:`,
	`"\""`, `"\u00e9"`, `"\ud83d\ude00"`, `"\ud800"`, `"\udc00"`, `"\x"`, `"\u12"`, `"\`, `"`, `"a`, "\"\n\"", "\"\x00\"", "\"\x7f\"",
	"\"\xff\"", "\"\xc0\xaf\"", "\"\xed\xa0\x80\"", "\"é漢😀\"", "\"\xe2\x82\"", "\xef\xbb\xbf{}", "{\"\xff\":1}", `"` + strings.Repeat("x", 100) + `"`,
	`{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"10":1,"11":1,"12":1,"13":1,"14":1,"2":1}`,
	`{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"10":1,"11":1,"12":1,"13":1,"14":1,"15":1}`,
	strings.Repeat("[", 200) + strings.Repeat("]", 200), strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100),
}

var limits = rawjson.Limits{Depth: 128, Elements: 1000}

func TestOrdinaryTextIsAccepted(t *testing.T) {
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,-2.5,true,null,"x\n\u00e9"],"b":{}}}`,
		` [ ] `, "\"漢字\"", `{"a":1,"A":2,"":3}`,
	} {
		if !rawjson.Accepts([]byte(text), limits) {
			t.Errorf("%s: got no answer, want yes", text)
		}
	}
}

func TestTextBeyondTheLimitsIsNotAccepted(t *testing.T) {
	for _, c := range []struct {
		depth, elements int
		want            bool
	}{{2, 4, true}, {1, 4, false}, {2, 3, false}} {
		got := rawjson.Accepts([]byte(`{"a":[1,2]}`), rawjson.Limits{Depth: c.depth, Elements: c.elements})
		if got != c.want {
			t.Errorf("depth %d, %d values: got %v, want %v", c.depth, c.elements, got, c.want)
		}
	}
}

func TestObjectHandsOutItsMembers(t *testing.T) {
	var got []string
	ok := rawjson.Object([]byte(` {"a" : 1, "b":{"a":[2]},"c":"x" } `), limits, func(name, value []byte) {
		got = append(got, string(name)+"="+string(value))
	})
	if want := `a=1 b={"a":[2]} c="x"`; !ok || strings.Join(got, " ") != want {
		t.Errorf("got %v, %v, want %s", got, ok, want)
	}
	if rawjson.Object([]byte(`[1]`), limits, func(name, value []byte) {}) {
		t.Error("an array passes for an object")
	}
}

// FuzzAccepts shows that nothing is accepted that the judge refuses,
// and that what walks through accepted text finds what the judge finds.
func FuzzAccepts(f *testing.F) {
	for _, text := range seeds {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		walked := walk(text)
		if !rawjson.Accepts(text, limits) {
			return
		}
		if !jsontext.Value(text).IsValid() {
			t.Fatalf("accepted %q", text)
		}
		if want := judged(t, text); walked != want {
			t.Fatalf("%q: walked %s, want %s", text, walked, want)
		}
	})
}

// walk writes a text down again from what the walkers find.
func walk(v jsontext.Value) string {
	v = bytes.TrimSpace(v)
	var b strings.Builder
	switch v.Kind() {
	case '{':
		b.WriteByte('{')
		for name, value := range rawjson.Members(v) {
			b.Write(append(rawjson.AppendString(nil, string(name)), ':'))
			b.WriteString(walk(value) + ",")
		}
		b.WriteByte('}')
	case '[':
		b.WriteByte('[')
		for value := range rawjson.Elements(v) {
			b.WriteString(walk(value) + ",")
		}
		b.WriteByte(']')
	case '"':
		b.Write(rawjson.AppendString(nil, string(rawjson.Unquote(v))))
	default:
		b.Write(v)
	}
	return b.String()
}

// judged does the same with the decoder.
func judged(t *testing.T, text []byte) string {
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	var b strings.Builder
	for {
		kind, n := dec.StackIndex(dec.StackDepth())
		token, err := dec.ReadToken()
		if err != nil {
			return b.String()
		}
		switch token.Kind() {
		case '"':
			b.Write(rawjson.AppendString(nil, token.String()))
		default:
			b.WriteString(token.String())
		}
		switch {
		case kind == '{' && n%2 == 0 && token.Kind() == '"':
			b.WriteByte(':')
		case token.Kind() != '{' && token.Kind() != '[' && dec.StackDepth() > 0:
			b.WriteByte(',')
		}
	}
}

// ends are texts of many lengths with one character of every kind at every place of
// a stride, so that no step of a scanner is left out.
func ends(f func(s string)) {
	for _, c := range []string{"\x00", "\b", "\n", "\x1f", " ", "!", "\"", "#", "\\", "]", "\x7f", "\u0080", "é", "漢", "😀", "\xff", "\xa2", "\xdc"} {
		for before := range 70 {
			for _, after := range []int{0, 1, 40} {
				f(strings.Repeat("x", before) + c + strings.Repeat("y", after))
			}
		}
	}
}

func TestStringsAreQuotedAlikeWhereverTheyAreSpecial(t *testing.T) {
	ends(func(s string) {
		want, _ := jsontext.AppendQuote(nil, s)
		if got := rawjson.AppendString(nil, s); !bytes.Equal(got, want) {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	})
}

func TestTextIsAcceptedAlikeWhereverItIsSpecial(t *testing.T) {
	ends(func(s string) {
		text := `["` + s + `"]`
		want := jsontext.Value(text).IsValid()
		if got := rawjson.Accepts([]byte(text), limits); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	})
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b", "a\\b", "\n", "é", "\xff", "12345678\"", "<&>\u2028"} {
		f.Add(s)
	}
	ends(func(s string) { f.Add(s) })
	f.Fuzz(func(t *testing.T, s string) {
		want, _ := jsontext.AppendQuote([]byte("x"), s)
		if got := rawjson.AppendString([]byte("x"), s); !bytes.Equal(got, want) {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	})
}

// FuzzText shows that a text says the same in one piece and in pieces of any size,
// that it is as long as it was measured, and that nothing grows.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b", "a\\b\x00\x01", "é\n漢😀", "\xff", strings.Repeat("x", 40) + "\"" + strings.Repeat("y", 40)} {
		for _, size := range []uint8{6, 7, 32, 255} {
			f.Add(s, size)
		}
	}
	f.Fuzz(func(t *testing.T, s string, size uint8) {
		const longestEscape = 6
		quoted, err := jsontext.AppendQuote(nil, s)
		text, ok := rawjson.TextOf(s)
		if ok != (err == nil) {
			t.Fatalf("%q: got %v, jsontext says %v", s, ok, err)
		}
		if !ok {
			return
		}
		want := quoted[1 : len(quoted)-1]
		if got := text.Append(nil); !bytes.Equal(got, want) || text.Size() != len(want) {
			t.Fatalf("%q: got %s with %d bytes, want %s", s, got, text.Size(), want)
		}
		var got []byte
		piece := make([]byte, 0, max(int(size), longestEscape))
		for text.Size() > 0 {
			filled, rest := text.Fill(piece)
			if len(filled) == 0 || rest.Size() != text.Size()-len(filled) || cap(filled) != cap(piece) {
				t.Fatalf("%q: filled %q of %d, left %d of %d", s, filled, cap(piece), rest.Size(), text.Size())
			}
			got, text = append(got, filled...), rest
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%q in pieces of %d: got %s, want %s", s, cap(piece), got, want)
		}
	})
}
