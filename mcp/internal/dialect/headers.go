package dialect

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// Headers are the standard headers of one request over Streamable HTTP, each
// with all values that were sent. Only the pipe knows their names on the wire.
type Headers struct {
	Version, Method, Name []string
	Params                ParamHeaders // may be nil
}

// ParamHeaders are the headers that mirror parameters of tools.
type ParamHeaders interface {
	// Param returns the values of the header that mirrors the named parameter.
	Param(name string) []string
}

// namesStateless reports whether the version header names a revision of the
// stateless era. A nil Headers names none.
func (h *Headers) namesStateless() bool {
	return h != nil && len(h.Version) == 1 && isNameIn(StatelessEra, h.Version[0])
}

// namesSessionOf reports whether the version header and the metadata name the same revision with
// sessions.
func (h *Headers) namesSessionOf(meta jsontext.Value) bool {
	if h == nil || len(h.Version) != 1 || !isNameIn(SessionEra, h.Version[0]) {
		return false
	}
	version := rawjson.Member(meta, keyVersion)
	return version.Kind() == '"' && string(rawjson.Unquote(version)) == h.Version[0]
}

// checkRequired compares the required headers of a stateless request with its
// body.
//
// Spec: 2026-07-28 basic/transports#header-validation
func (h *Headers) checkRequired(version string, m jsonrpc.Message, naming func(string) string) error {
	if len(h.Version) != 1 || h.Version[0] != version {
		return mismatch("protocol version header %q: want %q as in _meta, once", clip(strings.Join(h.Version, ", ")), clip(version))
	}
	return h.compare(m, naming, true)
}

// compare compares the method and name headers with the body. Missing ones are
// allowed unless they are required.
func (h *Headers) compare(m jsonrpc.Message, naming func(string) string, required bool) error {
	if required || len(h.Method) > 0 {
		if len(h.Method) != 1 || h.Method[0] != m.Method {
			return mismatch("method header %q: want %q as in the body, once", clip(strings.Join(h.Method, ", ")), clip(m.Method))
		}
	}
	want, named := bodyName(nameMember(m.Method, naming), m.Params)
	if !named || !required && len(h.Name) == 0 {
		return nil
	}
	if len(h.Name) != 1 {
		return mismatch("name header: found %d values, want %q as in the body, once", len(h.Name), clip(want))
	}
	if got, ok := DecodeHeader(h.Name[0]); !ok || got != want {
		return mismatch("name header %q: want %q as in the body", clip(h.Name[0]), clip(want))
	}
	return nil
}

// nameMember returns the member of params that the name header repeats in requests
// of a method, or "" for none. naming knows the methods of extensions and may be
// nil.
func nameMember(method string, naming func(string) string) string {
	switch {
	case method == mcp.MethodToolsCall, method == mcp.MethodPromptsGet:
		return "name"
	case method == mcp.MethodResourcesRead:
		return "uri"
	case naming != nil:
		return naming(method)
	}
	return ""
}

// bodyName returns the value in params that the name header repeats, and false
// if there is none.
func bodyName(field string, params jsontext.Value) (string, bool) {
	if field == "" {
		return "", false
	}
	raw := rawjson.Member(params, field)
	if raw.Kind() != '"' {
		return "", false
	}
	return string(rawjson.Unquote(raw)), true
}

// CheckParams compares the headers that mirror annotated arguments of a tool
// with the arguments. It allows nil Headers, and calls of the session era
// without these headers.
//
// Spec: 2026-07-28 basic/transports#custom-headers-from-tool-parameters
func (c *Call) CheckParams(mirrors []Mirror, arguments jsontext.Value) error {
	if c.Headers == nil || c.Headers.Params == nil {
		return nil
	}
	for _, m := range mirrors {
		values := c.Headers.Params.Param(m.Name)
		if len(values) == 0 && !c.Facts.StandardHeaders {
			continue
		}
		if err := m.check(values, arguments); err != nil {
			return err
		}
	}
	return nil
}

// Mirror is one tool parameter that a header repeats.
type Mirror struct {
	Name string   // of the header, without its prefix
	Path []string // of the argument
}

func (m Mirror) check(values []string, arguments jsontext.Value) error {
	raw := m.argument(arguments)
	want, present := mirrored(raw)
	switch {
	case !present && len(values) == 0:
		return nil
	case !present:
		return mismatch("parameter header %q: the body has no such argument", m.Name)
	case len(values) != 1:
		return mismatch("parameter header %q: found %d values, want the argument, once", m.Name, len(values))
	}
	if raw.Kind() == '0' && !exact(raw) {
		return mismatch("parameter header %q: the argument is beyond 2^53-1, which not every parser reads exactly", m.Name)
	}
	got, ok := DecodeHeader(values[0])
	if !ok || got != want && !(raw.Kind() == '0' && sameNumber(got, want)) {
		return mismatch("parameter header %q: %q is not the argument in the body", m.Name, clip(values[0]))
	}
	return nil
}

// exact reports whether all JSON parsers read the number as the same value.
func exact(number jsontext.Value) bool {
	f, err := strconv.ParseFloat(string(number), 64)
	return err == nil && math.Abs(f) <= 1<<53-1
}

// Value returns the header value of the argument, and false if the argument is
// absent or null.
func (m Mirror) Value(arguments jsontext.Value) (string, bool) {
	return mirrored(m.argument(arguments))
}

// argument returns the raw argument, or nil.
func (m Mirror) argument(arguments jsontext.Value) jsontext.Value {
	for _, name := range m.Path {
		arguments = rawjson.Member(arguments, name)
	}
	return arguments
}

func mirrored(raw jsontext.Value) (string, bool) {
	switch raw.Kind() {
	case '"':
		return string(rawjson.Unquote(raw)), true
	case '0':
		return decimal(string(raw)), true
	case 't', 'f':
		return string(raw), true
	}
	return "", false
}

// decimal writes a JSON number without exponent and without a fraction of
// zeros, unless it is too long for a header.
func decimal(number string) string {
	if strings.ContainsAny(number, "eE") {
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || math.Abs(f) >= 1e21 {
			return number
		}
		number = strconv.FormatFloat(f, 'f', -1, 64)
	}
	if strings.Contains(number, ".") {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
	}
	return number
}

// sameNumber compares two JSON numbers without exponents, so that 42.0 equals 42.
func sameNumber(a, b string) bool {
	for _, s := range []string{a, b} {
		if len(s) > 40 || jsontext.Value(s).Kind() != '0' || !jsontext.Value(s).IsValid() || strings.ContainsAny(s, "eE") {
			return false
		}
	}
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}

const (
	sentinelStart = "=?base64?"
	sentinelEnd   = "?="
)

// EncodeHeader encodes value for a header: itself if it is printable ASCII
// without blanks at its ends, otherwise Base64 of its UTF-8 between markers.
//
// Spec: 2026-07-28 basic/transports#value-encoding
func EncodeHeader(value string) string {
	if plainHeader(value) && !looksEncoded(value) {
		return value
	}
	return sentinelStart + base64.StdEncoding.EncodeToString([]byte(value)) + sentinelEnd
}

// DecodeHeader is the inverse of EncodeHeader. It reports false for values that
// EncodeHeader never returns: markers around invalid Base64 or invalid UTF-8,
// or characters that are not allowed in a header.
func DecodeHeader(value string) (string, bool) {
	if !looksEncoded(value) {
		return value, !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' })
	}
	inner := value[len(sentinelStart) : len(value)-len(sentinelEnd)]
	raw, err := base64.StdEncoding.Strict().DecodeString(inner)
	if err != nil || !utf8.Valid(raw) || strings.ContainsAny(inner, "\r\n") {
		return "", false
	}
	return string(raw), true
}

func looksEncoded(value string) bool {
	return len(value) >= len(sentinelStart)+len(sentinelEnd) &&
		strings.HasPrefix(value, sentinelStart) && strings.HasSuffix(value, sentinelEnd)
}

func plainHeader(value string) bool {
	for i := range len(value) {
		if c := value[i]; c < ' ' || c > '~' {
			return false
		}
	}
	return strings.TrimSpace(value) == value
}

func mismatch(format string, args ...any) *Refusal {
	return badRequest(mcp.CodeHeaderMismatch, format, args...)
}
