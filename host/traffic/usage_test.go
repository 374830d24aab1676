package traffic_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host/traffic"
)

func TestUsageIsCountedByToolAndCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := traffic.New()
		call := func(conn uint64, name, answer string) (asked, answered int) {
			ask := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, name)
			r.Record("", read(conn, ask))
			time.Sleep(10 * time.Millisecond)
			r.Record("git", read(9, answer)) // of a server: it is not counted
			r.Record("", sent(conn, answer))
			return len(ask), len(answer)
		}
		r.Record("", read(1, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"ide"}}}`))
		ask, answer := call(1, "git__log", `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`)
		askMore, answerMore := call(1, "git__log", `{"jsonrpc":"2.0","id":1,"result":{"isError":true,"content":[]}}`)
		call(2, "git__log", `{"jsonrpc":"2.0","id":1,"result":{}}`)
		call(1, "nothing", `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown tool"}}`)
		got := r.Usage()
		want := traffic.Usage{
			Method: "tools/call", Name: "git__log", Principal: "local", Client: "ide", Calls: 2, Failed: 1, Time: 20 * time.Millisecond,
			Sent: int64(ask + askMore), Received: int64(answer + answerMore),
		}
		if len(got) != 2 || got[1].Client != "" || got[1].Calls != 1 {
			t.Fatalf("got %+v, want two callers", got)
		}
		if want.Last = got[0].Last; got[0] != want || want.Last.IsZero() {
			t.Errorf("got %+v, want %+v", got[0], want)
		}
	})
}

func TestCallThatAsksIsCountedOnce(t *testing.T) {
	t.Parallel()
	r := traffic.New()
	const ask = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","requestState":"s"}}`
	const asks = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s"}}`
	const done = `{"jsonrpc":"2.0","id":1,"result":{}}`
	r.Record("", read(1, ask))
	r.Record("", sent(1, asks))
	r.Record("", read(1, ask))
	r.Record("", sent(1, done))
	if got := r.Usage(); len(got) != 1 || got[0].Calls != 1 || got[0].Sent != 2*int64(len(ask)) || got[0].Received != int64(len(asks)+len(done)) {
		t.Errorf("got %+v, want one call with the bytes of both rounds", got)
	}
}

// A client that gives itself many names takes no row from those that are used more.
func TestRowsOfTheUsageAreLimited(t *testing.T) {
	t.Parallel()
	r := traffic.New()
	call := func(name string) {
		r.Record("", read(1, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q}}`, name)))
		r.Record("", sent(1, `{"jsonrpc":"2.0","id":1,"result":{}}`))
	}
	call("used")
	call("used")
	for i := range 3000 {
		call(fmt.Sprint("made up ", i))
	}
	rows, calls, used := r.Usage(), 0, 0
	for _, row := range rows {
		if calls += row.Calls; row.Name == "used" {
			used = row.Calls
		}
	}
	if last := rows[len(rows)-1]; len(rows) != 1001 || calls != 3002 || used != 2 || last.Method != "" || last.Calls != 2001 {
		t.Errorf("got %d rows with %d calls, %d of the tool that is used more, and %+v for all else", len(rows), calls, used, last)
	}
}
