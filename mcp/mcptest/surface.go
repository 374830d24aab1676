package mcptest

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// updateFlag is the flag that makes CheckSurface write its files.
const updateFlag = "mcptest.update"

func init() {
	if testing.Testing() {
		flag.Bool(updateFlag, false, "CheckSurface writes its files instead of comparing with them")
	}
}

// CheckSurface compares what the server of a client shows with a golden file: the names,
// texts, schemas and annotations of its tools, prompts, resources and templates. Each
// difference fails the test, with the verdict breaking or compatible, see
// CompareSurfaces. So no text that a model reads and no schema changes by accident.
//
// When a change is intended, write the file again by
//
//	go test -run TestSurface -mcptest.update
//
// A test package that has a boolean flag named update may use that one instead. The file is
// JSON, and depends on the revision of the client; without Options.Revisions that is the
// newest one.
func CheckSurface(tb testing.TB, c *mcpclient.Client, file string) {
	tb.Helper()
	s, err := c.Surface(tb.Context())
	if err != nil {
		tb.Fatalf("check the surface: %v", err)
	}
	if flagIsSet(updateFlag) || flagIsSet("update") {
		writeSurface(tb, s.Sorted(), file)
		return
	}
	golden, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		tb.Errorf("check the surface: there is no file %s; write it by go test -run '^%s$' -%s", file, tb.Name(), updateFlag)
		return
	}
	var want mcp.Surface
	if err == nil {
		err = json.Unmarshal(golden, &want)
	}
	if err != nil {
		tb.Fatalf("check the surface: file %s: %v", file, err)
	}
	changes, err := CompareSurfaces(want, *s)
	if err != nil {
		tb.Fatalf("check the surface: %v", err)
	}
	if len(changes) == 0 {
		return
	}
	lines := make([]string, len(changes))
	for i, change := range changes {
		lines[i] = "\t" + change.String()
	}
	tb.Errorf("the surface differs from %s:\n%s\nif that is intended, write it again by go test -run '^%s$' -%s", file, strings.Join(lines, "\n"), tb.Name(), updateFlag)
}

func flagIsSet(name string) bool {
	f := flag.Lookup(name)
	return f != nil && f.Value.String() == "true"
}

func writeSurface(tb testing.TB, s mcp.Surface, file string) {
	tb.Helper()
	text, err := json.Marshal(s, json.Deterministic(true), jsontext.WithIndent("\t"))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o777)
	}
	if err == nil {
		err = os.WriteFile(file, append(text, '\n'), 0o666)
	}
	if err != nil {
		tb.Fatalf("write the surface: %v", err)
	}
}
