package proof

import (
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// An operator makes an invalid message of a valid one. It returns nil for a message that
// it does not change.
type operator struct {
	name   string
	code   string // with which every request is refused; empty if it depends on the message
	mutate func(s seed) []byte
}

// operators are applied to valid messages, in every revision and over every transport.
var operators = []operator{
	// Text that is no JSON, or that parsers read differently.
	{"cut in half", "-32700", func(s seed) []byte { text := s.String(); return []byte(text[:len(text)/2]) }},
	{"last byte lost", "-32700", func(s seed) []byte { text := s.String(); return []byte(text[:len(text)-1]) }},
	{"one brace too many", "-32700", func(s seed) []byte { return []byte(s.String() + "}") }},
	{"two values", "-32700", func(s seed) []byte { return []byte(s.String() + "{}") }},
	{"comma at the end", "-32700", func(s seed) []byte { return replaceLast(s, "}", ",}") }},
	{"comment", "-32700", func(s seed) []byte { return []byte("/* hello */" + s.String()) }},
	{"single quotes", "-32700", func(s seed) []byte { return []byte(strings.ReplaceAll(s.String(), `"`, "'")) }},
	{"NaN", "-32700", inParams("NaN")},
	{"leading zero", "-32700", inParams("007")},
	{"plus sign", "-32700", inParams("+7")},
	{"hexadecimal", "-32700", inParams("0x7")},
	{"control character in a string", "-32700", inParams("\"a\tb\"")},
	{"bad escape", "-32700", inParams(`"\x41"`)},
	{"bytes that are no UTF-8", "", inParams("\"\xff\"")},
	{"overlong UTF-8", "", inParams("\"\xc0\xaf\"")},
	{"encoded surrogate", "", inParams("\"\xed\xa0\x80\"")},
	{"lone surrogate", "", inParams(`"\ud800"`)},
	{"lone surrogate in the name of a member", "-32700", func(s seed) []byte { return append1(s.message, member{`"x\ud800"`, `1`}) }},
	{"byte order mark", "-32700", func(s seed) []byte { return []byte("\ufeff" + s.String()) }},
	{"UTF-16, little end first", "-32700", func(s seed) []byte { return utf16Text(s, binary.LittleEndian) }},
	{"UTF-16, big end first", "-32700", func(s seed) []byte { return utf16Text(s, binary.BigEndian) }},
	{"zero byte behind", "-32700", func(s seed) []byte { return []byte(s.String() + "\x00") }},
	{"member twice", "-32700", func(s seed) []byte { return append1(s.message, s.message[0]) }},
	{"member twice, spelled in two ways", "-32700", func(s seed) []byte { return append1(s.message, member{`"jsonrp\u0063"`, `"2.0"`}) }},
	{"member twice, deep inside", "-32700", inParams(`{"a":{"b":{"c":[{"d":1,"d":2}]}}}`)},
	{"member twice in _meta", "-32700", func(s seed) []byte { return inMeta(s, `"x":1,"x":1`) }},
	{"nested 129 deep", "-32700", inParams(strings.Repeat("[", 129) + strings.Repeat("]", 129))},
	{"nested 100,000 deep", "-32700", inParams(strings.Repeat(`{"a":`, 100_000))},
	{"100,001 values", "-32600", inParams("[" + strings.Repeat("0,", 100_000) + "0]")},
	{"number beyond any", "-32600", inParams("1e400")},
	{"number of 10,000 digits", "-32600", inParams(strings.Repeat("9", 10_000))},

	// Invalid envelopes.
	{"name in another case", "-32600", renamed(`"Method"`)},
	{"name with a zero", "-32600", renamed(`"method\u0000"`)},
	{"name that looks the same", "-32600", renamed(`"m\u0435thod"`)},
	{"name that folds to the same", "-32600", func(s seed) []byte { return text(s.named("jsonrpc", `"j\u017fonrpc"`)) }},
	{"version 1.0", "-32600", with("jsonrpc", `"1.0"`)},
	{"version as a number", "-32600", with("jsonrpc", "2.0")},
	{"no version", "-32600", without("jsonrpc")},
	{"id null", "-32600", withID("null")},
	{"id true", "-32600", withID("true")},
	{"id of a fraction", "-32600", withID("1.5")},
	{"id with an exponent", "-32600", withID("1e3")},
	{"id that is an object", "-32600", withID("{}")},
	{"id of 10,000 bytes", "-32600", withID(`"` + strings.Repeat("i", 10_000) + `"`)},
	{"id beyond what doubles hold", "", withID("9007199254740993")},
	{"id left out", "", without("id")},
	{"method left out", "-32600", without("method")},
	{"method null", "-32600", with("method", "null")},
	{"method that is a number", "-32600", with("method", "7")},
	{"method that is empty", "", with("method", `""`)},
	{"method that is unknown", "", with("method", `"rpc.discover"`)},
	{"method of 100,000 bytes", "", with("method", `"`+strings.Repeat("m", 100_000)+`"`)},
	{"method and result", "-32600", func(s seed) []byte { return text(s.with("method", `"ping"`).with("result", "{}")) }},
	{"result and error", "-32600", func(s seed) []byte {
		return text(s.without("method").without("params").with("result", "{}").with("error", `{"code":1,"message":""}`))
	}},
	{"error without a code", "-32600", func(s seed) []byte {
		return text(s.without("method").without("params").with("error", `{"message":""}`))
	}},
	{"further member", "", func(s seed) []byte { return text(s.with("x", `{"a":[1,2,3]}`)) }},

	// Invalid params.
	{"params null", "", with("params", "null")},
	{"params that are a list", "", with("params", "[1,2]")},
	{"params that are a text", "-32600", with("params", `"text"`)},
	{"params left out", "", without("params")},
	{"params emptied", "", with("params", "{}")},
	{"first of the params left out", "", eachParam(func(i int, p member) string {
		if i == 0 {
			return ""
		}
		return p.value
	})},
	{"params with numbers in their place", "", eachParam(replaceEachParam("7"))},
	{"params with lists in their place", "", eachParam(replaceEachParam("[[]]"))},
	{"params with nulls in their place", "", eachParam(replaceEachParam("null"))},
	{"params with much text in their place", "", eachParam(replaceEachParam(`"` + strings.Repeat(`\u001b[31m`, 10_000) + `"`))},
	{"further param", "", inParams(`{"a":[1,2,3]}`)},
	{"cursor that nobody gave out", "", func(s seed) []byte { return text(s.with("params", s.params().with("cursor", `"AAAA"`).String())) }},
	{"_meta null", "", func(s seed) []byte { return text(s.with("params", s.params().with("_meta", "null").String())) }},
	{"_meta that is a list", "", func(s seed) []byte { return text(s.with("params", s.params().with("_meta", "[]").String())) }},
	{"_meta with a revision that there is not", "", func(s seed) []byte {
		return inMeta(s, `"io.modelcontextprotocol/protocolVersion":"1999-01-01"`)
	}},
	{"_meta with a level that there is not", "", func(s seed) []byte { return inMeta(s, `"io.modelcontextprotocol/logLevel":"loud"`) }},
	{"_meta with a progress token that is none", "", func(s seed) []byte { return inMeta(s, `"progressToken":{}`) }},

	// Batches.
	{"batch of one", "", func(s seed) []byte { return []byte("[" + s.String() + "]") }},
	{"batch of itself twice", "", func(s seed) []byte { return []byte("[" + s.String() + "," + s.String() + "]") }},
	{"batch of 101", "", func(s seed) []byte { return []byte("[" + strings.Repeat(s.String()+",", 100) + s.String() + "]") }},
	{"batch in a batch", "", func(s seed) []byte { return []byte("[[" + s.String() + "]]") }},
	{"batch with a number in it", "", func(s seed) []byte { return []byte("[7," + s.String() + "]") }},

	// Random changes, the same in every run.
	{"one bit changed", "", func(s seed) []byte { return flip(s, "bit", 1) }},
	{"three bits changed", "", func(s seed) []byte { return flip(s, "bits", 3) }},
	{"some bytes lost", "", func(s seed) []byte {
		b, at, n := randomPart(s, "lost")
		return append(b[:at:at], b[at+n:]...)
	}},
	{"some bytes twice", "", func(s seed) []byte {
		b, at, n := randomPart(s, "twice")
		return append(b[:at+n:at+n], b[at:]...)
	}},
	{"some bytes of noise", "", func(s seed) []byte {
		b, at, n := randomPart(s, "noise")
		r := s.random("noise bytes")
		for i := range n {
			b[at+i] = byte(r.Uint32())
		}
		return oneLine(b)
	}},
}

func text(m message) []byte { return []byte(m.String()) }

func append1(m message, x member) []byte { return text(append(m[:len(m):len(m)], x)) }

func with(name, value string) func(seed) []byte {
	return func(s seed) []byte { return text(s.with(name, value)) }
}

func withID(id string) func(seed) []byte {
	return func(s seed) []byte {
		if s.isNotification() {
			return nil
		}
		return text(s.with("id", id))
	}
}

func without(name string) func(seed) []byte {
	return func(s seed) []byte {
		if s.index(name) < 0 {
			return nil
		}
		return text(s.without(name))
	}
}

func renamed(name string) func(seed) []byte {
	return func(s seed) []byte {
		if s.index("method") < 0 {
			return nil
		}
		return text(s.named("method", name))
	}
}

// inParams adds a param, or a member to a response.
func inParams(value string) func(seed) []byte {
	return func(s seed) []byte {
		if s.index("method") < 0 {
			return text(s.with("x", value))
		}
		return text(s.with("params", s.params().with("x", value).String()))
	}
}

// inMeta adds text to the metadata.
func inMeta(s seed, members string) []byte {
	if s.index("method") < 0 {
		return nil
	}
	p := s.params()
	meta := strings.TrimSuffix(p.get("_meta"), "}")
	switch {
	case meta == "":
		meta = "{"
	case strings.Contains(members, "protocolVersion"):
		meta = "{"
	case meta != "{":
		meta += ","
	}
	return text(s.with("params", p.with("_meta", meta+members+"}").String()))
}

// eachParam replaces the values of the params. It removes those that f returns no value
// for.
func eachParam(f func(i int, p member) string) func(seed) []byte {
	return func(s seed) []byte {
		var changed message
		for i, p := range s.params() {
			if value := f(i, p); value != "" {
				changed = append(changed, member{p.name, value})
			}
		}
		if s.params() == nil || changed.String() == s.params().String() {
			return nil
		}
		return text(s.with("params", changed.String()))
	}
}

// replaceEachParam replaces each param except the metadata by a value.
func replaceEachParam(value string) func(int, member) string {
	return func(_ int, p member) string {
		if p.name == `"_meta"` {
			return p.value
		}
		return value
	}
}

func replaceLast(s seed, old, replacement string) []byte {
	text := s.String()
	i := strings.LastIndex(text, old)
	return []byte(text[:i] + replacement + text[i+len(old):])
}

func utf16Text(s seed, order binary.AppendByteOrder) []byte {
	var b []byte
	for _, unit := range utf16.Encode([]rune(s.String())) {
		b = order.AppendUint16(b, unit)
	}
	return oneLine(b)
}

func flip(s seed, name string, bits int) []byte {
	b, r := text(s.message), s.random(name)
	for range bits {
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	}
	return oneLine(b)
}

// randomPart returns the message and a random part of it.
func randomPart(s seed, name string) (b []byte, at, n int) {
	b, r := text(s.message), s.random(name)
	at = r.IntN(len(b))
	return b, at, r.IntN(min(16, len(b)-at)) + 1
}

// oneLine removes line breaks, so that the message stays one frame.
func oneLine(b []byte) []byte {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			b[i] = 0x0b
		}
	}
	return b
}
