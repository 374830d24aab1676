//go:build unix

package fault_test

import (
	"bufio"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// flood is the number of messages of a flood.
const flood = 20_000

func init() { roles["flooder"] = flooder }

// flooder is a server of 2025-11-25 that sends a flood of notifications before the result
// of a call.
func flooder() {
	out := bufio.NewWriter(os.Stdout)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m struct {
			ID     int    `json:"id"`
			Method string `json:"method"`
		}
		_ = json.Unmarshal(lines.Bytes(), &m)
		result := `{}`
		switch m.Method {
		case mcp.MethodInitialize:
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"flooder","version":"1"}}`
		case mcp.MethodToolsList:
			result = `{"tools":[{"name":"flood","inputSchema":{"type":"object"}}]}`
		case mcp.MethodToolsCall:
			for i := range flood / 4 {
				fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%0500d"}}`+"\n", i)
				fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%d,"progress":%d}}`+"\n", m.ID, i)
				fmt.Fprintf(out, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"unknown","progress":%d}}`+"\n", i)
			}
			result = `{"content":[{"type":"text","text":"dry"}]}`
		}
		if m.ID != 0 || m.Method == mcp.MethodInitialize {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"result":%s}`+"\n", m.ID, result)
		}
		out.Flush()
	}
}

// heap returns the heap in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func TestFaultNotificationFlood(t *testing.T) {
	var lists, logs atomic.Int64
	for name, use := range map[string]func(t *testing.T) *victim{
		"client": func(t *testing.T) *victim {
			return &victim{Client: connect(t, command("flooder"), &mcpclient.Options{
				OnToolsChanged: func(context.Context, *mcpclient.Client) { lists.Add(1) },
				OnLog: func(context.Context, *mcp.LoggingMessageParams) {
					logs.Add(1)
					time.Sleep(time.Microsecond) // slower than they arrive
				},
			})}
		},
		"host": func(t *testing.T) *victim { return hosted(t, command("flooder")) },
	} {
		t.Run(name, func(t *testing.T) {
			giveBack(t)
			v := use(t)
			before := heap()
			got, err := v.Call[string](t.Context(), v.tool("flood"), nil)
			if err != nil || got != "dry" {
				t.Errorf("got %q, %v, want the answer behind the flood", got, err)
			}
			v.mustWork(t)
			if now := heap(); now > before+32<<20 {
				t.Errorf("the heap has grown by %d MiB", (now-before)>>20)
			}
		})
	}
	if n := lists.Load(); n > 100 {
		t.Errorf("the handler of %d changes of the list ran %d times, want them told as few", flood/4, n)
	}
}

// rawSession is a session of 2025-11-25 with hand-written messages.
type rawSession struct {
	http.Client
	url, id string
}

func openRaw(t *testing.T, addr string) *rawSession {
	s := &rawSession{url: "http://" + addr + "/mcp"}
	s.Client.Transport = new(http.Transport)
	t.Cleanup(s.CloseIdleConnections)
	header, _, err := s.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	s.id = header.Get("Mcp-Session-Id")
	if _, _, err := s.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil || s.id == "" {
		t.Fatalf("session %q: %v", s.id, err)
	}
	return s
}

// post sends one message and returns the whole response.
func (s *rawSession) post(message string) (http.Header, string, error) {
	r, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(message))
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if s.id != "" {
		r.Header.Set("Mcp-Session-Id", s.id)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	response, err := s.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 400 {
		err = fmt.Errorf("HTTP %d: %s", response.StatusCode, body)
	}
	return response.Header, string(body), err
}

// call calls a tool with an id; the channel receives the response.
func (s *rawSession) call(id, tool string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		_, body, err := s.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q}}`, id, tool))
		if err != nil {
			body = err.Error()
		}
		answer <- body
	}()
	return answer
}

func TestFaultCancellationFlood(t *testing.T) {
	giveBack(t)
	p := launch(t, "http", "FAULT_TEST_FILE="+t.TempDir()+"/lines")
	good, bad := openRaw(t, p.addr), openRaw(t, p.addr)
	for range 3 {
		_ = good.call("7", "hang") // two of them are refused, because the id is in use
	}
	foreign := good.call(`"mine"`, "hang")
	if finished := <-bad.call("1", "pid"); !strings.Contains(finished, `"id":1`) {
		t.Fatalf("got %s, want an answer", finished)
	}
	own := bad.call("2", "hang")
	cancel := func(id string) {
		if _, _, err := bad.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`); err != nil {
			t.Errorf("cancel %s: %v", id, err)
		}
	}
	for i := range 500 {
		for _, id := range []string{"1", "7", `"mine"`, fmt.Sprint(1000 + i)} { // finished, foreign, foreign, unknown
			cancel(id)
		}
	}
	select {
	case got := <-foreign:
		t.Errorf("a foreign call ended: %s", got)
	case got := <-own:
		t.Errorf("a call that nobody has cancelled ended: %s", got)
	default:
	}
	cancel("2")
	if got := <-own; strings.Contains(got, `"id":2`) {
		t.Errorf("got %s for a call that was cancelled, want no reply", got)
	}
	if got := <-good.call("8", "pid"); !strings.Contains(got, `"id":8`) {
		t.Errorf("got %s, want an answer as ever", got)
	}
}

// A client that cancels its own calls gets one outcome for each.
func TestFaultCallsCancelledInTheMiddle(t *testing.T) {
	victims(t, func(t *testing.T, v *victim) {
		for i := range 100 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Duration(i)*20*time.Microsecond, cancel)
			word := fmt.Sprint(i)
			got, err := v.Call[string](ctx, v.tool("echo"), map[string]string{"text": word})
			if err == nil && got != word || err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("got %q, %v, want %q or that it was cancelled", got, err, word)
			}
			cancel()
		}
		if got, err := v.Call[string](t.Context(), v.tool("echo"), map[string]string{"text": "end"}); err != nil || got != "end" {
			t.Errorf("got %q, %v, want it to go on", got, err)
		}
	})
}
