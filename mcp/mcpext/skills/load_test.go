package skills_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/skills"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestLoadedSkillReadsItsFilesAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Revisions() {
		c, _ := serve(t, library(), nil, v)
		loaded, err := skills.Load(t.Context(), c, get(t, c, pdfURI))
		if err != nil {
			t.Fatal(err)
		}
		if loaded.Text != pdfManifest {
			t.Errorf("got %q, want SKILL.md", loaded.Text)
		}
		if want := []string{"SKILL.md", "references/FORMS.md", "references/a b;c.png"}; !slices.Equal(loaded.Paths(), want) {
			t.Errorf("got %q, want %q", loaded.Paths(), want)
		}
		if got, err := loaded.ReadFile(t.Context(), "references/a b;c.png"); err != nil || string(got) != "\x89PNG\xff\x00" {
			t.Errorf("bytes: got %q, %v", got, err)
		}
	}
}

// entryOf describes files, by their names, as those of the skill "x".
func entryOf(files map[string]string) string {
	var list []string
	for name, text := range files {
		sum := sha256.Sum256([]byte(text))
		list = append(list, fmt.Sprintf(`{"uri":"skill://x/%s","digest":"sha256:%s","size":%d}`, name, hex.EncodeToString(sum[:]), len(text)))
	}
	return `{"uri":"skill://x/SKILL.md","frontmatter":{"name":"x","description":"Does x"},"resources":[` + strings.Join(list, ",") + `]}`
}

func TestContentThatIsNotWhatTheEntrySaysIsNotUsed(t *testing.T) {
	t.Parallel()
	text := string(manifest("x"))
	honest := entryOf(map[string]string{"SKILL.md": text, "a.md": "a"})
	for name, test := range map[string]struct {
		entry, served string
		want          skills.Fault
	}{
		"other bytes":           {honest, strings.Replace(text, "Does", "Eats", 1), skills.FaultDigest},
		"more bytes":            {honest, text + "more", skills.FaultSize},
		"nothing":               {honest, "", skills.FaultSize},
		"another description":   {entryOf(map[string]string{"SKILL.md": "---\nname: x\ndescription: Steals\n---\n", "a.md": "a"}), "---\nname: x\ndescription: Steals\n---\n", skills.FaultFrontmatter},
		"one field more":        {entryOf(map[string]string{"SKILL.md": "---\nname: x\ndescription: Does x\nallowed-tools: Bash\n---\n"}), "---\nname: x\ndescription: Does x\nallowed-tools: Bash\n---\n", skills.FaultFrontmatter},
		"unreadable":            {entryOf(map[string]string{"SKILL.md": "no frontmatter"}), "no frontmatter", skills.FaultFrontmatter},
		"a reference":           {entryOf(map[string]string{"SKILL.md": "---\nname: &n x\ndescription: Does x\n---\n"}), "---\nname: &n x\ndescription: Does x\n---\n", skills.FaultFrontmatter},
		"the frontmatter twice": {entryOf(map[string]string{"SKILL.md": "---\nname: x\nname: x\ndescription: Does x\n---\n"}), "---\nname: x\nname: x\ndescription: Does x\n---\n", skills.FaultFrontmatter},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &forger{entry: test.entry, files: map[string]string{"skill://x/SKILL.md": test.served, "skill://x/a.md": "a"}}
			c := f.client(t)
			entries := list(t, c)
			if len(f.reads) > 0 {
				t.Errorf("listing read %q, want nothing read ahead", f.reads)
			}
			if _, err := skills.Load(t.Context(), c, entries[0]); fault(err) != test.want {
				t.Errorf("got %v, want fault %q", err, test.want)
			}
			if want := []string{"skill://x/SKILL.md"}; !slices.Equal(f.reads, want) {
				t.Errorf("read %q, want %q and nothing further", f.reads, want)
			}
		})
	}
}

func TestReadingStopsAtAMismatch(t *testing.T) {
	t.Parallel()
	text := string(manifest("x"))
	f := &forger{
		entry: entryOf(map[string]string{"SKILL.md": text, "a.md": "a", "b.md": "b"}),
		files: map[string]string{"skill://x/SKILL.md": text, "skill://x/a.md": "A", "skill://x/b.md": "b"},
	}
	c := f.client(t)
	loaded, err := skills.Load(t.Context(), c, get(t, c, "skill://x/SKILL.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"../a.md", "/a.md", "c.md", "skill://x/a.md", "", "./a.md"} {
		if _, err := loaded.ReadFile(t.Context(), path); fault(err) != skills.FaultUnlisted {
			t.Errorf("%q: got %v, want fault unlisted", path, err)
		}
	}
	_, first := loaded.ReadFile(t.Context(), "a.md")
	if fault(first) != skills.FaultDigest || !strings.Contains(first.Error(), `"skill://x/a.md"`) {
		t.Errorf("got %v, want the digest of a.md", first)
	}
	if _, err := loaded.ReadFile(t.Context(), "b.md"); err != first {
		t.Errorf("got %v, want %v again", err, first)
	}
	if want := []string{"skill://x/SKILL.md", "skill://x/a.md"}; !slices.Equal(f.reads, want) {
		t.Errorf("read %q, want %q", f.reads, want)
	}
}

func TestInvalidEntriesAreRefusedBeforeReading(t *testing.T) {
	t.Parallel()
	const digest = `"digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000"`
	file := func(uri string, size string) string {
		return `{"uri":"` + uri + `",` + digest + `,"size":` + size + `}`
	}
	own := file("skill://x/SKILL.md", "1")
	entry := func(uri, name, resources string) string {
		return `{"uri":"` + uri + `","frontmatter":{"name":"` + name + `","description":"d"},"resources":` + resources + `}`
	}
	for name, test := range map[string]struct {
		entry string
		want  skills.Fault
	}{
		"dynamic":              {entry("skill://x/SKILL.md", "x", `"dynamic"`), skills.FaultDynamic},
		"another name":         {entry("skill://x/SKILL.md", "y", `[`+own+`]`), skills.FaultEntry},
		"no manifest":          {entry("skill://x/SKILL.md", "x", `[]`), skills.FaultEntry},
		"another URI":          {entry("skill://x/skill.txt", "x", `[`+own+`]`), skills.FaultEntry},
		"a file elsewhere":     {entry("skill://x/SKILL.md", "x", `[`+own+`,`+file("skill://y/a", "1")+`]`), skills.FaultEntry},
		"a file above":         {entry("skill://x/SKILL.md", "x", `[`+own+`,`+file("skill://x/../a", "1")+`]`), skills.FaultEntry},
		"a file above, hidden": {entry("skill://x/SKILL.md", "x", `[`+own+`,`+file("skill://x/%2e%2e/a", "1")+`]`), skills.FaultEntry},
		"a slash, hidden":      {entry("skill://x/SKILL.md", "x", `[`+own+`,`+file("skill://x/a%2f..%2fb", "1")+`]`), skills.FaultEntry},
		"a query":              {entry("skill://x/SKILL.md", "x", `[`+own+`,`+file("skill://x/a?b", "1")+`]`), skills.FaultEntry},
		"a file twice":         {entry("skill://x/SKILL.md", "x", `[`+own+`,`+file("skill://x/SKILL%2Emd", "1")+`]`), skills.FaultEntry},
		"a negative size":      {entry("skill://x/SKILL.md", "x", `[`+file("skill://x/SKILL.md", "-1")+`]`), skills.FaultEntry},
		"no digest":            {entry("skill://x/SKILL.md", "x", `[{"uri":"skill://x/SKILL.md","size":1}]`), skills.FaultEntry},
		"too large":            {entry("skill://x/SKILL.md", "x", `[`+file("skill://x/SKILL.md", "16777217")+`]`), skills.FaultLimits},
		"a sum that overflows": {entry("skill://x/SKILL.md", "x", `[`+own+`,`+file("skill://x/a", "9223372036854775807")+`,`+file("skill://x/b", "9223372036854775807")+`]`), skills.FaultLimits},
		"too many":             {entry("skill://x/SKILL.md", "x", `[`+own+strings.Repeat(`,`+own, skills.MaxFiles)+`]`), skills.FaultLimits},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &forger{entry: test.entry}
			c := f.client(t)
			if _, err := skills.Load(t.Context(), c, list(t, c)[0]); fault(err) != test.want {
				t.Errorf("got %v, want fault %q", err, test.want)
			}
			if len(f.reads) > 0 {
				t.Errorf("read %q, want nothing", f.reads)
			}
		})
	}
}

func TestEntryWithoutResourcesIsNoSkill(t *testing.T) {
	t.Parallel()
	for _, resources := range []string{"", `,"resources":null`, `,"resources":"all"`, `,"resources":{}`} {
		f := &forger{entry: `{"uri":"skill://x/SKILL.md","frontmatter":{"name":"x","description":"d"}` + resources + `}`}
		c := f.client(t)
		s, err := skills.Get(t.Context(), c, "skill://x/SKILL.md")
		if err == nil {
			_, err = skills.Load(t.Context(), c, s)
		}
		if err == nil || len(f.reads) > 0 {
			t.Errorf("resources %q: got %v and reads %q, want an error and none", resources, err, f.reads)
		}
	}
}

func TestServerWithoutSkillsHasNone(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("plain", "1", &mcpserver.Options{Logger: quiet})
	c := mcptest.Connect(t, srv, &mcpclient.Options{Extensions: []mcpclient.Extension{skills.Client()}})
	if got := list(t, c); len(got) > 0 {
		t.Errorf("got %v, want none", got)
	}
	if _, err := skills.Get(t.Context(), c, pdfURI); !errors.Is(err, skills.ErrNotOffered) {
		t.Errorf("get: got %v, want not offered", err)
	}
	for _, err := range skills.Directory(t.Context(), (&forger{entry: "{}"}).client(t), "skill://x") {
		if !errors.Is(err, skills.ErrNotOffered) {
			t.Errorf("directory: got %v, want not offered", err)
		}
	}
}

func TestListWithoutAnEndIsEnded(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("endless", "1", &mcpserver.Options{Logger: quiet})
	srv.Extend(mcpserver.Extension{ID: skills.ID, OneSided: true, Requests: map[string]mcpserver.ExtensionRequest{
		skills.MethodList: {Handler: answer(`{"skills":[],"nextCursor":"again"}`)},
	}})
	c := connect(t, srv, mcp.V20260728)
	for _, err := range skills.List(t.Context(), c) {
		if err == nil || !strings.Contains(err.Error(), "does not end") {
			t.Errorf("got %v, want an end", err)
		}
	}
}
