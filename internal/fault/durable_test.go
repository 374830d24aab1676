//go:build unix

package fault_test

import (
	"bytes"
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// storeCall is one call of a Store, and its reply, over HTTP.
type storeCall struct {
	Op, Key, After string
	Old, Value     []byte
	TTL            int64
	Limit          int

	OK   bool
	Keys []string
	Err  string
}

// serveStore serves a Store in memory, which outlives the processes of the test that use it.
func serveStore(t *testing.T) (url string) {
	t.Helper()
	var store mcpserver.MemoryStore
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var c storeCall
		if err := json.UnmarshalRead(r.Body, &c); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := c.do(r.Context(), &store); err != nil {
			c.Err = err.Error()
		}
		_ = json.MarshalWrite(w, &c)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (c *storeCall) do(ctx context.Context, s mcp.Store) (err error) {
	ttl := time.Duration(c.TTL)
	switch c.Op {
	case "get":
		c.Value, c.OK, err = s.Get(ctx, c.Key)
	case "put":
		err = s.Put(ctx, c.Key, c.Value, ttl)
	case "create":
		c.OK, err = s.Create(ctx, c.Key, c.Value, ttl)
	case "swap":
		c.OK, err = s.Swap(ctx, c.Key, c.Old, c.Value, ttl)
	case "delete":
		err = s.Delete(ctx, c.Key)
	case "list":
		c.Keys, err = s.List(ctx, c.Key, c.After, c.Limit)
	}
	return err
}

// remoteStore is the Store at a URL of serveStore.
type remoteStore string

func (s remoteStore) call(ctx context.Context, c storeCall) (storeCall, error) {
	body, err := json.Marshal(&c)
	if err != nil {
		return c, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, string(s), bytes.NewReader(body))
	if err != nil {
		return c, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return c, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil {
		c = storeCall{}
		err = json.Unmarshal(text, &c)
	}
	if err == nil && c.Err != "" {
		err = errors.New(c.Err)
	}
	return c, err
}

func (s remoteStore) Get(ctx context.Context, key string) ([]byte, bool, error) {
	c, err := s.call(ctx, storeCall{Op: "get", Key: key})
	return c.Value, c.OK, err
}

func (s remoteStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	_, err := s.call(ctx, storeCall{Op: "put", Key: key, Value: value, TTL: int64(ttl)})
	return err
}

func (s remoteStore) Create(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error) {
	c, err := s.call(ctx, storeCall{Op: "create", Key: key, Value: value, TTL: int64(ttl)})
	return c.OK, err
}

func (s remoteStore) Swap(ctx context.Context, key string, old, value []byte, ttl time.Duration) (bool, error) {
	c, err := s.call(ctx, storeCall{Op: "swap", Key: key, Old: old, Value: value, TTL: int64(ttl)})
	return c.OK, err
}

func (s remoteStore) Delete(ctx context.Context, key string) error {
	_, err := s.call(ctx, storeCall{Op: "delete", Key: key})
	return err
}

func (s remoteStore) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	c, err := s.call(ctx, storeCall{Op: "list", Key: prefix, After: after, Limit: limit})
	return c.Keys, err
}

// The durable tasks of the test.
const (
	durableTasks = 6
	durableSteps = 25
	stepTime     = 200 * time.Millisecond
)

// note adds a line to the ledger, which all processes share.
func note(line string) error {
	f, err := os.OpenFile(os.Getenv("FAULT_TEST_FILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line + "\n")
	return err
}

// build takes its steps, and writes into the ledger when each begins, and when it was recorded.
func build(ctx context.Context, in struct {
	Name string `json:"name"`
},
) (string, error) {
	for i := range durableSteps {
		step, ran := fmt.Sprintf("%s/%d", in.Name, i), false
		_, err := mcpserver.Once(ctx, fmt.Sprint(i), func() (string, error) {
			ran = true
			if err := note("begin " + step); err != nil {
				return "", err
			}
			time.Sleep(stepTime)
			return mcpserver.NewID(ctx, step), note("effect " + step)
		})
		if err != nil {
			return "", err
		}
		if ran {
			if err := note("completed " + step); err != nil {
				return "", err
			}
		}
	}
	return "built " + in.Name, note("returns " + in.Name)
}

// builder is a server with a durable tool.
func builder() *mcpserver.Server {
	srv := mcpserver.New("builder", "1", &mcpserver.Options{
		Logger: quiet, Store: remoteStore(os.Getenv("FAULT_TEST_STORE")),
		Keys: []mcpserver.Key{{ID: "k", Secret: bytes.Repeat([]byte("s"), 32)}},
	})
	work := tasks.Enable(srv, &tasks.Options{Logger: quiet, Durable: &tasks.DurableOptions{Attempts: 100}})
	srv.Tool("build", "Builds in steps", build, mcpserver.Durable(), work.AsTask())
	return srv
}

func init() {
	roles["builder"] = func() {
		_ = builder().ListenAndServe(context.Background(), "127.0.0.1:0", func(addr net.Addr) {
			fmt.Fprintln(os.Stderr, "LISTEN "+addr.String())
		})
	}
	roles["build worker"] = func() {
		fmt.Fprintln(os.Stderr, "LISTEN nowhere")
		_ = tasks.Work(context.Background(), builder())
	}
}

// TestFaultDurableTasksOfKilledProcesses kills one process after the other while tasks run in
// them, until a process that serves nobody is left, which finishes the tasks.
func TestFaultDurableTasksOfKilledProcesses(t *testing.T) {
	giveBack(t)
	file := filepath.Join(t.TempDir(), "ledger")
	url := serveStore(t)
	defer http.DefaultClient.CloseIdleConnections()
	start := func(as string) *process {
		return launch(t, as, "FAULT_TEST_FILE="+file, "FAULT_TEST_STORE="+url)
	}
	ids := make(map[string]string) // by name
	dial := func(p *process) *mcpclient.Client {
		return connect(t, mcpclient.URL("http://"+p.addr+"/mcp"), &mcpclient.Options{
			Revisions: []mcp.Revision{mcp.V20260728}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
		})
	}
	// check asks a replica for the state of every task.
	check := func(p *process) {
		t.Helper()
		c := dial(p)
		for name, id := range ids {
			if task, err := tasks.Resume(c, id).Get(t.Context()); err != nil || task.Status != mcp.TaskWorking && task.Status != mcp.TaskCompleted {
				t.Errorf("%s: got status %q, %v, want working or completed", name, task.Status, err)
			}
		}
	}
	one, two := start("builder"), start("builder")
	for i := range durableTasks {
		name := fmt.Sprint("house ", i)
		h, err := tasks.Call(t.Context(), dial([]*process{one, two}[i%2]), "build", map[string]string{"name": name})
		if err != nil {
			t.Fatal(err)
		}
		ids[name] = h.ID()
	}
	ledgerHas(t, file, "completed house 0/2")
	_ = one.kill(syscall.SIGKILL)
	three := start("builder")
	check(two)
	check(three)
	ledgerHas(t, file, "completed house 1/9")
	_ = two.kill(syscall.SIGKILL)
	ledgerHas(t, file, "completed house 1/13")
	check(three)
	_ = three.kill(syscall.SIGKILL)
	worker := start("build worker")
	for name := range ids {
		ledgerHas(t, file, "returns "+name)
	}
	four := start("builder")
	c := dial(four)
	for name, id := range ids {
		if result, err := tasks.Resume(c, id).Wait(t.Context()); err != nil || result.Content.Text() != "built "+name {
			t.Errorf("%s: got %+v, %v", name, result, err)
		}
	}
	_ = worker.kill(syscall.SIGKILL)
	_ = four.kill(syscall.SIGKILL)
	checkLedger(t, file, 3)
}

// ledgerHas waits for a line of the ledger.
func ledgerHas(t *testing.T, file, line string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(file)
		if strings.Contains(string(text), line+"\n") {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the ledger does not have %q after %v:\n%s", line, patience, text)
		}
	}
}

// checkLedger checks that each step was completed, that no step was begun again after it was
// completed, and that at most one step of each task was begun again for each kill.
func checkLedger(t *testing.T, file string, kills int) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	began, completed := make(map[string]int), make(map[string]int)
	repeated := 0
	for line := range strings.Lines(string(text)) {
		what, step, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch what {
		case "begin":
			if completed[step] > 0 {
				t.Errorf("%s was begun again although it was completed", step)
			}
			if began[step]++; began[step] > 1 {
				repeated++
			}
		case "completed":
			if completed[step]++; completed[step] > 1 {
				t.Errorf("%s was completed twice", step)
			}
		}
	}
	if len(began) != durableTasks*durableSteps {
		t.Errorf("%d steps were begun, want %d", len(began), durableTasks*durableSteps)
	}
	if most := kills * durableTasks; repeated > most {
		t.Errorf("%d steps were begun again, want at most %d: one of each task for each kill", repeated, most)
	}
	t.Logf("%d steps, %d of them begun again after %d kills", len(began), repeated, kills)
}
