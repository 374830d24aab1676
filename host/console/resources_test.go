package console_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
)

func TestServerSuggestsArguments(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object"}`)
	b := enter(t, newConsole(t, s))
	for _, try := range []struct{ page, name, other, want, asked string }{
		{"try/prompt?name=air__plan", "/to", "/when", "/to", `complete {"ref":{"type":"ref/prompt","name":"air__plan"},"argument":{"name":"to","value":"O"},"context":{"arguments":{"when":"now"}}}`},
		{"try/template?uri=flight%3A%2F%2F%7Bnumber%7D", "/number", "/other", "/number", `complete {"ref":{"type":"ref/resource","uri":"flight://{number}"},"argument":{"name":"number","value":"O"}}`},
	} {
		s.did, s.completion = nil, &mcp.Completion{Values: []string{"Oslo", "<O>\u202e"}, HasMore: true}
		if page := b.get(try.page); !strings.Contains(page, "data-suggest") {
			t.Errorf("got %s, want a field with suggestions", page)
		}
		_, page := b.post(try.page, try.name, "O", try.other, "now", "suggest", try.name)
		if len(s.did) != 1 || s.did[0] != try.asked {
			t.Errorf("got %q, want %s", s.did, try.asked)
		}
		for _, want := range []string{`value="[&#34;` + try.want + `&#34;,&#34;Oslo&#34;]"`, `&lt;O&gt;\u202e</button>`, "and more", ">O</textarea>"} {
			if !strings.Contains(page, want) {
				t.Errorf("got %s, want %s", page, want)
			}
		}
		s.did = nil
		if _, page := b.post(try.page, try.name, "O", "take", `["`+try.want+`","Oslo"]`); !strings.Contains(page, ">Oslo</textarea>") || len(s.did) > 0 {
			t.Errorf("got %s, %q, want the suggestion in the form and nothing sent", page, s.did)
		}
		s.completion = new(mcp.Completion)
		if _, page := b.post(try.page, "suggest", try.name); !strings.Contains(page, "suggests nothing") {
			t.Errorf("got %s, want it said that there is none", page)
		}
	}
}

func TestResourceOfATemplateIsRead(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object"}`)
	b := enter(t, newConsole(t, s))
	const page = "try/template?uri=flight%3A%2F%2F%7Bnumber%7D"
	if _, body := b.post(page, "/number", "AZ 7"); len(s.did) != 1 || s.did[0] != "read flight://AZ%207" || !strings.Contains(body, "fondaco read flight://AZ%207") {
		t.Errorf("got %q, %s, want the resource", s.did, body)
	}
	if page := b.get(page); !strings.Contains(page, "<option selected>"+mcp.V20260728.String()) {
		t.Errorf("got %s, want the revisions to choose from", page)
	}
	if _, body := b.post(page, "/number", "7", "revision", "2025-06-18"); !strings.Contains(body, "Made by a client of 2025-06-18") {
		t.Errorf("got %s, want it read in the chosen revision", body)
	}
	if response, body := b.post("try/template?uri=other", "/number", "7"); response.StatusCode != http.StatusConflict || !strings.Contains(body, "no resource template") {
		t.Errorf("got %d, %s, want no template", response.StatusCode, body)
	}
}

func TestResourcesAreATreeByTheirURIs(t *testing.T) {
	t.Parallel()
	s := &source{}
	for _, uri := range []string{"file:///a/b/c.txt", "file:///a/b/d/e.txt", "note://one", "file:///a/b", "status:today", "https://x.example/", "a/b/c/d/e/f/g/h/i/j/k"} {
		s.surface.Resources = append(s.surface.Resources, mcp.Resource{URI: uri, Name: "name of " + uri})
	}
	b := enter(t, newConsole(t, s))
	page := b.get("try")
	for _, want := range []string{
		`<summary>file:///a/ <span class="dim">3</span></summary>`, `<summary>b/ <span class="dim">2</span></summary>`, `aria-label="Read file:///a/b/d/e.txt">d/e.txt</button>`,
		`aria-label="Read file:///a/b">b</button>`, `aria-label="Read note://one">note://one</button>`, `>status:today</button>`, `>https://x.example/</button>`, `value="a/b/c/d/e/f/g/h/i/j/k"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("got %s, want %s", page, want)
		}
	}
}

func TestListIsFilteredWithoutAScript(t *testing.T) {
	t.Parallel()
	s := tryHost(`{"type": "object"}`)
	for i := range 1000 {
		s.surface.Tools = append(s.surface.Tools, mcp.Tool{Name: fmt.Sprintf("library__tool_%03d", i), Description: "One of many"})
	}
	b := enter(t, newConsole(t, s))
	page := b.get("try?filter=MANY+tool_99")
	if got := strings.Count(page, "<li data-row>"); got != 10 || strings.Contains(page, "air/book") || !strings.Contains(page, `value="MANY tool_99"`) {
		t.Errorf("got %d rows, %.500s, want ten", got, page)
	}
	if page := b.get("try?filter=status"); !strings.Contains(page, "status://today") || strings.Contains(page, "flight://") {
		t.Errorf("got %s, want the resource alone", page)
	}
	if page := b.get("try?filter=nowhere"); !strings.Contains(page, "Nothing has these words") {
		t.Errorf("got %s, want it said", page)
	}
}

func TestWatchedResourceIsKeptCurrent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := tryHost(`{"type": "object"}`)
		s.updates = make(chan struct{})
		c := console.New(console.Options{Base: base, Source: s})
		defer c.Close()
		b := enter(t, c)
		response, _ := b.post("try/watch", "uri", "status://today")
		at := strings.TrimPrefix(response.Header.Get("Location"), b.path)
		synctest.Wait()
		if page := b.get(at); !strings.Contains(page, "Changes: 0") || !strings.Contains(page, ">read</pre>") || len(s.did) != 1 {
			t.Errorf("got %q, %s, want the content, read once", s.did, page)
		}
		if page := b.get("try"); !strings.Contains(page, at) {
			t.Errorf("got %s, want a link to what is watched", page)
		}
		for range 30 { // it is read once a second at most, and never less than after the last change
			s.updates <- struct{}{}
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if page := b.get(at); !strings.Contains(page, "Changes: 30, the last one at") || strings.Count(page, "<li>") != console.KeptUpdates || len(s.did) > 3 || len(s.did) < 2 {
			t.Errorf("got %d reads, %s, want the changes counted, and few reads", len(s.did), page)
		}
		if response, _ := b.post(at); response.StatusCode != http.StatusSeeOther || strings.Contains(b.get("try"), at) {
			t.Errorf("got %d, want the watch ended", response.StatusCode)
		}
		if response, _ := b.do(request(http.MethodGet, b.path+at, nil)); response.StatusCode != http.StatusConflict {
			t.Errorf("got %d, want the page gone", response.StatusCode)
		}
	})
}

func TestWatchesEnd(t *testing.T) {
	t.Parallel()
	claim.Limit(t, "resources that a session of the console watches; changes that a page has the times of; time between two reads of one", console.MaxWatches, console.KeptUpdates, console.RereadInterval)
	synctest.Test(t, func(t *testing.T) {
		s := tryHost(`{"type": "object"}`)
		watching := make(map[string]bool) // guarded by s.mu
		s.onWatch = func(ctx context.Context, uri string) {
			s.mu.Lock()
			watching[uri] = true
			s.mu.Unlock()
			<-ctx.Done()
			s.mu.Lock()
			delete(watching, uri)
			s.mu.Unlock()
		}
		count := func() int {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			return len(watching)
		}
		c := console.New(console.Options{Base: base, Source: s})
		b, other := enter(t, c), enter(t, c)
		for i := range console.MaxWatches + 3 {
			_, _ = b.post("try/watch", "uri", fmt.Sprint("a://", i))
		}
		_, _ = other.post("try/watch", "uri", "b://1")
		if got := count(); got != console.MaxWatches+1 || watching["a://0"] {
			t.Errorf("got %d, want the newest %d of a session, and one of the other", got, console.MaxWatches)
		}
		_, _ = b.post("logout")
		if got := count(); got != 1 {
			t.Errorf("got %d, want those of the session ended with it", got)
		}
		c.Close()
		if got := count(); got != 0 {
			t.Errorf("got %d, want all ended with the console", got)
		}
		_, _ = other.post("try/watch", "uri", "b://2")
		if got := count(); got != 0 {
			t.Errorf("got %d, want none begun after the end", got)
		}
	})
}

func TestWatchSaysWhyItHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := tryHost(`{"type": "object"}`)
		s.failure = fmt.Errorf("no subscriptions\u202e")
		c := console.New(console.Options{Base: base, Source: s})
		defer c.Close()
		b := enter(t, c)
		response, _ := b.post("try/watch", "uri", "status://today")
		synctest.Wait()
		if page := b.get(strings.TrimPrefix(response.Header.Get("Location"), b.path)); !strings.Contains(page, "not watched any more") || !strings.Contains(page, `no subscriptions\u202e`) {
			t.Errorf("got %s, want the reason", page)
		}
	})
}
