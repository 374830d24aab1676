package definition_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// listings returns what each version of the server listed, the oldest first, as a host with other
// servers gets it.
func (r *recording) listings(t *testing.T, others map[string][]string) []host.Listing {
	t.Helper()
	var listings []host.Listing
	for _, v := range r.Versions {
		listings = append(listings, host.Listing{Surface: r.surface(t, v), Version: v.Version, Others: others})
	}
	return listings
}

// toolNames returns the names of the tools of the newest version of each server.
func toolNames(t *testing.T, all []*recording) map[string][]string {
	t.Helper()
	names := make(map[string][]string)
	for _, r := range all {
		for _, tool := range recorded[mcp.Tool](t, r, r.Versions[len(r.Versions)-1].Tools) {
			names[r.key()] = append(names[r.key()], tool.Name)
		}
	}
	return names
}

// without returns the names of the tools of the servers except one.
func without(names map[string][]string, key string) map[string][]string {
	names = maps.Clone(names)
	delete(names, key)
	return names
}

// key is the name that a user gives to the server.
func (r *recording) key() string {
	key := fileOf(r.Package)
	for _, word := range []string{"modelcontextprotocol-server-", "-mcp-server", "mcp-server-", "-mcp", "mcp-"} {
		key = strings.ReplaceAll(key, word, "")
	}
	return strings.Trim(key, "-")
}

// upstream is the server at one version.
func (r *recording) upstream(version string, trust host.Trust) *host.Upstream {
	return &host.Upstream{Key: r.key(), Target: mcpclient.Command("npx", "-y", r.Package+"@"+version), Settings: host.Settings{Trust: trust}}
}

// replay lets a host with an approved server see all its versions, one after the other. It
// returns how many questions it asks, of which there is at most one for each version.
func (r *recording) replay(t *testing.T, trust host.Trust, listings []host.Listing) (questions int) {
	t.Helper()
	s := newStore()
	for i, l := range listings {
		u := r.upstream(r.Versions[i].Version, trust)
		asked := 0
		for range 3 {
			if _, waits := shown(t, s, u, l); len(waits) == 0 {
				break
			}
			asked++
			approve(t, s, u)
		}
		slices.Reverse(l.Tools) // the order of pages does not count
		slices.Reverse(l.Prompts)
		if kept, waits := shown(t, s, u, l); len(waits) > 0 || len(kept) != number(&l.Surface) {
			t.Errorf("%s@%s: got %q waiting, %d shown, want all shown", r.Package, l.Version, waits, len(kept))
		}
		unchanged := i > 0 && equalLists(&l.Surface, &listings[i-1].Surface)
		if first := i == 0 && trust == host.TrustBaseline; asked > 1 || asked > 0 && (first || unchanged) {
			t.Errorf("%s@%s: got %d questions", r.Package, l.Version, asked)
		}
		questions += asked
	}
	return questions
}

func number(s *mcp.Surface) int {
	n := len(s.Tools) + len(s.Prompts) + len(s.Templates)
	if s.Instructions != "" {
		n++
	}
	return n
}

func equalLists(a, b *mcp.Surface) bool {
	one, errOne := a.Fingerprint()
	other, errOther := b.Fingerprint()
	return errOne == nil && errOther == nil && one == other
}

// TestVersionsOfNPMServersAskOnceAtMost replays the recorded versions of npm servers: each
// asks one question at most.
func TestVersionsOfNPMServersAskOnceAtMost(t *testing.T) {
	t.Parallel()
	recordings := readRecordings(t)
	names := toolNames(t, recordings)
	versions, questions, first := 0, 0, 0
	for _, r := range recordings {
		if len(r.Versions) != recordedVersions {
			t.Errorf("%s: got %d recorded versions, want %d", r.Package, len(r.Versions), recordedVersions)
		}
		versions += len(r.Versions)
		listings := r.listings(t, without(names, r.key()))
		questions += r.replay(t, host.TrustBaseline, listings)
		first += r.replay(t, host.TrustAsk, listings[:1])
	}
	if len(recordings) != recordedServers || first != recordedServers {
		t.Errorf("got %d servers with %d first questions, want %d servers with one each", len(recordings), first, recordedServers)
	}
	t.Attr("verdict", fmt.Sprintf("definitions: %d versions of %d npm servers, %d questions", versions, len(recordings), questions))
}

// suspicious are the npm servers whose definitions have findings, as they are recorded. Each
// was read: none is an attack. A longer list means that the scanner has become less precise.
var suspicious = []string{
	// "reads filePath from the MCP server filesystem": the file system of the server.
	`firecrawl-mcp: tool firecrawl_parse: it names the server "filesystem" or imitates it`,
	// "connects to playwright-mcp server", which it does, with actions that have the names of tools.
	`next-devtools-mcp: tool browser_eval: it names the server "playwright" or imitates it; ` +
		`it names a tool of the server "chrome-devtools": "fill_form"; it names a tool of the server "chrome-devtools": "upload_file"`,
}

func TestFewDefinitionsOfNPMServersHaveFindings(t *testing.T) {
	t.Parallel()
	recordings := readRecordings(t)
	names := toolNames(t, recordings)
	definitions := 0
	var got []string
	for _, r := range recordings {
		definitions += len(r.Definitions)
		s := newStore() // the scanner searches each definition once
		for i, l := range r.listings(t, without(names, r.key())) {
			a, err := s.Filter(t.Context(), r.upstream(r.Versions[i].Version, host.TrustAuto), l)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range a.Waiting {
				text := fmt.Sprintf("%s: %s %s: %s", r.Package, w.Kind, w.Name, strings.Join(w.Findings, "; "))
				if !slices.Contains(got, text) {
					got = append(got, text)
				}
			}
		}
	}
	if !slices.Equal(got, suspicious) {
		t.Errorf("got findings in %d of %d definitions of %d servers:\n%s", len(got), definitions, len(recordings), strings.Join(got, "\n"))
	}
	t.Attr("verdict", fmt.Sprintf("scanner: findings in %d of %d definitions of %d npm servers", len(got), definitions, len(recordings)))
}
