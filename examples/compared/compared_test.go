// Package compared_test uses programs that are written with this SDK and with others by one script.
package compared_test

import (
	"context"
	"fmt"
	"go/scanner"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// ours is the folder of the programs that are written with this SDK.
const ours = "fondaco"

// sdks are the folders of programs, in the order of the columns of README.md.
var sdks = []string{ours, "gosdk", "mcpgo"}

// programs are the programs, by their names, with what uses them. use returns the answers of a
// program, which are the same for each SDK.
var programs = map[string]struct {
	use  func(t *testing.T, file string) (answers []string)
	want []string
}{
	"agent":   {useAgent, wantAgent},
	"confirm": {useConfirm, wantConfirm},
	"job":     {useJob, wantJob},
	"media":   {useMedia, wantMedia},
	"mount":   {useMount, wantMount},
	"mounted": {useMounted, wantMounted},
	"notes":   {useNotes, wantNotes},
	"openapi": {useOpenAPI, wantOpenAPI},
	"rest":    {useRest, wantRest},
	"tests":   {useTests, wantTests},
}

// bin holds the programs.
var bin string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if bin, err = os.MkdirTemp("", "compared"); err != nil {
		log.Print(err)
		return 1
	}
	defer os.RemoveAll(bin)
	for _, sdk := range sdks {
		build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", filepath.Join(bin, sdk)+string(filepath.Separator), "./"+sdk+"/...")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			log.Printf("go build: %v\n%s", err, out)
			return 1
		}
	}
	return m.Run()
}

func TestProgramsOfAllSDKsGiveTheSameAnswers(t *testing.T) {
	t.Parallel()
	for name, p := range programs {
		for _, sdk := range sdks {
			t.Run(name+"/"+sdk, func(t *testing.T) {
				t.Parallel()
				if _, err := os.Stat(filepath.Join(sdk, name)); err != nil {
					if !pageSays(t, name, sdk, "cannot") {
						t.Errorf("%v, and README.md does not say that it cannot be written", err)
					}
					return
				}
				if got := p.use(t, program(sdk, name)); !slices.Equal(got, p.want) {
					t.Errorf("got %s, want %s", strings.Join(got, "\n\t"), strings.Join(p.want, "\n\t"))
				}
			})
		}
	}
}

func TestOurProgramsAreNotLongerThanOthers(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(ours)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := programs[e.Name()]; !ok {
			t.Errorf("%s is used by no test", e.Name())
		}
		length := lines(t, filepath.Join(ours, e.Name()))
		for _, sdk := range sdks {
			n := lines(t, filepath.Join(sdk, e.Name()))
			if n == 0 {
				continue
			}
			if n < length {
				t.Errorf("%s has %d lines, and %d with %s", e.Name(), length, n, sdk)
			}
			if !pageSays(t, e.Name(), sdk, fmt.Sprint(n)) {
				t.Errorf("%s with %s: README.md does not say that it has %d lines", e.Name(), sdk, n)
			}
		}
	}
}

// program returns the file of a program.
func program(sdk, name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(bin, sdk, name)
}

// pageSays reports whether the table of README.md says this of a program with an SDK.
func pageSays(t *testing.T, program, sdk, what string) bool {
	t.Helper()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(page)) {
		cells := strings.Split(row, "|")
		if len(cells) == len(sdks)+4 && strings.TrimSpace(cells[1]) == program {
			return strings.HasPrefix(strings.TrimSpace(cells[3+slices.Index(sdks, sdk)]), what)
		}
	}
	return false
}

// lines returns how many lines of a folder's Go files hold code.
func lines(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, name := range files {
		src, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := token.NewFileSet().AddFile(name, -1, len(src))
		var s scanner.Scanner
		s.Init(f, src, nil, 0) // without comments
		with := map[int]bool{}
		for pos, tok, text := s.Scan(); tok != token.EOF; pos, tok, text = s.Scan() {
			if tok == token.SEMICOLON && text == "\n" {
				continue
			}
			for i := range strings.Count(text, "\n") + 1 {
				with[f.Line(pos)+i] = true
			}
		}
		n += len(with)
	}
	return n
}

type object map[string]any

// connect starts a program as a server and connects a client to it.
func connect(t *testing.T, target mcpclient.Target, o *mcpclient.Options) *mcpclient.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	c, err := mcpclient.Connect(ctx, target, o)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// call returns the structured content of a tool's result, else its text; "failed" for a result that
// is an error, and "error" for no result.
func call(t *testing.T, c *mcpclient.Client, tool string, args object) string {
	t.Helper()
	r, err := c.CallTool(t.Context(), tool, args)
	switch {
	case err != nil:
		return "error"
	case r.IsError:
		return "failed"
	case r.StructuredContent != nil:
		v := r.StructuredContent.Clone()
		if err := v.Canonicalize(); err != nil {
			t.Error(err)
		}
		return string(v)
	}
	return r.Content.Text()
}

// resources returns the URIs and names of all resources.
func resources(t *testing.T, c *mcpclient.Client) (listed string) {
	t.Helper()
	for r, err := range c.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		listed += r.URI + " " + r.Name + ","
	}
	return listed
}

// read returns the text of a resource, or "error".
func read(t *testing.T, c *mcpclient.Client, uri string) string {
	t.Helper()
	r, err := c.ReadResource(t.Context(), uri)
	if err != nil {
		return "error"
	}
	return r.Contents[0].Text
}
