//go:build linux && release

package release_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/x509"
	"encoding/json/v2"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/testdir"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func TestMain(m *testing.M) {
	testdir.Prepare() // the program of an archive has another user
	os.Exit(m.Run())
}

var (
	project = filepath.Join("..", "..")
	built   = filepath.Join(project, "bin", "release")
)

// archive returns the path and the version of the archive for this machine.
func archive(t *testing.T) (path, version string) {
	t.Helper()
	suffix := "_linux_" + runtime.GOARCH + ".tar.gz"
	paths, err := filepath.Glob(filepath.Join(built, "fondaco_*"+suffix))
	if err != nil || len(paths) != 1 {
		t.Fatalf("got the archives %q, %v, want one: run make release SNAPSHOT=1", paths, err)
	}
	return paths[0], strings.TrimSuffix(strings.TrimPrefix(filepath.Base(paths[0]), "fondaco_"), suffix)
}

// unpack returns the files of an archive.
func unpack(t *testing.T, path string) map[string][]byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string][]byte)
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if err == io.EOF {
			return found
		}
		if err == nil {
			found[header.Name], err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestArchiveHasAProgramThatNeedsNothingElse(t *testing.T) {
	path, version := archive(t)
	files := unpack(t, path)
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		if len(files[name]) == 0 {
			t.Errorf("got no %s", name)
		}
	}
	root := newBareRoot(t)
	root.add(t, "fondaco", 0o755, files["fondaco"])
	output, err := root.command(t.Context(), "/fondaco", "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(output), "fondaco "+version+" (go") {
		t.Fatalf("fondaco version: got %q, %v, want the version %s of the archive", output, err, version)
	}
	root.serves(t, "demo__calculate", "/fondaco", "up")
}

func TestReleaseHasSixPlatformsWithTheirModules(t *testing.T) {
	_, version := archive(t)
	sums, err := os.ReadFile(filepath.Join(built, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64", "windows_amd64", "windows_arm64"} {
		suffix := ".tar.gz"
		if strings.HasPrefix(platform, "windows") {
			suffix = ".zip"
		}
		name := "fondaco_" + version + "_" + platform
		for _, file := range []string{name + suffix, name + ".cdx.json"} {
			if !strings.Contains(string(sums), "  "+file+"\n") {
				t.Errorf("checksums.txt has no %s:\n%s", file, sums)
			}
		}
		text, err := os.ReadFile(filepath.Join(built, name+".cdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		var bill struct {
			BOMFormat  string `json:"bomFormat"`
			Components []struct {
				Name string `json:"name"`
			} `json:"components"`
		}
		if err := json.Unmarshal(text, &bill); err != nil {
			t.Fatal(err)
		}
		has := func(name string) bool {
			for _, c := range bill.Components {
				if c.Name == name {
					return true
				}
			}
			return false
		}
		if bill.BOMFormat != "CycloneDX" || !has("go.etcd.io/bbolt") || !has("github.com/santhosh-tekuri/jsonschema/v6") {
			t.Errorf("%s: got %s with %d components, want the modules of the program", platform, bill.BOMFormat, len(bill.Components))
		}
	}
}

// A clone elsewhere, with a build cache of its own, has nothing of the first build.
func TestReleaseIsTheSameFromAnotherDirectory(t *testing.T) {
	changed, err := exec.Command("git", "-C", project, "status", "--porcelain").Output()
	if err != nil || len(changed) > 0 {
		t.Fatalf("the archives have to be those of a commit: git status: %v\n%s", err, changed)
	}
	clone := filepath.Join(t.TempDir(), "elsewhere")
	if output, err := exec.Command("git", "clone", "-q", project, clone).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, output)
	}
	tools, err := filepath.Abs(filepath.Join(project, "bin", "tools"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(tools, "goreleaser"), "release", "--clean", "--snapshot")
	cmd.Dir = clone
	cmd.Env = append(os.Environ(), "GOCACHE="+t.TempDir(), "PATH="+tools+string(os.PathListSeparator)+os.Getenv("PATH"))
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("goreleaser: %v\n%s", err, output)
	}
	first, err := os.ReadFile(filepath.Join(built, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(clone, "bin", "release", "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(first) == 0 || string(first) != string(second) {
		t.Errorf("got the checksums\n%s\nwant those of the first build\n%s", second, first)
	}
}

func TestProgramOfACloneNamesItsCommit(t *testing.T) {
	head, err := exec.Command("git", "-C", project, "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	clone := filepath.Join(t.TempDir(), "clone")
	if output, err := exec.Command("git", "clone", "-q", "--no-tags", project, clone).CombinedOutput(); err != nil {
		t.Fatalf("git clone: %v\n%s", err, output)
	}
	if output, err := exec.CommandContext(t.Context(), "make", "-C", clone, "build").CombinedOutput(); err != nil {
		t.Fatalf("make build: %v\n%s", err, output)
	}
	output, err := exec.Command(filepath.Join(clone, "bin", "fondaco"), "version").CombinedOutput()
	if version, _, _ := strings.Cut(string(output), " (go"); err != nil || !strings.HasSuffix(version, "-"+strings.TrimSpace(string(head))) {
		t.Errorf("got %q, %v, want the version of the commit %s", output, err, head)
	}
}

// instruction matches an instruction of the Dockerfile.
var instruction = regexp.MustCompile(`(?m)^(ARG|FROM|COPY|USER|ENV|ENTRYPOINT|CMD) (.*)$`)

// imageOnScratch returns the root of the image, and its command. The image is made as docker does it with the base
// scratch: what COPY brings is all there is.
func imageOnScratch(t *testing.T) (root *bareRoot, command []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(project, "deploy", "docker", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	_, last, found := strings.Cut(string(text), "\nFROM ${BASE}\n")
	if !found {
		t.Fatal("the Dockerfile has no last stage on ${BASE}")
	}
	path, _ := archive(t)
	root = newBareRoot(t)
	root.env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"} // of the container runtime
	for _, m := range instruction.FindAllStringSubmatch(last, -1) {
		words := strings.Fields(m[2])
		switch m[1] {
		case "COPY":
			from, to := words[len(words)-2], words[len(words)-1]
			switch from {
			case "/etc/ssl/certs/ca-certificates.crt":
				root.add(t, to, 0o644, authorities(t, from))
			case "/out/fondaco":
				root.add(t, to, 0o755, unpack(t, path)["fondaco"])
			case "/out/home":
				if !slices.Contains(words, "--chown=65532:65532") {
					t.Errorf("COPY %s: want the user of the image to own %s", m[2], to)
				}
				root.own(t, to)
			default:
				t.Fatalf("COPY %s: want this test to know the file", m[2])
			}
		case "USER":
			if m[2] != "65532:65532" {
				t.Errorf("USER %s: want 65532:65532", m[2])
			}
		case "ENV":
			root.env = append(root.env, words...)
		case "ENTRYPOINT", "CMD":
			var part []string
			if err := json.Unmarshal([]byte(m[2]), &part); err != nil {
				t.Fatal(err)
			}
			command = append(command, part...)
		}
	}
	return root, command
}

func TestImageOnScratchServes(t *testing.T) {
	root, command := imageOnScratch(t)
	if len(command) != 2 || command[0] != "fondaco" {
		t.Fatalf("got the command %q, want fondaco up", command)
	}
	root.serves(t, "demo__calculate", "/usr/local/bin/fondaco", command[1:]...)
	if files, err := os.ReadDir(filepath.Join(root.dir, "var", "lib", "fondaco")); err != nil || len(files) == 0 {
		t.Errorf("home: got %v, %v, want what a host writes there", files, err)
	}
}

// dockerRun matches the command of the guide that runs a container: what is mounted, and the arguments of the host.
var dockerRun = regexp.MustCompile(`(?s)\nsudo chown 65532 (\S+)\ndocker run (.*?)\s+registry\.example\.com/fondaco:\S+ (up .*?)\n` + "```")

// No container runtime is needed for what the command of the guide makes of the image: its mounts and its arguments.
func TestContainerOfTheGuideServes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(project, "docs", "deployment.md"))
	if err != nil {
		t.Fatal(err)
	}
	run := dockerRun.FindStringSubmatch(string(text))
	if run == nil {
		t.Fatal("docs/deployment.md has no command that runs a container after sudo chown 65532")
	}
	root, _ := imageOnScratch(t)
	mounts := make(map[string]string)
	for _, m := range regexp.MustCompile(`-v "?([^\s":]+):([^\s":]+)`).FindAllStringSubmatch(run[2], -1) {
		mounts[m[1]] = m[2]
	}
	file, home := mounts["$PWD/"+run[1]], mounts["fondaco"]
	if file == "" || home != "/var/lib/fondaco" {
		t.Fatalf("got the mounts %q, want the file %s, and the volume at the home of the user", mounts, run[1])
	}
	root.add(t, file, 0o600, []byte(`{"mcpServers": {"sums": {"url": "`+sums(t)+`"}}}`))
	root.giveToUser(t, file)
	root.serves(t, "sums__calculate", "/usr/local/bin/fondaco", strings.Fields(run[3])...)
}

type (
	sum struct {
		Expression string `json:"expression"`
	}
	number struct {
		Exact string `json:"exact"`
	}
)

// sums serves a tool that calculates, over HTTP, and returns its URL: the image on scratch has no programs of servers.
func sums(t *testing.T) string {
	t.Helper()
	srv := mcpserver.New("sums", "1.0.0", nil)
	srv.Tool("calculate", "Calculate", func(_ context.Context, in sum) (number, error) {
		if in.Expression != "6 * 7" {
			return number{}, fmt.Errorf("got %q", in.Expression)
		}
		return number{"42"}, nil
	})
	web := httptest.NewServer(srv.HTTPHandler())
	t.Cleanup(web.Close)
	return web.URL
}

// authorities returns the certificates of authorities of this machine.
func authorities(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Skipf("this machine has no ca-certificates: %v", err)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		t.Fatalf("%s: got no certificates", name)
	}
	return text
}
