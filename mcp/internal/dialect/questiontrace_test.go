package dialect

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

func TestQuestionCarriesATrace(t *testing.T) {
	t.Parallel()
	trace := mcp.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", State: "a=b"}
	const members = `"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","tracestate":"a=b"`
	for _, test := range []struct {
		params string
		trace  mcp.Trace
		want   string
	}{
		{`{}`, trace, `{"_meta":{` + members + `}}`},
		{`{"message":"Which seat?"}`, trace, `{"_meta":{` + members + `},"message":"Which seat?"}`},
		{`{"_meta":{"progressToken":1},"message":"x"}`, trace, `{"_meta":{"progressToken":1,` + members + `},"message":"x"}`},
		{`{"_meta":{"traceparent":"other"}}`, trace, `{"_meta":{"traceparent":"other"}}`},
		{`{"_meta":{"traceparent":"other"}}`, mcp.Trace{Parent: trace.Parent, State: "a=b", Baggage: "k=v"}, `{"_meta":{"baggage":"k=v","traceparent":"other"}}`},
		{`{"_meta":{"baggage":"own=1"}}`, mcp.Trace{Parent: trace.Parent, State: "a=b", Baggage: "k=v"}, `{"_meta":{"baggage":"own=1",` + members + `}}`},
		{`{"message":"x"}`, mcp.Trace{}, `{"message":"x"}`},
	} {
		q := &Question{params: []byte(test.params)}
		q.AddTrace(test.trace)
		if got := string(q.params); got != test.want {
			t.Errorf("%s: got %s, want %s", test.params, got, test.want)
		}
	}
}
