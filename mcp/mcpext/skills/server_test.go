package skills_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/skills"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func raw(text string) jsontext.Value { return jsontext.Value(text) }

func TestSkillsOfATreeAreListedWithAllTheirFiles(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Revisions() {
		for _, pageSize := range []int{1, 50} {
			c, _ := serve(t, library(), &skills.Options{PageSize: pageSize}, v)
			var got []string
			for _, s := range list(t, c) {
				if err := s.Check(); err != nil {
					t.Errorf("%s: %v", s.URI, err)
				}
				line := s.URI + ":"
				for _, f := range s.Files.List {
					line += " " + strings.TrimPrefix(f.URI, "skill://")
				}
				got = append(got, line)
			}
			want := []string{
				"skill://acme/billing/refunds/SKILL.md: acme/billing/refunds/SKILL.md acme/billing/refunds/sub/SKILL.md",
				"skill://acme/billing/refunds/sub/SKILL.md: acme/billing/refunds/sub/SKILL.md",
				"skill://pdf/SKILL.md: pdf/SKILL.md pdf/references/FORMS.md pdf/references/a%20b%3Bc.png",
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: got\n%s\nwant\n%s", v, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

func TestEntryHasTheFrontmatterOfItsAuthorAndTheHintsOfTheServer(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, library(), nil, mcp.V20260728)
	var got struct {
		Skill struct {
			Frontmatter jsontext.Value `json:"frontmatter"`
		} `json:"skill"`
		TTLMs      *int64 `json:"ttlMs"`
		CacheScope string `json:"cacheScope"`
	}
	if err := c.Request(t.Context(), skills.MethodGet, map[string]string{"uri": pdfURI}, &got); err != nil {
		t.Fatal(err)
	}
	if want := `{"name":"pdf","description":"Fills forms","metadata":{"version":"2"}}`; string(got.Skill.Frontmatter) != want {
		t.Errorf("got frontmatter %s, want %s", got.Skill.Frontmatter, want)
	}
	s := get(t, c, pdfURI)
	if s.Name() != "pdf" || s.Description() != "Fills forms" {
		t.Errorf("got %q, %q", s.Name(), s.Description())
	}
	sum := sha256.Sum256([]byte("# Forms\n"))
	want := skills.File{URI: "skill://pdf/references/FORMS.md", Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: 8}
	if s.Files.List[1] != want {
		t.Errorf("got %+v, want %+v", s.Files.List[1], want)
	}
	if got.TTLMs == nil || got.CacheScope != "private" {
		t.Errorf("got ttlMs %v, cacheScope %q, want hints", got.TTLMs, got.CacheScope)
	}
}

func TestClientsNeedNotDeclareSkills(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("library", "1", &mcpserver.Options{Logger: quiet})
	if _, err := skills.Serve(srv, library(), nil); err != nil {
		t.Fatal(err)
	}
	mcptest.EachRevision(t, srv, func(t *testing.T, c *mcpclient.Client) {
		var page struct {
			Skills []skills.Skill `json:"skills"`
		}
		if err := c.Request(t.Context(), skills.MethodList, nil, &page); err != nil || len(page.Skills) != 3 {
			t.Errorf("got %d skills, %v, want 3", len(page.Skills), err)
		}
	})
}

func TestUnknownURIsAreInvalidParams(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, library(), nil, mcp.V20260728)
	for _, test := range []struct{ method, uri string }{
		{skills.MethodGet, "skill://none/SKILL.md"},
		{skills.MethodGet, "skill://pdf/references/FORMS.md"},
		{skills.MethodGet, "skill://pdf"},
		{skills.MethodGet, ""},
		{skills.MethodDirectoryRead, pdfURI},
		{skills.MethodDirectoryRead, "skill://pdf/"},
		{skills.MethodDirectoryRead, "skill://none"},
		{skills.MethodDirectoryRead, "skill://pdf/.git"},
		{mcp.MethodResourcesRead, "skill://pdf/../README.md"},
		{mcp.MethodResourcesRead, "skill://pdf/%2e%2e/README.md"},
		{mcp.MethodResourcesRead, "skill://README.md"},
		{mcp.MethodResourcesRead, "skill://pdf/.git/config"},
		{mcp.MethodResourcesRead, "skill://pdf//SKILL.md"},
		{mcp.MethodResourcesRead, "skill://pdf/SKILL.md/"},
		{mcp.MethodResourcesRead, "skill://acme/billing/notes.txt"},
	} {
		err := c.Request(t.Context(), test.method, map[string]string{"uri": test.uri}, nil)
		if e, ok := errors.AsType[*mcp.Error](err); !ok || e.Number != -32602 {
			t.Errorf("%s %q: got %v, want -32602", test.method, test.uri, err)
		}
	}
	if err := c.Request(t.Context(), skills.MethodList, map[string]string{"cursor": "?"}, nil); mcp.CodeOf(err) != mcp.CodeInvalidParams {
		t.Errorf("a cursor of nobody: got %v, want invalid params", err)
	}
}

func TestDirectoriesShowTheirChildren(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, library(), &skills.Options{PageSize: 1}, mcp.V20260728)
	for uri, want := range map[string]string{
		"skill://pdf":            "SKILL.md=text/markdown:pdf references=inode/directory:references",
		"skill://pdf/references": "FORMS.md=text/markdown:FORMS.md a%20b%3Bc.png=image/png:a b;c.png",
		"skill://acme":           "billing=inode/directory:billing",
		"skill://acme/billing":   "refunds=inode/directory:refunds",
	} {
		var got []string
		for r, err := range skills.Directory(t.Context(), c, uri) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, strings.TrimPrefix(r.URI, uri+"/")+"="+r.MIMEType+":"+r.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %s, want %s", uri, strings.Join(got, " "), want)
		}
	}
	r, err := c.ReadResource(t.Context(), "skill://acme/billing")
	if err != nil || r.Contents[0].Text != "skill://acme/billing/refunds\n" || r.Contents[0].MIMEType != "inode/directory" {
		t.Errorf("read: got %+v, %v", r, err)
	}
}

func TestManifestsAreListedAsResources(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, library(), nil, mcp.V20260728)
	var got []string
	for r, err := range c.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %q %s %d", r.URI, r.Name, r.Description, r.MIMEType, *r.Size))
	}
	if want := fmt.Sprintf(`skill://pdf/SKILL.md pdf "Fills forms" text/markdown %d`, len(pdfManifest)); len(got) != 3 || got[2] != want {
		t.Errorf("got %s, want three, the last %s", strings.Join(got, "\n"), want)
	}
}

func TestSkillsThatBreakTheRulesAreNotServed(t *testing.T) {
	t.Parallel()
	with := func(name, text string) fstest.MapFS { return fstest.MapFS{name: {Data: []byte(text)}} }
	many := with("x/SKILL.md", string(manifest("x")))
	for i := range skills.MaxFiles {
		many[fmt.Sprintf("x/%d", i)] = &fstest.MapFile{}
	}
	large := with("x/SKILL.md", string(manifest("x")))
	large["x/a"] = &fstest.MapFile{Data: make([]byte, skills.MaxBytes)}
	link := with("x/SKILL.md", string(manifest("x")))
	link["x/l"] = &fstest.MapFile{Data: []byte("/etc/passwd"), Mode: os.ModeSymlink}
	for name, test := range map[string]struct {
		tree fstest.MapFS
		want string
	}{
		"at the root":      {with("SKILL.md", string(manifest("x"))), "want it in a directory"},
		"another name":     {with("y/SKILL.md", string(manifest("x"))), `want the name "x"`},
		"a capital":        {with("X/SKILL.md", string(manifest("X"))), "lower-case"},
		"two hyphens":      {with("a--b/SKILL.md", string(manifest("a--b"))), "lower-case"},
		"no frontmatter":   {with("x/SKILL.md", "# x"), "want --- on the first line"},
		"no description":   {with("x/SKILL.md", "---\nname: x\n---\n"), "description: want one"},
		"without an end":   {with("x/SKILL.md", "---\nname: x\n"), "want a line --- at its end"},
		"endless":          {with("x/SKILL.md", "---\nname: x\ndescription: "+strings.Repeat("y\n ", 1<<20)+"\n---\n"), "within 65536 bytes"},
		"a reserved key":   {with("x/SKILL.md", "---\nname: x\ndescription: d\nmetadata:\n  io.modelcontextprotocol/k: v\n---\n"), "is reserved for the protocol"},
		"not UTF-8":        {with("x/SKILL.md", "---\nname: x\ndescription: \xff\n---\n"), "UTF-8"},
		"too many files":   {many, "has 513 files"},
		"too large":        {large, "more than 16777216 bytes"},
		"a symbolic link":  {link, "files and directories only"},
		"an odd authority": {with("a b/x/SKILL.md", string(manifest("x"))), "first name of the path"},
	} {
		_, err := skills.Serve(mcpserver.New("s", "1", nil), test.tree, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want one that says %q", name, err, test.want)
		}
	}
}

func TestModifiedFilesAreNotServedBeforeARescan(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	put("pdf/SKILL.md", pdfManifest)
	put("pdf/a.md", "old")
	put("gone/SKILL.md", string(manifest("gone")))
	put("secret", "password")
	c, s := serve(t, os.DirFS(root), nil, mcp.V20260728)
	before := get(t, c, pdfURI).Fingerprint()

	put("pdf/a.md", "new")
	if _, err := c.ReadResource(t.Context(), "skill://pdf/a.md"); err == nil || !strings.Contains(err.Error(), "was modified") {
		t.Errorf("a modified file: got %v, want it withheld", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(root, "pdf", "a.md")), os.Symlink(filepath.Join(root, "secret"), filepath.Join(root, "pdf", "a.md"))); err != nil {
		t.Fatal(err)
	}
	if r, err := c.ReadResource(t.Context(), "skill://pdf/a.md"); err == nil {
		t.Errorf("a link in place of a file: got %v, want it withheld", r)
	}
	if err := s.Rescan(); err == nil || len(list(t, c)) != 2 {
		t.Errorf("rescan with a link: got %v, want an error and all as it was", err)
	}
	if err := errors.Join(os.Remove(filepath.Join(root, "pdf", "a.md")), os.RemoveAll(filepath.Join(root, "gone"))); err != nil {
		t.Fatal(err)
	}
	put("pdf/a.md", "newer")
	if err := s.Rescan(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.ReadResource(t.Context(), "skill://gone/SKILL.md"); err == nil {
		t.Error("a skill that is gone is still served")
	}
	fresh := get(t, c, pdfURI)
	if fresh.Fingerprint() == before || fresh.Fingerprint() == "" {
		t.Error("the skill has changed and its fingerprint has not")
	}
	loaded, err := skills.Load(t.Context(), c, fresh)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := loaded.ReadFile(t.Context(), "a.md"); err != nil || string(got) != "newer" {
		t.Errorf("after the rescan: got %q, %v, want newer", got, err)
	}
}

func TestRescanReportsModifiedFiles(t *testing.T) {
	t.Parallel()
	tree := library()
	c, s := serve(t, tree, nil, mcp.V20260728)
	times := 0
	for uri, err := range c.Watch(t.Context(), pdfURI) {
		if err != nil || uri != pdfURI {
			t.Fatalf("got %q, %v, want %s", uri, err, pdfURI)
		}
		if times++; times == 2 {
			break
		}
		tree["pdf/SKILL.md"] = &fstest.MapFile{Data: []byte(pdfManifest + "More.\n")}
		if err := s.Rescan(); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := skills.Load(t.Context(), c, get(t, c, pdfURI)); err != nil || s.Text != pdfManifest+"More.\n" {
		t.Errorf("got %v, %v, want what there is now", s, err)
	}
}
