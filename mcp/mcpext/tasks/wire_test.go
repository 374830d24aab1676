package tasks_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json/v2"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

var record = flag.Bool("record", false, "record the transcripts in testdata anew")

// taskID is an id in a message. In transcripts the first one is TASK-1, and so on.
var taskID = regexp.MustCompile(`"[A-Z2-7]{26}"`)

// steady returns what went over the wire with what is random made steady: ids, and
// where notifications stand in what the server says in a row.
func steady(t *mcptest.Transcript) string {
	rest := t.Lines
	for len(rest) > 0 {
		n := 1
		for n < len(rest) && rest[n].From == mcptest.Server && rest[0].From == mcptest.Server {
			n++
		}
		slices.SortStableFunc(rest[:n], func(a, b mcptest.Line) int { return cmp.Compare(rank(a), rank(b)) })
		rest = rest[n:]
	}
	names := make(map[string]string)
	return taskID.ReplaceAllStringFunc(t.String(), func(id string) string {
		if names[id] == "" {
			names[id] = `"TASK-` + string(rune('1'+len(names))) + `"`
		}
		return names[id]
	})
}

func rank(l mcptest.Line) int {
	if bytes.Contains(l.Message, []byte(mcp.NotificationTaskStatus)) {
		return 0
	}
	return 1
}

func TestWireIsAsTheTranscriptsShow(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-369a", "R-369b", "R-370a", "R-370b", "R-375a", "R-377a", "R-379", "R-380", "R-381a", "G-e")
		transcribe(t, v, ".", "Tasks of "+v.String()+", driven by hand.", converse)
	})
}

// The same handler as a call is in the transcripts of the package mcptest.
func TestWireOfATaskThatAsksThreeTimes(t *testing.T) {
	eachEra(t, func(t *testing.T, v mcp.Revision) {
		claim.Shows(t, "R-371", "R-382")
		transcribe(t, v, "asking", "A task asks by form, reserves, asks by form again, and asks the model.", book)
	})
}

// transcribe has a conversation with time to itself between any two messages, and
// compares it with its transcript.
func transcribe(t *testing.T, v mcp.Revision, directory, about string, converse func(t *testing.T, c *mcpclient.Client, v mcp.Revision, note func(string))) {
	synctest.Test(t, func(t *testing.T) {
		between := mcptest.Record(mcptest.Dial(t, newServer(t, nil)), mcptest.Client)
		c, err := mcpclient.Connect(t.Context(), mcpclient.Conn(between), &mcpclient.Options{
			Info: mcp.Implementation{Name: "transcript", Version: "1.0.0"}, Revisions: []mcp.Revision{v},
			Extensions: []mcpclient.Extension{tasks.Client(nil)}, Logger: slog.New(slog.DiscardHandler),
			ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"sure":true}`)}, nil
			},
			Sample: func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				return &mcp.CreateMessageResult{Role: mcp.RoleAssistant, Content: mcp.Contents{mcp.Text("in short")}, Model: "m"}, nil
			},
		})
		must(t, err)
		defer c.Close()
		synctest.Wait()
		converse(t, c, v, func(text string) {
			synctest.Wait()
			between.Note(text)
		})
		synctest.Wait()
		transcript := between.Transcript()
		transcript.Comment = about
		compare(t, filepath.Join("testdata", directory, v.String()+".txtar"), steady(transcript))
	})
}

// callAsTask calls a tool as a task.
func callAsTask(t *testing.T, c *mcpclient.Client, v mcp.Revision, tool string, args any) *tasks.Handle {
	if v == mcp.V20260728 {
		return begin(t, c, tool, args)
	}
	var created mcp.CreateTaskResult
	raw, err := json.Marshal(args)
	must(t, err)
	must(t, c.Request(t.Context(), mcp.MethodToolsCall, &mcp.CallToolParams{Name: tool, Arguments: raw, Task: &mcp.TaskMetadata{TTL: new(int64(60_000))}}, &created))
	return tasks.Resume(c, created.Task.TaskID)
}

// book calls the tool that asks three times.
func book(t *testing.T, c *mcpclient.Client, v mcp.Revision, note func(string)) {
	note("The call becomes a task.")
	h := callAsTask(t, c, v, "book", struct{}{})
	note("Its questions are answered, one after the other.")
	got, err := h.Wait(t.Context())
	if err != nil || got.Content.Text() != "reserved 1, in short" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// converse makes tasks of every kind.
func converse(t *testing.T, c *mcpclient.Client, v mcp.Revision, note func(string)) {
	call := func(tool string, args any) *tasks.Handle { return callAsTask(t, c, v, tool, args) }
	note("A call becomes a task, which is polled.")
	h := call("slow", work{1, "a"})
	synctest.Wait()
	_ = state(t, h)
	time.Sleep(1100 * time.Millisecond)
	note("It is done, and tells its result.")
	_, err := h.Wait(t.Context())
	must(t, err)
	note("A task asks.")
	h = call("confirm", work{Label: "a"})
	note("Its question is answered, and it goes on.")
	_, err = h.Wait(t.Context())
	must(t, err)
	note("A task fails with an error of the protocol.")
	h = call("broken", struct{}{})
	time.Sleep(1100 * time.Millisecond)
	synctest.Wait()
	_, _ = h.Wait(t.Context())
	note("A task is cancelled.")
	h = call("slow", work{Seconds: 60})
	synctest.Wait()
	must(t, h.Cancel(t.Context()))
	note("It stays so.")
	_ = state(t, h)
	note("A task that does not exist.")
	_, _ = tasks.Resume(c, strings.Repeat("A", 26)).Get(t.Context())
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *record {
		must(t, os.MkdirAll(filepath.Dir(file), 0o777))
		must(t, os.WriteFile(file, []byte(got), 0o666))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range min(len(gotLines), len(wantLines)) {
		if gotLines[i] != wantLines[i] {
			t.Fatalf("%s:%d:\ngot  %s\nwant %s", file, i+1, gotLines[i], wantLines[i])
		}
	}
	if len(gotLines) != len(wantLines) {
		t.Errorf("%s: got %d lines, want %d", file, len(gotLines), len(wantLines))
	}
}

func TestNameHeaderIsTheTaskID(t *testing.T) {
	claim.Shows(t, "R-386")
	srv := newServer(t, nil)
	var mu sync.Mutex
	names := make(map[string]string)
	forge := false
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		names[r.Header.Get("Mcp-Method")] = r.Header.Get("Mcp-Name")
		if forge {
			r.Header.Set("Mcp-Name", "another")
		}
		mu.Unlock()
		srv.HTTPHandler().ServeHTTP(w, r)
	}))
	defer web.Close()
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(web.URL), &mcpclient.Options{
		Revisions: []mcp.Revision{mcp.V20260728}, Extensions: []mcpclient.Extension{tasks.Client(nil)},
		ElicitForm: func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) { return nil, nil },
	})
	must(t, err)
	defer c.Close()
	h := begin(t, c, "confirm", work{Label: "a"})
	_ = state(t, h)
	must(t, h.Update(t.Context(), answers{"sure": accept(`{"sure":true}`)}))
	must(t, h.Cancel(t.Context()))
	mu.Lock()
	for _, method := range []string{mcp.MethodTasksGet, tasks.MethodUpdate, mcp.MethodTasksCancel} {
		if names[method] != h.ID() {
			t.Errorf("%s: got name %q, want the id of the task", method, names[method])
		}
	}
	forge = true
	mu.Unlock()
	if _, err := h.Get(t.Context()); mcp.CodeOf(err) != mcp.CodeHeaderMismatch {
		t.Errorf("another name: got %v, want it refused", err)
	}
}
