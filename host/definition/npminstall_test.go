//go:build npm

package definition_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

var recordNPM = flag.String("recordnpm", "", "record the definitions of these npm servers again, by file name, or of all")

// npmServer is a server of the npm registry. Its definitions do not depend on the values of env.
type npmServer struct {
	pkg  string
	bin  string // of several programs
	args []string
	env  map[string]string
}

// file is the name of the recording.
func (s npmServer) file() string { return fileOf(s.pkg) }

var npmServers = []npmServer{
	{pkg: "@mastra/mcp-docs-server"},
	{pkg: "@modelcontextprotocol/server-everything"},
	{pkg: "@modelcontextprotocol/server-filesystem", args: []string{"."}},
	{pkg: "@notionhq/notion-mcp-server", env: map[string]string{"NOTION_TOKEN": "ntn_x"}},
	{pkg: "@playwright/mcp"},
	{pkg: "@shopify/dev-mcp"},
	{pkg: "@supabase/mcp-server-supabase", args: []string{"--access-token=sbp_x", "--features=account,database,debugging,development,functions,branching"}},
	{pkg: "@upstash/context7-mcp"},
	{pkg: "@wonderwhy-er/desktop-commander"},
	{pkg: "airtable-mcp-server", env: map[string]string{"AIRTABLE_API_KEY": "pat.x"}},
	{pkg: "chrome-devtools-mcp"},
	{pkg: "figma-developer-mcp", args: []string{"--stdio", "--figma-api-key=x"}},
	{pkg: "firecrawl-mcp", env: map[string]string{"FIRECRAWL_API_KEY": "fc-x"}},
	{pkg: "mcp-searxng", env: map[string]string{"SEARXNG_URL": "http://127.0.0.1:1"}},
	{pkg: "mongodb-mcp-server"},
	{pkg: "n8n-mcp"},
	{pkg: "next-devtools-mcp"},
	{pkg: "nx-mcp"},
	{pkg: "repomix", args: []string{"--mcp"}},
	{pkg: "tavily-mcp", env: map[string]string{"TAVILY_API_KEY": "tvly-x"}},
}

// add adds what a version listed.
func (r *recording) add(version string, s *mcp.Surface) error {
	v := recordedVersion{Version: version, Instructions: s.Instructions}
	if r.Definitions == nil {
		r.Definitions = make(map[string]jsontext.Value)
	}
	add := func(list *[]string, name string, definition any) error {
		text, err := json.Marshal(definition, json.Deterministic(true))
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		key := name + " " + hex.EncodeToString(sum[:8]) // forms of one definition together, for the compression
		r.Definitions[key] = text
		*list = append(*list, key)
		return nil
	}
	var failed error
	for _, t := range s.Tools {
		failed = cmp.Or(failed, add(&v.Tools, t.Name, t))
	}
	for _, p := range s.Prompts {
		failed = cmp.Or(failed, add(&v.Prompts, p.Name, p))
	}
	for _, t := range s.Templates {
		failed = cmp.Or(failed, add(&v.Templates, t.Name, t))
	}
	r.Versions = append(r.Versions, v)
	return failed
}

func (r *recording) write() error {
	text, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err = w.Write(text); err == nil {
		err = w.Close()
	}
	if err != nil {
		return err
	}
	return os.WriteFile(r.path(), b.Bytes(), 0o644)
}

// list installs a version of a server and returns what it lists.
func (s npmServer) list(t *testing.T, version string) (*mcp.Surface, error) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund",
		"--omit=dev", "--prefer-offline", "--loglevel=error", s.pkg+"@"+version)
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm install: %w\n%s", err, out)
	}
	program, err := s.program(filepath.Join(dir, "node_modules", filepath.FromSlash(s.pkg)))
	if err != nil {
		return nil, err
	}
	target := mcpclient.Command("node", append([]string{program}, s.args...)...)
	target.Dir, target.Env = home, map[string]string{"HOME": home, "PUPPETEER_SKIP_DOWNLOAD": "1", "DO_NOT_TRACK": "1"}
	var stderr []string
	target.Stderr = func(line string, _ int) { stderr = append(stderr, line) }
	for name, value := range s.env {
		target.Env[name] = value
	}
	ctx, cancel = context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c, err := mcpclient.Connect(ctx, target, &mcpclient.Options{Info: mcp.Implementation{Name: "recorder", Version: "1"}})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, strings.Join(stderr, "\n"))
	}
	defer c.Close()
	listed := &mcp.Surface{Instructions: c.Instructions()}
	var errs [3]error
	listed.Tools, errs[0] = listAll(c.Tools(ctx))
	listed.Prompts, errs[1] = listAll(c.Prompts(ctx))
	listed.Templates, errs[2] = listAll(c.Templates(ctx))
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return listed, replacePaths(listed, dir, home)
}

// listAll reads a list, which is empty if the server does not implement it.
func listAll[Def any](list iter.Seq2[Def, error]) (all []Def, err error) {
	for def, err := range list {
		if mcp.CodeOf(err) == mcp.CodeMethodNotFound {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		all = append(all, def)
	}
	return all, nil
}

// replacePaths replaces the directories of a test in all texts.
func replacePaths(s *mcp.Surface, dirs ...string) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		text = bytes.ReplaceAll(text, []byte(dir), []byte("/home/user"))
	}
	*s = mcp.Surface{}
	return json.Unmarshal(text, s)
}

// program returns the program of an installed package.
func (s npmServer) program(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if err != nil {
		return "", err
	}
	var m struct {
		Bin jsontext.Value `json:"bin"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return "", err
	}
	var one string
	if json.Unmarshal(m.Bin, &one) == nil {
		return filepath.Join(dir, one), nil
	}
	var several map[string]string
	if err := json.Unmarshal(m.Bin, &several); err != nil {
		return "", err
	}
	names := slices.Sorted(maps.Keys(several))
	if len(names) == 0 {
		return "", fmt.Errorf("%s has no program", s.pkg)
	}
	name := cmp.Or(s.bin, s.pkg[strings.LastIndexByte(s.pkg, '/')+1:])
	if several[name] == "" {
		name = names[0]
	}
	return filepath.Join(dir, several[name]), nil
}

var stable = regexp.MustCompile(`^\d+\.\d+\.\d+$`)

// versions returns the versions without pre-releases, the newest first.
func (s npmServer) versions(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("npm", "view", s.pkg, "versions", "--json").Output()
	var all []string
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		t.Fatalf("versions of %s: %v", s.pkg, err)
	}
	all = slices.DeleteFunc(all, func(v string) bool { return !stable.MatchString(v) })
	slices.Reverse(all)
	return all
}

// The newest recorded version of each server, which is installed, must list what is recorded.
func TestRecordedServersAreReal(t *testing.T) {
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	recordings := readRecordings(t)
	for _, s := range npmServers {
		i := slices.IndexFunc(recordings, func(r *recording) bool { return r.Package == s.pkg })
		if i < 0 {
			t.Errorf("%s: not recorded", s.pkg)
			continue
		}
		t.Run(s.file(), func(t *testing.T) {
			t.Parallel()
			newest := recordings[i].Versions[len(recordings[i].Versions)-1]
			listed, err := s.list(t, newest.Version)
			if err != nil {
				t.Fatal(err)
			}
			now := &recording{Package: s.pkg}
			if err := now.add(newest.Version, listed); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(now.Versions[0], newest) {
				t.Errorf("%s@%s lists something else than what is recorded", s.pkg, newest.Version)
			}
		})
	}
}

// With -recordnpm it installs the newest versions of the servers and records what they list. It
// leaves out a version that cannot be installed or started here.
func TestRecordNPMServers(t *testing.T) {
	for _, s := range npmServers {
		if *recordNPM != "all" && !slices.Contains(strings.Split(*recordNPM, ","), s.file()) {
			continue
		}
		t.Run(s.file(), func(t *testing.T) {
			r := &recording{Package: s.pkg}
			for _, version := range s.versions(t) {
				if len(r.Versions) == recordedVersions {
					break
				}
				listed, err := s.list(t, version)
				if err == nil {
					err = r.add(version, listed)
				}
				if err != nil {
					t.Logf("%s@%s is left out: %v", s.pkg, version, err)
					continue
				}
				t.Logf("%s@%s: %d tools, %d prompts, %d templates", s.pkg, version, len(listed.Tools), len(listed.Prompts), len(listed.Templates))
			}
			if len(r.Versions) < recordedVersions {
				t.Fatalf("got %d versions, want %d", len(r.Versions), recordedVersions)
			}
			slices.Reverse(r.Versions)
			if err := r.write(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func (r *recording) path() string {
	return filepath.Join("testdata", "npm", fileOf(r.Package)+".json.gz")
}
