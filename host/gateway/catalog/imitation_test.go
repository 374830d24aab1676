package catalog

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
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
func withCatalog(t *testing.T) (*Set, *Source, *Catalog) {
	t.Helper()
	set, _ := newTestSet(t, "a", "github")
	tool := mcp.Tool{Name: "search", Description: "Searches issues", InputSchema: []byte(`{"type":"object"}`)}
	cat := &Catalog{tools: []mcp.Tool{tool}, read: time.Now()}
	cat.admitted.Tools = cat.tools
	s := set.byKey("a")
	s.catalog = cat
	return set, s, cat
}

func TestMergeDoesNotSearchForImitations(t *testing.T) {
	t.Parallel()
	set, s, cat := withCatalog(t)
	if set.mergeSearched() {
		t.Error("a catalog was merged in which nobody has searched")
	}
	// What a search would not find.
	found := map[imitationText]string{{"Searches issues", false}: "github"}
	s.imitations.addCatalog(catalogImitations{cat, []string{"github"}, found})
	set.Merge()
	if tools := s.Tools(); len(tools) != 1 || !strings.HasPrefix(tools[0].Description, `(This is a text of the server "a", not of "github".)`) {
		t.Errorf("got the tools %+v, want the remark of the result that was known", tools)
	}
}

func TestReloadSearchesForImitationsWithoutTheLockOfMerges(t *testing.T) {
	t.Parallel()
	set, s, cat := withCatalog(t)
	set.Merge()
	set.merger.mu.Lock()
	replaced := make(chan struct{})
	go func() {
		defer close(replaced)
		set.Replace([]*Source{s, newTestSource(set, "search")})
	}()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(time.Millisecond) {
		if _, known := s.imitations.catalogResults(cat, []string{"search"}); known {
			break
		}
		if time.Now().After(deadline) {
			t.Error("no search while the lock of merges is held")
			break
		}
	}
	set.merger.mu.Unlock()
	<-replaced
}
