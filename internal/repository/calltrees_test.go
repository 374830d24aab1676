package repository_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// drawnIn matches a line of a call tree that says which file has a function: in a comment
//
//	//	 └─ callTool   toolcall.go   looks up the tool
//
// with a file of the same directory, and in ARCHITECTURE.md
//
//	└─ callTool (mcpserver/toolcall.go)
//
// with a file whose path ends so.
var drawnIn = regexp.MustCompile(`[└├]─ (?:\w+\.)*(\w+)(?:, \w+)*(?: \*)?(?: +(\w+\.go)\b| +\((\w+/[\w/]+\.go)\))`)

func TestCallTreesNameTheFilesOfTheirFunctions(t *testing.T) {
	t.Parallel()
	all := files(t)
	drawn := 0
	for _, name := range all {
		if name != "ARCHITECTURE.md" && (!strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go")) {
			continue
		}
		for _, line := range strings.Split(read(t, name), "\n") {
			m := drawnIn.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			drawn++
			file := path.Join(path.Dir(name), m[2])
			if m[3] != "" {
				file = fileThatEndsIn(t, all, m[3])
			}
			if !hasFunction(t, file, m[1]) {
				t.Errorf("%s: %s: no function %s in %q", name, strings.TrimSpace(line), m[1], file)
			}
		}
	}
	if want := 15; drawn < want {
		t.Errorf("found %d functions in call trees, want at least %d", drawn, want)
	}
}

// TestStackOfAToolCrossesFewFiles counts the files of mcpserver on the stack of the
// author's function, and compares them with those that the call tree in serve.go marks.
func TestStackOfAToolCrossesFewFiles(t *testing.T) {
	t.Parallel()
	tree, _, found := strings.Cut(read(t, "mcp/mcpserver/serve.go"), "─ the author's function")
	if !found {
		t.Fatal("serve.go: there is no call tree down to the author's function")
	}
	drawn := make(map[string]bool)
	for _, m := range drawnOnStack.FindAllStringSubmatch(tree, -1) {
		drawn[m[1]] = true
	}
	want := slices.Sorted(maps.Keys(drawn))
	if len(want) == 0 || len(want) > 5 {
		t.Errorf("the call tree in serve.go marks %d files, want 1 to 5", len(want))
	}
	srv := mcpserver.New("stack", "1", nil)
	files := make(chan []string, 1)
	srv.Tool("stack", "", func(context.Context, struct{}) (struct{}, error) {
		files <- filesOnStack("/mcp/mcpserver/")
		return struct{}{}, nil
	})
	mcptest.EachRevision(t, srv, func(t *testing.T, c *mcpclient.Client) {
		if _, err := c.CallTool(t.Context(), "stack", nil); err != nil {
			t.Fatal(err)
		}
		if got := <-files; !slices.Equal(got, want) {
			t.Errorf("the stack of the author's function crosses %q, want those marked in serve.go: %q", got, want)
		}
	})
}

// drawnOnStack matches the file of a function that a call tree marks with *.
var drawnOnStack = regexp.MustCompile(`[└├]─ \w+ \* +(\w+\.go)\b`)

// filesOnStack returns the files of a directory whose functions are on the caller's stack,
// sorted.
func filesOnStack(dir string) []string {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	found := make(map[string]bool)
	for {
		frame, more := frames.Next()
		if at, name := path.Split(frame.File); strings.HasSuffix(at, dir) && !strings.HasSuffix(name, "_test.go") {
			found[name] = true
		}
		if !more {
			return slices.Sorted(maps.Keys(found))
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fileThatEndsIn returns the one file whose path ends in the given one.
func fileThatEndsIn(t *testing.T, all []string, end string) (file string) {
	t.Helper()
	for _, name := range all {
		if !strings.HasSuffix("/"+name, "/"+end) {
			continue
		}
		if file != "" {
			t.Errorf("%s: both %s and %s end so; want a longer path", end, file, name)
		}
		file = name
	}
	return file
}

// hasFunction reports whether a file declares a function or method of that name.
func hasFunction(t *testing.T, file, name string) bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Errorf("%s: %v", file, err)
		return false
	}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			return true
		}
	}
	return false
}
