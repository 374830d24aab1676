package files_test

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpext/files"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// made is when the files of a test were modified, unless it says otherwise.
var made = time.Date(2025, 1, 12, 15, 0, 58, 0, time.UTC)

// site is a directory that a test serves, beside a file that it does not.
type site struct {
	t    *testing.T
	dir  string
	root *os.Root
}

// newSite makes files of the given names, which hold their own name; a name with
// a slash at its end is a directory.
func newSite(t *testing.T, names ...string) *site {
	t.Helper()
	above := t.TempDir()
	s := &site{t: t, dir: filepath.Join(above, "served")}
	s.must(os.WriteFile(filepath.Join(above, "secret"), []byte("secret"), 0o600))
	s.must(os.WriteFile(filepath.Join(above, "served-too.txt"), []byte("secret"), 0o600))
	s.must(os.Mkdir(s.dir, 0o700))
	for _, name := range names {
		s.write(name, name)
	}
	root, err := os.OpenRoot(s.dir)
	s.must(err)
	t.Cleanup(func() { _ = root.Close() })
	s.root = root
	return s
}

func (s *site) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *site) write(name, data string) {
	s.t.Helper()
	if strings.HasSuffix(name, "/") {
		s.must(os.MkdirAll(s.path(name), 0o700))
	} else {
		s.must(os.MkdirAll(filepath.Dir(s.path(name)), 0o700))
		s.must(os.WriteFile(s.path(name), []byte(data), 0o600))
	}
	s.date(made)
}

// date sets the time of everything.
func (s *site) date(when time.Time) {
	s.t.Helper()
	s.must(filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chtimes(path, when, when)
	}))
}

// link makes a symbolic link, which not every system permits.
func (s *site) link(target, name string) {
	s.t.Helper()
	if err := os.Symlink(filepath.FromSlash(target), s.path(name)); err != nil {
		s.t.Skipf("no symbolic links here: %v", err)
	}
}

func (s *site) serve(o *files.Options, opts ...mcpserver.ResourceOption) (*mcpserver.Server, *files.Files) {
	s.t.Helper()
	srv := newServer()
	served, err := files.Serve(srv, "file:///docs/", s.root, o, opts...)
	s.must(err)
	return srv, served
}

// listedURIs returns what is listed, without the base.
func (w *wire) listedURIs() string {
	w.T.Helper()
	var uris []string
	for _, r := range decoded[[]mcp.Resource](w.T, jsontext.Value(at(w.T, w.Must("resources/list", ""), "/resources"))) {
		uris = append(uris, strings.TrimPrefix(r.URI, "file:///docs/"))
	}
	return strings.Join(uris, " ")
}

// readFile reads below the base and returns the contents.
func (w *wire) readFile(uri string) jsontext.Value {
	w.T.Helper()
	return jsontext.Value(at(w.T, w.Must("resources/read", fmt.Sprintf(`{"uri":%q}`, "file:///docs/"+uri)), "/contents/0"))
}

func (w *wire) missingFile(uri string) {
	w.T.Helper()
	code := -32002
	if isModern(w.Revision) {
		code = -32602
	}
	err := w.Refused("resources/read", fmt.Sprintf(`{"uri":%q}`, "file:///docs/"+uri), code)
	if !strings.HasSuffix(err.Message, "not found") {
		w.T.Errorf("%s: got %q, want that it is not found", uri, err.Message)
	}
}

func TestFilesAreListedAndReadAsResources(t *testing.T) {
	claim.Shows(t, "R-229a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t, "a.md", "dir/b c%.txt", "dir/é.json", ".hidden", ".git/config")
		srv, _ := s.serve(nil)
		w := dial(t, srv, r)
		same(t, jsontext.Value(at(t, w.Must("resources/list", ""), "/resources")), `[
			{"uri":"file:///docs/","name":"docs","mimeType":"inode/directory","annotations":{"lastModified":"2025-01-12T15:00:58Z"}},
			{"uri":"file:///docs/a.md","name":"a.md","mimeType":"text/markdown","size":4,"annotations":{"lastModified":"2025-01-12T15:00:58Z"}},
			{"uri":"file:///docs/dir/","name":"dir","mimeType":"inode/directory","annotations":{"lastModified":"2025-01-12T15:00:58Z"}},
			{"uri":"file:///docs/dir/%C3%A9.json","name":"dir/é.json","mimeType":"application/json","size":11,"annotations":{"lastModified":"2025-01-12T15:00:58Z"}},
			{"uri":"file:///docs/dir/b%20c%25.txt","name":"dir/b c%.txt","mimeType":"text/plain","size":12,"annotations":{"lastModified":"2025-01-12T15:00:58Z"}}]`)
		same(t, jsontext.Value(at(t, w.Must("resources/templates/list", ""), "/resourceTemplates/0/uriTemplate")), `"file:///docs/{+path}"`)
		for _, test := range []struct{ uri, want string }{
			{"a.md", `{"uri":"file:///docs/a.md","mimeType":"text/markdown","text":"a.md"}`},
			{"dir/b%20c%25.txt", `{"uri":"file:///docs/dir/b%20c%25.txt","mimeType":"text/plain","text":"dir/b c%.txt"}`},
			{"dir/%C3%A9.json", `{"uri":"file:///docs/dir/%C3%A9.json","mimeType":"application/json","text":"dir/é.json"}`},
			{"dir/", `{"uri":"file:///docs/dir/","mimeType":"inode/directory","text":"file:///docs/dir/b%20c%25.txt\nfile:///docs/dir/%C3%A9.json\n"}`},
			{"", `{"uri":"file:///docs/","mimeType":"inode/directory","text":"file:///docs/a.md\nfile:///docs/dir/\n"}`},
			// Other spellings of the same.
			{"dir", `{"uri":"file:///docs/dir/","mimeType":"inode/directory","text":"file:///docs/dir/b%20c%25.txt\nfile:///docs/dir/%C3%A9.json\n"}`},
			{"%61.md", `{"uri":"file:///docs/a.md","mimeType":"text/markdown","text":"a.md"}`},
			{"dir/é.json", `{"uri":"file:///docs/dir/%C3%A9.json","mimeType":"application/json","text":"dir/é.json"}`},
		} {
			same(t, w.readFile(test.uri), test.want)
		}
	})
}

func TestTypeFollowsTheNameOrElseTheContents(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t)
		for name, data := range map[string]string{
			"plain": "some text", "html": "<!doctype html><p>", "png": "\x89PNG\x0d\x0a\x1a\x0a", "bytes": "\x00\x01", "empty": "",
			"a.ts": "let x = 1", "a.yaml": "x: 1", "a.TXT": "upper", "broken.txt": "\xff\xfe", "a.png": "\x89PNG\x0d\x0a\x1a\x0a", "a.strange-extension": "text",
		} {
			s.write(name, data)
		}
		srv, _ := s.serve(nil)
		w := dial(t, srv, r)
		for _, test := range []struct{ uri, want string }{
			{"plain", `"mimeType":"text/plain","text":"some text"`},
			{"html", `"mimeType":"text/html","text":"<!doctype html><p>"`},
			{"png", `"mimeType":"image/png","blob":"iVBORw0KGgo="`},
			{"bytes", `"mimeType":"application/octet-stream","blob":"AAE="`},
			{"empty", `"mimeType":"text/plain","text":""`},
			{"a.ts", `"mimeType":"text/x-typescript","text":"let x = 1"`},
			{"a.yaml", `"mimeType":"application/yaml","text":"x: 1"`},
			{"a.TXT", `"mimeType":"text/plain","text":"upper"`},
			{"broken.txt", `"mimeType":"text/plain","blob":"//4="`},
			{"a.png", `"mimeType":"image/png","blob":"iVBORw0KGgo="`},
			{"a.strange-extension", `"mimeType":"text/plain","text":"text"`},
		} {
			same(t, w.readFile(test.uri), `{"uri":"file:///docs/`+test.uri+`",`+test.want+`}`)
		}
	})
}

func TestNothingOutsideOfTheRootIsRead(t *testing.T) {
	claim.Shows(t, "R-233")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t, "a.txt", "dir/b.txt", ".hidden", ".git/config")
		srv, _ := s.serve(nil)
		w := dial(t, srv, r)
		for _, uri := range []string{
			"../secret", "..", "../", "dir/../../secret", "dir/../a.txt", "./a.txt", "dir/./b.txt", "dir//b.txt", "/a.txt", "//a.txt",
			"%2e%2e/secret", "%2E%2E%2Fsecret", "..%2fsecret", "dir%2Fb.txt", "..%5Csecret", "..\\\\secret", "%2e",
			"../served-too.txt", "-too.txt", "/etc/passwd", "%2Fetc%2Fpasswd", "C:%5Cwindows", "dir/..%00/a.txt", "a.txt%00", "a.txt%00.md",
			"a.txt/", "a.txt/b", "a.txt?x=1", "a.txt#x", "%zz", "a%", "%ff", "missing", "missing/", strings.Repeat("x", 5000), strings.Repeat("x/", 5000),
			".hidden", ".git/", ".git/config", "dir/.b.txt", " a.txt", "a.txt%20",
		} {
			w.missingFile(uri)
		}
		w.missingFile("../docs/a.txt")
		same(t, w.readFile("a.txt"), `{"uri":"file:///docs/a.txt","mimeType":"text/plain","text":"a.txt"}`)
	})
}

func TestLinksResolveOnlyInsideOfTheRoot(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t, "a.txt", "dir/b.txt")
		s.link("a.txt", "link.txt")
		s.link("../a.txt", "dir/up.txt")
		s.link("dir", "linked")
		s.link("../secret", "escape.txt")
		s.link(filepath.Join(filepath.Dir(s.dir), "secret"), "absolute.txt")
		s.link("..", "above")
		s.link("/", "everything")
		s.link("loop", "loop")
		s.link("nowhere", "dangling")
		s.link(".", "dir/again")
		s.write("a.txt", "a.txt") // dates
		srv, _ := s.serve(nil)
		w := dial(t, srv, r)
		if got, want := w.listedURIs(), " a.txt dir/ dir/again/ dir/b.txt dir/up.txt link.txt linked/"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		for uri, text := range map[string]string{"link.txt": "a.txt", "dir/up.txt": "a.txt", "linked/b.txt": "dir/b.txt", "dir/again/again/b.txt": "dir/b.txt"} {
			if got := at(t, w.readFile(uri), "/text"); got != `"`+text+`"` {
				t.Errorf("%s: got %s, want %s", uri, got, text)
			}
		}
		for _, uri := range []string{"escape.txt", "absolute.txt", "above/", "above/secret", "everything/", "everything/etc/passwd", "loop", "dangling", "linked/../../secret"} {
			w.missingFile(uri)
		}
	})
}

func TestLinkReplacedDuringAReadStaysInsideTheRoot(t *testing.T) {
	t.Parallel()
	s := newSite(t, "inside.txt")
	s.link("inside.txt", "flip")
	srv, _ := s.serve(nil)
	w := dial(t, srv, mcp.V20251125)
	stop := make(chan struct{})
	var flipping sync.WaitGroup
	flipping.Go(func() {
		targets := []string{"inside.txt", "../secret"}
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Symlink(filepath.FromSlash(targets[i%2]), s.path("next"))
			_ = os.Rename(s.path("next"), s.path("flip"))
		}
	})
	for range 300 {
		m := w.Call("resources/read", `{"uri":"file:///docs/flip"}`)
		if strings.Contains(m.Raw, "secret") {
			t.Fatalf("got %s, want nothing from outside", m.Raw)
		}
	}
	close(stop)
	flipping.Wait()
}

func TestHiddenFilesAreServedOnRequest(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t, ".hidden", ".git/config")
		srv, _ := s.serve(&files.Options{Hidden: true})
		w := dial(t, srv, r)
		if got, want := w.listedURIs(), " .git/ .git/config .hidden"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		w.readFile(".git/config")
		for _, uri := range []string{".", "..", "../secret", ".git/../.hidden", ".git/./config"} {
			w.missingFile(uri)
		}
	})
}

func TestFileIsReadUpToItsBound(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t)
		s.write("fits", "1234")
		s.write("not", "12345")
		srv, _ := s.serve(&files.Options{MaxSize: 4})
		w := dial(t, srv, r)
		w.readFile("fits")
		if err := w.Refused("resources/read", `{"uri":"file:///docs/not"}`, -32603); !strings.Contains(err.Message, "file:///docs/not") || !strings.Contains(err.Message, "the limit is 4") {
			t.Errorf("got %q, want the name and the limit", err.Message)
		}
	})
}

func TestListIsBoundedNearestFirst(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t, "b/x", "b/y", "a/x", "a/deep/er", "c", "d")
		for _, test := range []struct {
			most int
			want string
		}{
			{1, ""}, {3, " a/ b/"}, {5, " a/ b/ c d"}, {6, " a/ a/deep/ b/ c d"}, {8, " a/ a/deep/ a/x b/ b/x c d"}, {100, " a/ a/deep/ a/deep/er a/x b/ b/x b/y c d"},
		} {
			srv, _ := s.serve(&files.Options{MaxListed: test.most})
			if got := dial(t, srv, r).listedURIs(); got != test.want {
				t.Errorf("%d: got %q, want %q", test.most, got, test.want)
			}
		}
		srv, _ := s.serve(&files.Options{MaxListed: 3})
		w := dial(t, srv, r)
		if got, want := at(t, w.readFile(""), "/text"), `"file:///docs/a/\nfile:///docs/b/\nfile:///docs/c\n(1 more are not listed)\n"`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		w.readFile("b/y")
	})
}

func TestManyFilesOfOneDirectoryAreListedInOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for i := range 1300 { // more than are read at once
		s.must(os.WriteFile(s.path(fmt.Sprintf("f%04d", i)), nil, 0o600))
	}
	srv, _ := s.serve(&files.Options{MaxListed: 100})
	w := dial(t, srv, mcp.V20251125)
	uris := strings.Fields(w.listedURIs())
	if len(uris) != 99 || uris[0] != "f0000" || uris[98] != "f0098" || !slices.IsSorted(uris) {
		t.Errorf("got %d from %s to %s, want f0000 to f0098 besides the root", len(uris), uris[0], uris[len(uris)-1])
	}
	lines := strings.Split(decoded[string](t, jsontext.Value(at(t, w.readFile(""), "/text"))), "\n")
	if len(lines) != 102 || lines[99] != "file:///docs/f0099" || lines[100] != "(1200 more are not listed)" {
		t.Errorf("got %d lines, at last %q, want 100 and the number of the others", len(lines), lines[len(lines)-2])
	}
}

func TestFileThatIsNotListedYetIsRead(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t, "a.txt")
		srv, _ := s.serve(nil)
		w := dial(t, srv, r)
		s.write("new.txt", "new")
		same(t, w.readFile("new.txt"), `{"uri":"file:///docs/new.txt","mimeType":"text/plain","text":"new"}`)
		s.must(os.Remove(s.path("a.txt")))
		w.missingFile("a.txt")
	})
}

func TestRescanAnnouncesWhatCameWentAndWasModified(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t, "same.txt", "gone.txt", "dir/old.txt")
		srv, served := s.serve(nil)
		w, reader := dial(t, srv, r), dial(t, srv, r)
		watchLists(w)
		watch(reader, "file:///docs/dir/old.txt")
		watch(reader, "file:///docs/same.txt")
		s.must(served.Rescan())
		w.Quiet()

		s.must(os.Remove(s.path("gone.txt")))
		s.write("dir/new.txt", "new")
		s.must(os.WriteFile(s.path("dir/old.txt"), []byte("longer than before"), 0o600))
		s.date(made)
		s.must(served.Rescan())
		w.Notification("notifications/resources/list_changed")
		w.Quiet()
		if got := reader.updatedFile(); got != "dir/old.txt" {
			t.Errorf("got %s, want the one whose size has changed", got)
		}
		if got, want := w.listedURIs(), " dir/ dir/new.txt dir/old.txt same.txt"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}

		s.must(os.Chtimes(s.path("dir/old.txt"), made, made.Add(time.Millisecond)))
		s.must(served.Rescan())
		w.Quiet() // the list tells seconds
		if got := reader.updatedFile(); got != "dir/old.txt" {
			t.Errorf("got %s, want the one whose time has changed", got)
		}
		w.drainHeld()
		w.Quiet()
		reader.drainHeld()
		reader.Quiet()
	})
}

// updatedFile returns which file an update is about, after notifications of lists.
func (w *wire) updatedFile() string {
	w.T.Helper()
	m := w.Read()
	for m.Method == "notifications/resources/list_changed" {
		m = w.Read()
	}
	return strings.Trim(strings.TrimPrefix(at(w.T, m.Params, "/uri"), `"file:///docs/`), `"`)
}

// drainHeld forgets what has come, in fake time.
func (w *wire) drainHeld() {
	w.T.Helper()
	time.Sleep(time.Second)
	w.Must("resources/list", "")
	w.Held = nil
}

func TestRescansAtOnceEndWithTheLatest(t *testing.T) {
	t.Parallel()
	s := newSite(t, "a")
	srv, served := s.serve(nil)
	w := dial(t, srv, mcp.V20251125)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 5 {
				s.must(os.WriteFile(s.path(fmt.Sprint("f", i, k)), nil, 0o600))
				if err := served.Rescan(); err != nil {
					t.Errorf("got %v, want nil", err)
				}
			}
		})
	}
	for range 20 {
		w.listedURIs()
		w.readFile("a")
	}
	all.Wait()
	if got := len(strings.Fields(w.listedURIs())); got != 41 {
		t.Errorf("got %d, want all 41", got)
	}
}

func TestResourceOfTheAuthorIsNotReplaced(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t, "a.txt", "b.txt")
		srv := newServer()
		srv.Resource("file:///docs/a.txt", "own", "", func(context.Context) ([]byte, error) { return []byte("own"), nil })
		served, err := files.Serve(srv, "file:///docs/", s.root, nil)
		s.must(err)
		w := dial(t, srv, r)
		for range 2 {
			if got := at(t, w.readFile("a.txt"), "/text"); got != `"own"` {
				t.Errorf("got %s, want the author's", got)
			}
			s.must(os.RemoveAll(s.path("a.txt")))
			s.must(served.Rescan())
		}
		if got, want := w.listedURIs(), " a.txt b.txt"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestOptionsApplyToEveryFile(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t, "a.txt")
		srv, _ := s.serve(nil, hidden())
		w := dial(t, srv, r)
		if got := at(t, w.Must("resources/list", ""), "/resources") + at(t, w.Must("resources/templates/list", ""), "/resourceTemplates"); got != "[][]" {
			t.Errorf("got %s, want nothing", got)
		}
		for _, uri := range []string{"a.txt", "", "unlisted"} {
			w.missingFile(uri)
		}
	})
}

func TestPathsAreCompleted(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		s := newSite(t, "guide/one two.md", "guide/three.md", "readme.md")
		srv, served := s.serve(nil)
		w := dial(t, srv, r)
		complete := func(typed string) string {
			return at(t, w.Must("completion/complete",
				fmt.Sprintf(`{"ref":{"type":"ref/resource","uri":"file:///docs/{+path}"},"argument":{"name":"path","value":%q}}`, typed)), "/completion/values")
		}
		if got, want := complete("gui"), `["guide/","guide/one two.md","guide/three.md"]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		s.write("guide/four.md", "")
		s.must(served.Rescan())
		if got, want := complete("guide/f"), `["guide/four.md"]`; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	})
}

func TestRootThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	s := newSite(t, "a.txt")
	_, served := s.serve(nil)
	s.must(s.root.Close())
	if err := served.Rescan(); !errors.Is(err, fs.ErrClosed) || !strings.HasPrefix(err.Error(), `files "file:///docs/": `) {
		t.Errorf("got %v, want that the root is closed", err)
	}
	if _, err := files.Serve(newServer(), "file:///docs/", s.root, nil); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("got %v, want that the root is closed", err)
	}
}

func TestReadOfAClosedRootIsPrivate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "a.txt")
		srv, _ := s.serve(nil)
		s.must(s.root.Close())
		err := dial(t, srv, mcp.V20251125).Refused("resources/read", `{"uri":"file:///docs/a.txt"}`, -32603)
		if !strings.Contains(err.Message, "incident ") || strings.Contains(err.Message, "closed") {
			t.Errorf("got %q, want the id of an incident alone", err.Message)
		}
	})
}

func TestBadBasePanicsWithWhatToWrite(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, test := range []struct{ base, want string }{
		{"docs/", "want a scheme"},
		{"file:///docs", "ends with a slash"},
		{"file:///docs/?x/", "want a scheme, and a path"},
		{"file:///docs/#x/", "want a scheme, and a path"},
		{"file:///my docs/", "file:///my%20docs/"},
		{"file:///{docs}/", "file:///%7Bdocs%7D/"},
		{"mailto:docs/", "want a scheme, and a path"},
		{"%zz", "invalid URL escape"},
		{"", "want a scheme"},
	} {
		text := panicText(t, func() { _, _ = files.Serve(newServer(), test.base, s.root, nil) })
		if !strings.HasPrefix(text, fmt.Sprintf("files %q: ", test.base)) || !strings.Contains(text, test.want) {
			t.Errorf("%q: got %q, want %q in it", test.base, text, test.want)
		}
	}
	srv, _ := s.serve(nil)
	if text := panicText(t, func() { _, _ = files.Serve(srv, "file:///docs/", s.root, nil) }); !strings.Contains(text, "registered already") {
		t.Errorf("got %q, want that it is registered already", text)
	}
}

func TestSeveralDirectoriesSideBySide(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		one, other := newSite(t, "a"), newSite(t, "b")
		srv := newServer()
		for base, s := range map[string]*site{"file:///": one, "docs://manual/": other} {
			_, err := files.Serve(srv, base, s.root, nil)
			s.must(err)
		}
		w := dial(t, srv, r)
		for uri, name := range map[string]string{"file:///a": "a", "docs://manual/b": "b", "file:///": "/", "docs://manual/": "/"} {
			w.Must("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
			if list := string(w.Must("resources/list", "")); !strings.Contains(list, fmt.Sprintf(`"uri":%q,"name":%q`, uri, name)) {
				t.Errorf("got %s, want %s named %s", list, uri, name)
			}
		}
	})
}

func TestUnreadableDirectoryIsAnEntryWithoutEntries(t *testing.T) {
	t.Parallel()
	s := newSite(t, "closed/a", "open/b", "closed.txt")
	s.must(os.Chmod(s.path("closed"), 0))
	s.must(os.Chmod(s.path("closed.txt"), 0))
	t.Cleanup(func() { _ = os.Chmod(s.path("closed"), 0o700) })
	srv, _ := s.serve(nil)
	w := dial(t, srv, mcp.V20251125)
	want := " closed.txt closed/ open/ open/b"
	if os.Geteuid() == 0 { // who reads everything
		want = " closed.txt closed/ closed/a open/ open/b"
	}
	if got := w.listedURIs(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if os.Geteuid() == 0 {
		return
	}
	for _, uri := range []string{"closed/", "closed/a", "closed.txt"} {
		w.missingFile(uri)
	}
}

func TestFilesOfManyCallsAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, "a.txt", "dir/b.txt")
	srv, _ := s.serve(nil)
	var all sync.WaitGroup
	for range 8 {
		w := dial(t, srv, mcp.V20260728)
		all.Go(func() {
			for range 20 {
				for _, uri := range []string{"a.txt", "dir/", "dir/b.txt"} {
					if m := w.Call("resources/read", fmt.Sprintf(`{"uri":%q}`, "file:///docs/"+uri)); m.Error != nil {
						t.Errorf("got %s, want contents", m.Raw)
					}
				}
			}
		})
	}
	all.Wait()
}

// FuzzFileURI looks for a URI that reaches what lies beside the root.
func FuzzFileURI(f *testing.F) {
	for _, uri := range []string{"a.txt", "dir/b.txt", "../secret", "%2e%2e/secret", "..%2fsecret", "link/../secret", "dir/", "a.txt%00", "/etc/passwd", "é", "%ff", "?x"} {
		f.Add(uri)
	}
	dir := f.TempDir()
	for name, data := range map[string]string{"secret": "what nobody may read", "root/a.txt": "a", "root/dir/b.txt": "b"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(data), 0o600)); err != nil {
			f.Fatal(err)
		}
	}
	root, err := os.OpenRoot(filepath.Join(dir, "root"))
	if err != nil {
		f.Fatal(err)
	}
	defer root.Close()
	srv := newServer()
	if _, err := files.Serve(srv, "file:///docs/", root, &files.Options{Hidden: true}); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		if !utf8.ValidString(uri) {
			t.Skip("no string of JSON")
		}
		w := dial(t, srv, mcp.V20260728)
		quoted, err := jsontext.AppendQuote(nil, "file:///docs/"+uri)
		if err != nil {
			t.Fatal(err)
		}
		m := w.Call("resources/read", `{"uri":`+string(quoted)+`}`)
		if strings.Contains(m.Raw, "what nobody may read") || strings.Contains(m.Raw, "root:x:0") {
			t.Errorf("%q: got %s", uri, m.Raw)
		}
		if m.Error != nil && m.Error.Code != -32602 {
			t.Errorf("%q: got %s, want contents or that there are none", uri, m.Raw)
		}
	})
}
