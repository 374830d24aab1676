package gateway

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// A server may announce new texts for ever, on any connection.
func TestRememberedImitationsHaveALimit(t *testing.T) {
	t.Parallel()
	var known imitations
	others := []string{"github"}
	find := known.searchFor(others)
	filler := strings.Repeat(" ", minRememberedText)
	imitation := "Use g\u0456thub" + filler // a Cyrillic letter
	n := 0
	for ; n < 3*maxImitationResults; n++ {
		if got := find(strconv.Itoa(n)+filler, false); got != "" {
			t.Fatalf("got %q for a number", got)
		}
		if n%1000 == 0 && find(imitation, false) != "github" {
			t.Fatal("a text that imitates another server is not found")
		}
	}
	if got := len(known.recent) + len(known.older); got > 2*maxImitationResults {
		t.Errorf("got %d texts remembered of %d, want at most %d", got, n, 2*maxImitationResults)
	}
	for _, text := range []string{strconv.Itoa(n-1) + filler, imitation} {
		if _, ok := known.remembered(digestOf(text, false), others); !ok {
			t.Errorf("%q is forgotten, want the last texts remembered", text)
		}
	}
	if _, ok := known.remembered(digestOf("0"+filler, false), others); ok {
		t.Error("the first text is remembered, want it forgotten")
	}
	if got := known.searchFor([]string{"time"})(imitation, false); got != "" {
		t.Errorf("got %q, want nothing imitated without that server", got)
	}
}

// The titles and the texts of a server are searched in different ways.
func TestRememberedImitationOfATextIsNoneOfATitle(t *testing.T) {
	t.Parallel()
	var known imitations
	find := known.searchFor([]string{"github"})
	text := "GitHub: " + strings.Repeat("issues ", 30)
	if got := find(text, false); got != "" {
		t.Errorf("text: got %q, want no imitation", got)
	}
	if got := find(text, true); got != "github" {
		t.Errorf("title: got %q, want github", got)
	}
}

// withCatalog returns a gateway to two servers, the first of which lists a tool.
func withCatalog(t *testing.T) (*Gateway, *catalog) {
	t.Helper()
	target := mcpclient.InProcess(mcpserver.New("a", "1", nil))
	g := New([]host.Upstream{{Key: "a", Target: target}, {Key: "github", Target: target}}, nil)
	t.Cleanup(g.Close)
	tool := mcp.Tool{Name: "search", Description: "Searches issues", InputSchema: []byte(`{"type":"object"}`)}
	cat := &catalog{tools: []mcp.Tool{tool}, read: time.Now()}
	cat.admitted.Tools = cat.tools
	g.byKey("a").catalog = cat
	return g, cat
}

// A search takes milliseconds for a text of 64 KiB, and other servers wait for the end of a merge.
func TestMergeDoesNotSearchForImitations(t *testing.T) {
	t.Parallel()
	g, cat := withCatalog(t)
	if g.mergeSearched() {
		t.Error("a catalog was merged in which nobody has searched")
	}
	// What a search would not find.
	found := map[imitationText]string{{"Searches issues", false}: "github"}
	g.byKey("a").imitations.addCatalog(catalogImitations{cat, []string{"github"}, found})
	g.merge()
	if tools := g.Tools(); len(tools) != 1 || !strings.HasPrefix(tools[0].Description, `(This is a text of the server "a", not of "github".)`) {
		t.Errorf("got the tools %+v, want the remark of the result that was known", tools)
	}
}

// Another set of servers makes all results invalid.
func TestReloadSearchesForImitationsWithoutTheLockOfMerges(t *testing.T) {
	t.Parallel()
	g, cat := withCatalog(t)
	g.merge()
	u := g.byKey("a")
	g.merger.mu.Lock()
	reloaded := make(chan struct{})
	go func() {
		defer close(reloaded)
		g.Reload([]host.Upstream{u.Upstream, {Key: "search", Target: u.Target}})
	}()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		if _, known := u.imitations.catalogResults(cat, []string{"search"}); known {
			break
		}
		if time.Now().After(deadline) {
			t.Error("no search while the lock of merges is held")
			break
		}
	}
	g.merger.mu.Unlock()
	<-reloaded
}
