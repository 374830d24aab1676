package mcp_test

import (
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestTraceKeepsWhatFollowsTheFormats(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-035")
	const (
		id     = "0af7651916cd43dd8448eb211c80319c"
		parent = "00-" + id + "-b7ad6b7169203331-01"
	)
	for _, test := range []struct {
		name      string
		got, want mcp.Trace
	}{
		{"all", mcp.Trace{parent, "a=b, c@d=e;f ,", "user=ada;p=1, x=%20"}, mcp.Trace{parent, "a=b, c@d=e;f ,", "user=ada;p=1, x=%20"}},
		{"nothing", mcp.Trace{}, mcp.Trace{}},
		{"a later version has more", mcp.Trace{Parent: "cc-" + id + "-b7ad6b7169203331-01-what"}, mcp.Trace{Parent: "cc-" + id + "-b7ad6b7169203331-01-what"}},
		{"this one has not", mcp.Trace{Parent: parent + "-what"}, mcp.Trace{}},
		{"no such version", mcp.Trace{Parent: "ff" + parent[2:]}, mcp.Trace{}},
		{"upper case", mcp.Trace{Parent: "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"}, mcp.Trace{}},
		{"no trace", mcp.Trace{Parent: "00-00000000000000000000000000000000-b7ad6b7169203331-01"}, mcp.Trace{}},
		{"no parent", mcp.Trace{Parent: "00-" + id + "-0000000000000000-01"}, mcp.Trace{}},
		{"too short", mcp.Trace{Parent: "00-1"}, mcp.Trace{}},
		{"a state goes with its parent", mcp.Trace{"00-1", "a=b", "c=d"}, mcp.Trace{Baggage: "c=d"}},
		{"state without value", mcp.Trace{parent, "a", ""}, mcp.Trace{Parent: parent}},
		{"state of two values", mcp.Trace{parent, "a=b=c", ""}, mcp.Trace{Parent: parent}},
		{"line break", mcp.Trace{parent, "a=b\nc", "a=b\r\nc"}, mcp.Trace{Parent: parent}},
		{"baggage without key", mcp.Trace{Baggage: "=b"}, mcp.Trace{}},
		{"baggage in quotes", mcp.Trace{Baggage: `a="b"`}, mcp.Trace{}},
		{"baggage of signs in its value", mcp.Trace{Baggage: "a=b=c"}, mcp.Trace{Baggage: "a=b=c"}},
	} {
		if got := mcp.TraceFrom(mcp.ContextWithTrace(t.Context(), test.got)); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
	if got := mcp.TraceFrom(t.Context()); got != (mcp.Trace{}) {
		t.Errorf("got %+v of a context without a trace", got)
	}
}
