package definition_test

import (
	"compress/gzip"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

// The recordings have so many servers, and so many versions of each.
const (
	recordedServers  = 20
	recordedVersions = 10
)

// recording is what the versions of a server listed, the oldest first.
type recording struct {
	Package  string            `json:"package"`
	Versions []recordedVersion `json:"versions"`
	// Definitions are those of all versions by digest.
	Definitions map[string]jsontext.Value `json:"definitions"`
}

type recordedVersion struct {
	Version      string   `json:"version"`
	Instructions string   `json:"instructions,omitzero"`
	Tools        []string `json:"tools,omitempty"`
	Prompts      []string `json:"prompts,omitempty"`
	Templates    []string `json:"templates,omitempty"`
}

// surface returns what a version listed.
func (r *recording) surface(t *testing.T, v recordedVersion) mcp.Surface {
	t.Helper()
	s := mcp.Surface{Instructions: v.Instructions}
	s.Tools = recorded[mcp.Tool](t, r, v.Tools)
	s.Prompts = recorded[mcp.Prompt](t, r, v.Prompts)
	s.Templates = recorded[mcp.ResourceTemplate](t, r, v.Templates)
	return s
}

func recorded[Def any](t *testing.T, r *recording, keys []string) []Def {
	t.Helper()
	defs := make([]Def, len(keys))
	for i, key := range keys {
		if err := json.Unmarshal(r.Definitions[key], &defs[i]); err != nil {
			t.Fatalf("%s: %s: %v", r.Package, key, err)
		}
	}
	return defs
}

// readRecordings returns the recordings of all servers.
func readRecordings(t *testing.T) []*recording {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "npm", "*.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	var all []*recording
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		unzipped, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(io.LimitReader(unzipped, 64<<20))
		_ = f.Close()
		r := new(recording)
		if err == nil {
			err = json.Unmarshal(text, r)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, r)
	}
	return all
}

// fileOf returns the name of the recording of an npm package.
func fileOf(pkg string) string { return strings.NewReplacer("@", "", "/", "-").Replace(pkg) }
