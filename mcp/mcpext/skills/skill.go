package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// ID is the identifier of the extension.
const ID = "io.modelcontextprotocol/skills"

// Methods of the extension.
const (
	MethodList          = "skills/list"
	MethodGet           = "skills/get"
	MethodDirectoryRead = "resources/directory/read"
)

// Limits of one skill that every host accepts: the number of files, including SKILL.md,
// and the bytes of all files together.
//
// Spec: ext-skills stable#limits
const (
	MaxFiles = 512
	MaxBytes = 16 << 20
)

// Manifest is the file that makes a directory a skill.
const Manifest = "SKILL.md"

// Skill is the entry of one skill: its metadata, which a client gets before it
// reads any file.
//
// Spec: ext-skills stable#skill-entries
type Skill struct {
	// URI is the URI of SKILL.md. Together with the server it identifies the skill.
	URI string `json:"uri"`
	// Frontmatter is the frontmatter of SKILL.md as a JSON object, with all its
	// fields.
	Frontmatter jsontext.Value `json:"frontmatter"`
	// Files are all files of the skill.
	Files Files `json:"resources"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// Files are the files of a skill. When they are Dynamic they are made as they are
// read, and nobody can say beforehand what is in them.
type Files struct {
	List    []File
	Dynamic bool
}

// File is one file of a skill.
type File struct {
	URI string `json:"uri"`
	// Digest is sha256: and the SHA-256 of the bytes, in 64 lower-case hex digits.
	Digest string `json:"digest"`
	// Size counts the bytes.
	Size int64 `json:"size"`
}

const dynamic = `"dynamic"`

// MarshalJSONTo writes the array, or the word for files that are dynamic.
func (f Files) MarshalJSONTo(enc *jsontext.Encoder) error {
	if f.Dynamic {
		return enc.WriteValue(jsontext.Value(dynamic))
	}
	return json.MarshalEncode(enc, f.List)
}

// UnmarshalJSONFrom wants an array or the word for files that are dynamic.
func (f *Files) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	*f = Files{Dynamic: string(raw) == dynamic}
	if !f.Dynamic && raw.Kind() != '[' {
		return fmt.Errorf("resources: want an array or %s", dynamic)
	}
	if f.Dynamic {
		return nil
	}
	return json.Unmarshal(raw, &f.List)
}

// Name returns the name of the skill. Several skills may have the same name.
func (s *Skill) Name() string { return s.field("name") }

// Description returns the author's description of the skill.
func (s *Skill) Description() string { return s.field("description") }

// field returns a string of the frontmatter, or "".
func (s *Skill) field(name string) string {
	var fields map[string]jsontext.Value
	var text string
	if json.Unmarshal(s.Frontmatter, &fields) != nil || json.Unmarshal(fields[name], &text) != nil {
		return ""
	}
	return text
}

// Fingerprint is the same for two entries when they have the same files with the
// same content, so that consent can be bound to it. It is empty for a skill whose
// files are dynamic, to which consent cannot be bound.
//
// Spec: ext-skills stable#security-considerations (content-bound approval)
func (s *Skill) Fingerprint() string {
	if s.Files.Dynamic {
		return ""
	}
	lines := []string{fmt.Sprintf("%q", s.URI)}
	for _, f := range s.Files.List {
		lines = append(lines, fmt.Sprintf("%q %q", f.URI, f.Digest))
	}
	slices.Sort(lines[1:])
	return digestOf([]byte(strings.Join(lines, "\n")))
}

// Check returns an error if the entry is invalid.
//
// Spec: ext-skills stable#resources
func (s *Skill) Check() error {
	if err := s.checkName(); err != nil {
		return err
	}
	if s.Files.Dynamic {
		return nil
	}
	_, err := s.paths()
	return err
}

func (s *Skill) checkName() error {
	root, ok := strings.CutSuffix(s.URI, "/"+Manifest)
	name := s.Name()
	switch {
	case !ok || !strings.Contains(root, "://"):
		return fmt.Errorf("uri: want one that ends with /%s", Manifest)
	case !isName(name):
		return errors.New("frontmatter: name: want 1 to 64 lower-case letters, digits and single hyphens between them")
	case s.Description() == "":
		return errors.New("frontmatter: description: want one")
	case root[strings.LastIndex(root, "/")+1:] != name:
		return fmt.Errorf("uri: want the name %q before /%s", name, Manifest)
	}
	return nil
}

// paths returns the files by their paths below the root of the skill.
func (s *Skill) paths() (map[string]File, error) {
	paths := make(map[string]File, len(s.Files.List))
	for _, f := range s.Files.List {
		p, ok := pathBelow(s.root(), f.URI)
		_, twice := paths[p]
		switch {
		case !ok:
			return nil, fmt.Errorf("resource %q: want a file below %s", f.URI, s.root())
		case twice:
			return nil, fmt.Errorf("resource %q: is there twice", f.URI)
		case !digestForm.MatchString(f.Digest):
			return nil, fmt.Errorf("resource %q: digest: want sha256: and 64 lower-case hex digits", f.URI)
		case f.Size < 0:
			return nil, fmt.Errorf("resource %q: size: want a number of bytes", f.URI)
		}
		paths[p] = f
	}
	if paths[Manifest].URI != s.URI {
		return nil, fmt.Errorf("resources: want %s among them", s.URI)
	}
	return paths, nil
}

// checkLimits refuses a skill that a host need not accept.
func (s *Skill) checkLimits() error {
	if n := len(s.Files.List); n > MaxFiles {
		return fmt.Errorf("has %d files, want at most %d", n, MaxFiles)
	}
	left := int64(MaxBytes)
	for _, f := range s.Files.List {
		if f.Size > left {
			return fmt.Errorf("has more than %d bytes", MaxBytes)
		}
		left -= f.Size
	}
	return nil
}

// root returns the URI of the directory of the skill.
func (s *Skill) root() string { return strings.TrimSuffix(s.URI, "/"+Manifest) }

var (
	digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	nameForm   = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
)

// isName follows the Agent Skills specification.
func isName(name string) bool { return len(name) <= 64 && nameForm.MatchString(name) }

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// pathBelow returns the path that a URI names below a root, and false when it
// names none: nothing climbs out.
func pathBelow(root, uri string) (string, bool) {
	rest, ok := strings.CutPrefix(uri, root+"/")
	if !ok || strings.ContainsAny(rest, "?#") {
		return "", false
	}
	segments := strings.Split(rest, "/")
	for i, s := range segments {
		name, err := url.PathUnescape(s)
		if err != nil || strings.ContainsAny(name, "/\\\x00") {
			return "", false
		}
		segments[i] = name
	}
	p := strings.Join(segments, "/")
	return p, p != "." && fs.ValidPath(p)
}
