package tasks_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpext/tasks"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// TestListHasTheTasksOfEveryReplica makes tasks on two servers with one Store.
func TestListHasTheTasksOfEveryReplica(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &mcpserver.Options{Logger: quiet, Store: new(mcpserver.MemoryStore)}
		one := addTools(t, mcpserver.New("works", "1", o), &tasks.Options{TTL: time.Hour})
		other := addTools(t, mcpserver.New("works", "1", o), &tasks.Options{TTL: 2 * time.Hour})
		ada, there := as(t, one, mcp.V20251125, user("ada")), as(t, other, mcp.V20251125, user("ada"))
		eve := as(t, other, mcp.V20251125, user("eve"))
		const made = 130
		var want []string
		for i := range made {
			c := ada
			if i%2 == 1 {
				c = there
			}
			want = append(want, begin(t, c, "slow", work{}).ID())
			time.Sleep(time.Second)
		}
		begin(t, eve, "slow", work{})

		list := func(cursor *string) mcp.ListTasksResult {
			t.Helper()
			var page mcp.ListTasksResult
			must(t, there.Request(t.Context(), mcp.MethodTasksList, mcp.ListParams{Cursor: cursor}, &page))
			return page
		}
		var got []string
		var cursor *string
		for {
			page := list(cursor)
			for _, task := range page.Tasks {
				got = append(got, task.TaskID)
			}
			if cursor = page.NextCursor; cursor == nil {
				break
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("got %d tasks %v, want all %d in order", len(got), got, made)
		}

		first := list(nil)
		time.Sleep(time.Hour) // those of one server have expired
		if rest := list(nil); len(rest.Tasks) != made/2 || rest.Tasks[0].TaskID != want[1] {
			t.Errorf("got %d tasks, want those of the other server", len(rest.Tasks))
		}
		if rest := list(first.NextCursor); len(rest.Tasks) != (made-100)/2 {
			t.Errorf("behind a task that has expired: got %d tasks, want %d", len(rest.Tasks), (made-100)/2)
		}
	})
}
