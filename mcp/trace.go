package mcp

import (
	"context"
	"strings"
)

// Trace is a W3C trace context, as the metadata of requests carries it. An
// empty field means absent.
//
// Spec: 2026-07-28 basic#meta; W3C Trace Context; W3C Baggage
type Trace struct {
	// Parent is the traceparent, such as
	// 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.
	Parent string
	// State is the tracestate, a list of key=value of the tracing systems.
	State string
	// Baggage is a list of key=value of the application.
	Baggage string
}

type traceKey struct{}

// traceContext is a context with a trace, in one piece of memory.
type traceContext struct {
	context.Context
	trace Trace
}

// Value implements context.Context.
func (c *traceContext) Value(key any) any {
	if key == (traceKey{}) {
		return &c.trace
	}
	return c.Context.Value(key)
}

// ContextWithTrace returns a context that carries t; a client sends it with the requests of that
// context. Fields with an invalid format are left out; without a valid Parent, State is left out,
// too. The context of a server's handler carries the trace of its request, so calls that the
// handler makes belong to the same trace.
func ContextWithTrace(ctx context.Context, t Trace) context.Context {
	return &traceContext{ctx, t.ValidFields()}
}

// TraceFrom returns the trace of a context, or the zero Trace if it has none.
func TraceFrom(ctx context.Context) Trace {
	if t, ok := ctx.Value(traceKey{}).(*Trace); ok {
		return *t
	}
	return Trace{}
}

// The maximum lengths of the fields, in bytes.
const (
	maxTraceParent = 256
	maxTraceState  = 8 << 10
	maxBaggage     = 8 << 10
)

// ValidFields returns t without the fields whose format is invalid. Without a valid Parent, State is left out, too.
func (t Trace) ValidFields() (valid Trace) {
	if isTraceParent(t.Parent) {
		valid.Parent = t.Parent
		if isKeyValueList(t.State, maxTraceState, ",=") {
			valid.State = t.State
		}
	}
	if isKeyValueList(t.Baggage, maxBaggage, `",\`) {
		valid.Baggage = t.Baggage
	}
	return valid
}

// isTraceParent reports whether s is a version, a trace id, a parent id and flags. Later versions
// may append further fields.
//
// Spec: W3C Trace Context 3.2
func isTraceParent(s string) bool {
	if len(s) > maxTraceParent {
		return false
	}
	const length = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if len(s) == length && s[:3] == "00-" && s[35] == '-' && s[52] == '-' { // nearly all
		id, parent := s[3:35], s[36:52]
		return isHex(id, 32) && isHex(parent, 16) && isHex(s[53:], 2) && strings.Trim(id, "0") != "" && strings.Trim(parent, "0") != ""
	}
	version, rest, _ := strings.Cut(s, "-")
	id, rest, _ := strings.Cut(rest, "-")
	parent, rest, _ := strings.Cut(rest, "-")
	flags, _, hasMore := strings.Cut(rest, "-")
	return isHex(version, 2) && version != "ff" && (version != "00" || !hasMore) &&
		isHex(id, 32) && strings.Trim(id, "0") != "" &&
		isHex(parent, 16) && strings.Trim(parent, "0") != "" && isHex(flags, 2)
}

// isKeyValueList reports whether s is a comma-separated list of key=value in
// printable ASCII. Neither keys nor values may contain the characters of
// without.
//
// Spec: W3C Trace Context 3.3; W3C Baggage 3.3
func isKeyValueList(s string, most int, without string) bool {
	if len(s) > most {
		return false
	}
	for member := range strings.SplitSeq(s, ",") {
		member = strings.Trim(member, " \t")
		key, value, found := strings.Cut(member, "=")
		key = strings.TrimRight(key, " \t")
		if !found && member != "" || found && !isTraceKey(key) || strings.ContainsAny(value, without) || !isPrintable(value) {
			return false
		}
	}
	return true
}

func isTraceKey(s string) bool {
	return s != "" && !strings.ContainsAny(s, ` "(),:;<=>?[\]{}`) && isPrintable(s)
}

func isPrintable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// hexDigits has a bit for each lower-case hexadecimal digit. Digits are random, so branches on them would be mispredicted.
var hexDigits = [4]uint64{0x3ff << '0', 0x3f << ('a' - 64), 0, 0}

func isHex(s string, length int) bool {
	valid := uint64(1)
	for i := range len(s) {
		valid &= hexDigits[s[i]>>6] >> (s[i] & 63)
	}
	return len(s) == length && valid == 1
}
