package api_test

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/fondaco/fondaco/"

// A listed package is what go list tells about one.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	Export          string // the file with the compiler's description of the package
}

func (p listed) isPublic() bool {
	return strings.HasPrefix(p.ImportPath+"/", module+"mcp/") && !strings.Contains(p.ImportPath, "/internal/")
}

// name is the name of the package's record: the import path below mcp/.
func (p listed) name() string {
	below := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "mcp/")
	return strings.ReplaceAll(below, "/", "-")
}

// publicPackages returns the packages that users of the SDK may import, by the
// name of their record.
func publicPackages(t *testing.T) map[string]*types.Package {
	t.Helper()
	all := listPackages(t)
	exports := make(map[string]string)
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	public := make(map[string]*types.Package)
	for _, p := range all {
		if p.isPublic() {
			public[p.name()] = check(t, fset, imports, p)
		}
	}
	if len(public) == 0 {
		t.Fatal("found no public package below mcp")
	}
	return public
}

func check(t *testing.T, fset *token.FileSet, imports types.Importer, p listed) *types.Package {
	t.Helper()
	files := make([]*ast.File, len(p.GoFiles))
	for i, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = file
	}
	config := types.Config{Importer: imports, IgnoreFuncBodies: true}
	pkg, err := config.Check(p.ImportPath, fset, files, nil)
	if err != nil {
		t.Fatal(err)
	}
	return pkg
}

// listPackages returns the SDK's packages and all that they import, as they are
// on Linux, so that the record is the same on every machine.
func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", "./mcp/...")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []listed
	decoder := jsontext.NewDecoder(bytes.NewReader(output))
	for {
		var p listed
		switch err := json.UnmarshalDecode(decoder, &p); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, p)
	}
}
