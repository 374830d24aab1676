package skills

import (
	"cmp"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp"
)

const scheme = "skill://"

const directoryType = "inode/directory"

// catalog is one immutable state of what is served.
type catalog struct {
	skills []*Skill                  // by URI
	files  map[string]servedFile     // by URI
	dirs   map[string][]mcp.Resource // the children of directories, by URI
}

// servedFile is one file at the time of the scan.
type servedFile struct {
	File
	path string
	def  mcp.Resource
}

// tree is the result of a walk.
type tree struct {
	fsys  fs.FS
	files []string        // regular files
	dirs  []string        // without the root
	odd   []string        // neither
	roots map[string]bool // directories of skills
}

// scan reads all skills below the root of a file system.
func scan(fsys fs.FS) (*catalog, error) {
	t := &tree{fsys: fsys, roots: make(map[string]bool)}
	if err := fs.WalkDir(fsys, ".", t.visit); err != nil {
		return nil, err
	}
	c := &catalog{files: make(map[string]servedFile), dirs: make(map[string][]mcp.Resource)}
	for _, p := range t.odd {
		if t.inSkill(p) {
			return nil, fmt.Errorf("%s: want files and directories only", p)
		}
	}
	for _, p := range t.files {
		if err := c.addFile(t, p); err != nil {
			return nil, fmt.Errorf("%s: %w", p, err)
		}
	}
	for _, p := range t.dirs {
		if t.inSkill(p) || t.leadsToSkill(p) {
			c.addDirectory(p)
		}
	}
	return c, c.finish()
}

// visit records the file or directory at a path. It leaves out names that begin with a
// dot.
func (t *tree) visit(p string, d fs.DirEntry, err error) error {
	hidden := p != "." && strings.HasPrefix(d.Name(), ".")
	switch {
	case err != nil:
		return err
	case hidden && d.IsDir():
		return fs.SkipDir
	case hidden || p == ".":
	case !utf8.ValidString(p):
		return fmt.Errorf("%q: want a name in UTF-8", p)
	case d.IsDir():
		t.dirs = append(t.dirs, p)
	case d.Type().IsRegular():
		t.files = append(t.files, p)
		if d.Name() == Manifest {
			t.roots[path.Dir(p)] = true
		}
	default:
		t.odd = append(t.odd, p)
	}
	return nil
}

// inSkill reports whether a path is that of a skill or below one.
func (t *tree) inSkill(p string) bool {
	for ; p != "."; p = path.Dir(p) {
		if t.roots[p] {
			return true
		}
	}
	return t.roots["."]
}

func (t *tree) leadsToSkill(dir string) bool {
	for root := range t.roots {
		if strings.HasPrefix(root, dir+"/") {
			return true
		}
	}
	return false
}

// addFile adds a file with its size and digest, for which it reads the file once.
func (c *catalog) addFile(t *tree, p string) error {
	if !t.inSkill(p) {
		return nil
	}
	data, err := read(t.fsys, p, MaxBytes)
	if err != nil {
		return err
	}
	uri := uriOf(p)
	f := servedFile{File: File{URI: uri, Digest: digestOf(data), Size: int64(len(data))}, path: p}
	f.def = mcp.Resource{URI: uri, Name: path.Base(p), MIMEType: typeOf(p, data), Size: new(f.Size)}
	if path.Base(p) == Manifest {
		skill, err := newSkill(p, data)
		if err != nil {
			return err
		}
		c.skills = append(c.skills, skill)
		f.def.Name, f.def.Description = skill.Name(), skill.Description()
	}
	c.files[uri] = f
	c.addChild(p, f.def)
	return nil
}

func (c *catalog) addDirectory(p string) {
	uri := uriOf(p)
	if c.dirs[uri] == nil {
		c.dirs[uri] = []mcp.Resource{}
	}
	c.addChild(p, mcp.Resource{URI: uri, Name: path.Base(p), MIMEType: directoryType})
}

func (c *catalog) addChild(p string, def mcp.Resource) {
	if dir := path.Dir(p); dir != "." {
		c.dirs[uriOf(dir)] = append(c.dirs[uriOf(dir)], def)
	}
}

var (
	firstSegment = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)
	errNoRoot    = errors.New("want it in a directory of the name of the skill")
)

// newSkill makes the entry of a skill, without its files.
func newSkill(p string, manifest []byte) (*Skill, error) {
	first, _, below := strings.Cut(p, "/")
	switch {
	case !below:
		return nil, errNoRoot
	case !firstSegment.MatchString(first):
		return nil, fmt.Errorf("%q: want letters, digits, '.', '_', '~' and '-' in the first name of the path", first)
	}
	fields, err := frontmatter(manifest)
	if err != nil {
		return nil, err
	}
	s := &Skill{URI: uriOf(p), Frontmatter: fields}
	if err := s.checkName(); err != nil {
		return nil, err
	}
	return s, checkReserved(fields)
}

// checkReserved returns an error for names that are reserved for the protocol.
//
// Spec: ext-skills stable#frontmatter
func checkReserved(fields []byte) error {
	var f struct {
		Metadata map[string]any `json:"metadata"`
	}
	if err := json.Unmarshal(fields, &f); err != nil {
		return fmt.Errorf("frontmatter: metadata: want a mapping")
	}
	for key := range f.Metadata {
		if strings.HasPrefix(key, "io.modelcontextprotocol/") {
			return fmt.Errorf("frontmatter: metadata: %q is reserved for the protocol", key)
		}
	}
	return nil
}

// finish adds to each skill its files, including those of skills inside of it, and sorts
// everything.
func (c *catalog) finish() error {
	files := slices.SortedFunc(maps.Values(c.files), func(a, b servedFile) int { return strings.Compare(a.URI, b.URI) })
	for _, s := range c.skills {
		for _, f := range files {
			if strings.HasPrefix(f.URI, s.root()+"/") {
				s.Files.List = append(s.Files.List, f.File)
			}
		}
		if err := s.checkLimits(); err != nil {
			return fmt.Errorf("%s: %w", s.URI, err)
		}
	}
	slices.SortFunc(c.skills, func(a, b *Skill) int { return strings.Compare(a.URI, b.URI) })
	for _, children := range c.dirs {
		slices.SortFunc(children, func(a, b mcp.Resource) int { return strings.Compare(a.URI, b.URI) })
	}
	return nil
}

// skill returns the skill of a URI, or nil.
func (c *catalog) skill(uri string) *Skill {
	i, ok := slices.BinarySearchFunc(c.skills, uri, func(s *Skill, uri string) int { return strings.Compare(s.URI, uri) })
	if !ok {
		return nil
	}
	return c.skills[i]
}

// uriOf returns the URI of a path.
func uriOf(p string) string {
	segments := strings.Split(p, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return scheme + strings.Join(segments, "/")
}

// read reads a regular file of at most limit bytes.
func read(fsys fs.FS, p string, limit int64) ([]byte, error) {
	f, err := fsys.Open(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("want a file")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("found a larger file, want at most %d bytes", limit)
	}
	return data, err
}

// typeOf returns the MIME type of a file. For common types of files of skills, it does not
// depend on the configuration of the system.
func typeOf(p string, data []byte) string {
	ext := strings.ToLower(path.Ext(p))
	if ext == ".md" {
		return "text/markdown"
	}
	known, _, _ := strings.Cut(mime.TypeByExtension(ext), ";")
	otherwise := "text/plain"
	if !utf8.Valid(data) {
		otherwise = "application/octet-stream"
	}
	return cmp.Or(known, otherwise)
}
