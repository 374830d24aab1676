package repository_test

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"iter"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/fondaco/fondaco"

// A placement is the rule for the imports of a package or, with /..., of a subtree. Each
// package has a floor, the number of its layer, and imports packages of lower floors only.
type placement struct {
	floor  int
	path   string
	only   []string // if not nil, the only packages of ours that it may import
	beside []string // packages of its own floor that it may import as well
}

var (
	none = []string{}
	// sdk lists the packages that a user of the SDK can import. The compiler refuses imports
	// of mcp/internal from outside mcp/.
	sdk = []string{"mcp", "mcp/schema", "mcp/mcpserver", "mcp/mcpclient", "mcp/mcpauth", "mcp/mcpcheck", "mcp/mcpmodel", "mcp/mcpotel", "mcp/mcpreplay", "mcp/mcptest", "mcp/mcpware", "mcp/mcpwire", "mcp/mcpext/..."}
)

// floors is the layering of the module. ARCHITECTURE.md explains it.
var floors = []placement{
	// The claims of tests, used by all tests.
	{floor: 0, path: "internal/claim", only: none},
	// What tests need of the machine.
	{floor: 0, path: "internal/testdir", only: none},
	// The texts of hostile peers, for tests.
	{floor: 0, path: "internal/hostiletext", only: none},
	// What texts look like, names of secrets, and forms that ask for some, which the library and the host share.
	{floor: 0, path: "internal/lookalike", only: none},
	{floor: 0, path: "internal/secretname", beside: []string{"internal/lookalike"}},
	{floor: 0, path: "internal/secretform", beside: []string{"internal/secretname"}},
	// Encodings and RFCs, which do not know MCP.
	{floor: 0, path: "mcp/internal/backoff", only: none},
	{floor: 0, path: "mcp/internal/drain", only: none},
	{floor: 0, path: "mcp/internal/egress", beside: []string{"mcp/internal/usercode"}},
	{floor: 0, path: "mcp/internal/hooktest"},
	{floor: 0, path: "mcp/internal/httpheader"},
	{floor: 0, path: "mcp/internal/jsonrpc", beside: []string{"mcp/internal/rawjson"}},
	{floor: 0, path: "mcp/internal/jsontest"},
	{floor: 0, path: "mcp/internal/jwt", only: none},
	{floor: 0, path: "mcp/internal/lazyctx"},
	{floor: 0, path: "mcp/internal/leak"},
	{floor: 0, path: "mcp/internal/oauth"},
	{floor: 0, path: "mcp/internal/oversize"},
	{floor: 0, path: "mcp/internal/rawjson"},
	{floor: 0, path: "mcp/internal/jsonschema", beside: []string{"mcp/internal/rawjson"}},
	{floor: 0, path: "mcp/internal/seal"},
	{floor: 0, path: "mcp/internal/spawn"},
	{floor: 0, path: "mcp/internal/sse", beside: []string{"mcp/internal/oversize"}},
	{floor: 0, path: "mcp/mcptest/internal/surfacediff", only: none},
	{floor: 0, path: "mcp/internal/textcache"},
	{floor: 0, path: "mcp/internal/uritemplate"},
	{floor: 0, path: "mcp/internal/usercode"},
	// The vocabulary.
	{floor: 1, path: "mcp", only: none},
	{floor: 1, path: "mcp/schema", only: []string{"mcp/internal/jsonschema"}},
	// Limits, which do not know messages; requests in flight and proofs of possession, which
	// do not know MCP; revisions, which do not know transports.
	{floor: 2, path: "mcp/internal/dpop", only: []string{"mcp", "mcp/internal/egress", "mcp/internal/jwt", "mcp/internal/oauth", "mcp/internal/seal"}},
	{floor: 2, path: "mcp/internal/durable", only: []string{"mcp"}},
	{floor: 2, path: "mcp/internal/limit", only: []string{"mcp", "mcp/internal/usercode"}},
	{floor: 2, path: "mcp/internal/quota", only: []string{"mcp", "mcp/internal/drain"}},
	{floor: 2, path: "mcp/internal/peer", only: []string{"mcp/internal/jsonrpc", "mcp/internal/lazyctx"}},
	{floor: 2, path: "mcp/internal/replay", only: []string{"mcp", "mcp/internal/drain"}},
	// The processes of stores and brokers, for tests.
	{floor: 2, path: "internal/testengine", only: []string{"mcp"}},
	{floor: 2, path: "mcp/internal/replica", only: []string{"mcp", "mcp/internal/drain", "mcp/internal/seal", "mcp/internal/usercode"}},
	{floor: 2, path: "mcp/internal/dialect", only: []string{"mcp/internal/jsonrpc", "mcp/internal/rawjson", "mcp/internal/textcache", "mcp"}},
	{floor: 2, path: "mcp/mcpwire", only: []string{"mcp", "mcp/internal/httpheader", "internal/secretform", "internal/secretname"}},
	// One message and its reply, the transports that carry messages, and what a server offers.
	{floor: 3, path: "mcp/internal/exchange"},
	{floor: 3, path: "mcp/internal/changes", beside: []string{"mcp/internal/exchange"}},
	{floor: 3, path: "mcp/internal/httpclient", beside: []string{"mcp/internal/exchange"}},
	{floor: 3, path: "mcp/internal/listen", only: []string{"mcp", "mcp/internal/backoff", "mcp/internal/limit", "mcp/internal/usercode"}},
	{floor: 3, path: "mcp/internal/memory", beside: []string{"mcp/internal/exchange"}},
	{floor: 3, path: "mcp/internal/registry", only: []string{"mcp", "mcp/internal/dialect"}},
	{floor: 3, path: "mcp/internal/resultcache", only: []string{"mcp", "mcp/internal/dialect"}},
	{floor: 3, path: "mcp/internal/sharedcache", beside: []string{"mcp/internal/resultcache"}},
	{floor: 3, path: "mcp/internal/stdio", beside: []string{"mcp/internal/exchange"}},
	{floor: 3, path: "mcp/internal/streamhttp", beside: []string{"mcp/internal/exchange"}},
	{floor: 3, path: "mcp/internal/wire"},
	{floor: 3, path: "mcp/internal/wiretest", only: []string{"mcp"}},
	// What authors import.
	{floor: 4, path: "mcp/mcpauth"},
	{floor: 4, path: "mcp/mcpclient"},
	{floor: 4, path: "mcp/mcpmodel", only: []string{"mcp"}},
	{floor: 4, path: "mcp/mcpserver"},
	// Further packages that authors import.
	{floor: 5, path: "mcp/mcpext/..."},
	{floor: 5, path: "mcp/mcpcheck"},
	{floor: 5, path: "mcp/mcptest", beside: []string{"mcp/mcpreplay"}},
	{floor: 5, path: "mcp/internal/integration", only: none},
	{floor: 5, path: "mcp/mcpotel", only: []string{"mcp", "mcp/internal/httpheader", "mcp/mcpclient", "mcp/mcpserver"}},
	{floor: 5, path: "mcp/mcpreplay", only: []string{"mcp", "mcp/mcpclient", "mcp/mcpserver", "mcp/mcpwire"}},
	{floor: 5, path: "mcp/mcpware", beside: []string{"mcp/mcpext/handles"}},
	// The state that replicas share, in engines.
	{floor: 5, path: "mcp/store", only: []string{"mcp", "mcp/mcpserver", "mcp/internal/seal"}},
	{floor: 5, path: "mcp/store/boltstore", only: []string{"mcp", "mcp/mcpserver"}},
	{floor: 5, path: "mcp/store/natsstore", only: []string{"mcp", "mcp/internal/exchange"}},
	{floor: 5, path: "mcp/store/pgstore", only: []string{"mcp", "mcp/internal/exchange"}},
	{floor: 5, path: "mcp/store/redisstore", only: []string{"mcp", "mcp/internal/drain", "mcp/internal/exchange"}},
	// What the adapters of other SDKs share. Each adapter is a module of its own.
	{floor: 5, path: "x/internal/mirror", only: []string{"mcp", "mcp/mcpserver"}},
	{floor: 5, path: "x/internal/mirror/mirrortest", only: []string{"mcp", "mcp/mcpclient", "mcp/mcpserver", "mcp/mcptest"}},
	// The host: its domain, and packages for one job each that do not import each other.
	{floor: 6, path: "host", only: append([]string{"internal/lookalike", "internal/secretform", "internal/secretname"}, sdk...)},
	{floor: 6, path: "host/userfile", only: none},
	{floor: 6, path: "host/userkey", only: []string{"host/userfile"}, beside: []string{"host/userfile"}},
	{floor: 6, path: "host/state", only: []string{"host/userfile", "host/userkey", "mcp"}, beside: []string{"host/userfile", "host/userkey"}},
	{floor: 6, path: "host/engine", only: []string{"mcp", "mcp/mcpserver", "mcp/store", "mcp/store/..."}},
	// The gateway, divided by what code may touch.
	{floor: 6, path: "host/gateway/link", only: append([]string{"host"}, sdk...)},
	{floor: 6, path: "host/gateway/catalog", only: append([]string{"host"}, sdk...), beside: []string{"host/gateway/link"}},
	{floor: 6, path: "host/gateway/relay", only: append([]string{"host"}, sdk...), beside: []string{"host/gateway/link"}},
	{floor: 6, path: "host/gateway", only: append([]string{"host"}, sdk...), beside: []string{"host/gateway/catalog", "host/gateway/link", "host/gateway/relay"}},
	// What a command runs, which knows nothing of what was approved.
	{floor: 6, path: "host/approval/commandfiles", only: []string{"host", "host/userfile"}, beside: []string{"host/userfile"}},
	{floor: 6, path: "host/approval", only: append([]string{"host", "host/approval/commandfiles", "host/userfile"}, sdk...), beside: []string{"host/approval/commandfiles", "host/userfile"}},
	// The console shows the messages that traffic keeps, and recordings.
	{floor: 6, path: "host/console", only: []string{"host", "host/traffic", "mcp", "mcp/mcpwire"}, beside: []string{"host/traffic"}},
	// The dialogs of the terminal.
	{floor: 6, path: "host/dialog", only: []string{"host", "host/terminal", "mcp", "mcp/mcpclient"}, beside: []string{"host/terminal"}},
	// What an approval covers, on the terminal.
	{floor: 6, path: "host/approvalscreen", only: []string{"host", "host/approval", "host/approval/commandfiles", "host/definition", "host/terminal", "mcp/mcpclient"}, beside: []string{"host/approval", "host/approval/commandfiles", "host/definition", "host/terminal"}},
	{floor: 6, path: "host/...", only: append([]string{"host", "host/userfile"}, sdk...), beside: []string{"host/userfile"}},
	// The parts of a running host, which connect them.
	{floor: 7, path: "host/httpserver", only: []string{"host", "host/control", "host/engine", "host/gateway", "host/gateway/link", "host/replica", "host/revocation", "mcp", "mcp/mcpauth", "mcp/mcpserver"}},
	{floor: 7, path: "host/storage", only: []string{"host", "host/approval", "host/audit", "host/config", "host/definition", "host/engine", "host/policy", "host/revocation", "host/signin", "host/state", "host/terminal", "host/userkey", "mcp", "mcp/mcpserver"}},
	{floor: 7, path: "host/supervisor", only: []string{"host", "host/definition", "host/gateway", "host/policy", "host/terminal"}},
	// The commands.
	{floor: 7, path: "host/cli", only: append([]string{"host/..."}, sdk...)},
	// Programs.
	{floor: 8, path: "cmd/fondaco", only: append([]string{"host/..."}, sdk...)},
	{floor: 8, path: "compatibility", only: none},
	{floor: 8, path: "conformance/...", only: sdk},
	{floor: 8, path: "docs", only: sdk},
	{floor: 8, path: "examples/...", only: sdk},
	{floor: 8, path: "internal/fault", only: none},
	{floor: 8, path: "internal/model", only: none},
	{floor: 8, path: "proof", only: sdk},
	{floor: 8, path: "proof/release", only: none},
	{floor: 8, path: "proof/scale", only: none},
	{floor: 8, path: "internal/claim/coverage", only: []string{"internal/claim", "mcp"}},
	// The root holds the module's documentation, and api its record.
	{floor: 8, path: ".", only: none},
	{floor: 8, path: "internal/repository", only: none},
	{floor: 8, path: "api", only: none},
}

// libraries lists the third-party packages that packages of the SDK may import. One
// package imports a library and exports none of its types.
var libraries = map[string][]string{
	"mcp/internal/jwt":        {"github.com/go-jose/go-jose/v4/..."},
	"mcp/internal/limit":      {"golang.org/x/time/rate"},
	"mcp/internal/jsonschema": {"github.com/santhosh-tekuri/jsonschema/v6/..."},
	"mcp/mcpext/skills":       {"go.yaml.in/yaml/v3"},
	"mcp/mcpotel":             {"go.opentelemetry.io/otel/..."},
	"mcp/mcpware":             {"github.com/sony/gobreaker/v2"},
	"mcp/store/boltstore":     {"go.etcd.io/bbolt/..."},
	"mcp/store/natsstore":     {"github.com/nats-io/nats.go/..."},
	"mcp/store/pgstore":       {"github.com/jackc/pgx/v5/..."},
	"mcp/store/redisstore":    {"github.com/redis/go-redis/v9"},
}

// built lists the modules that every user of the SDK builds.
var built = []string{
	"github.com/santhosh-tekuri/jsonschema/v6",
	"golang.org/x/text", // imported by jsonschema, for its messages, and by internal/lookalike
	"golang.org/x/time", // token buckets
}

// chosen lists the further modules that users of one package build. No package of the SDK
// that is not in chosen imports that package.
var chosen = map[string][]string{
	"mcp/internal/dpop": {"github.com/go-jose/go-jose/v4"},
	"mcp/internal/jwt":  {"github.com/go-jose/go-jose/v4"},
	"mcp/mcpauth":       {"github.com/go-jose/go-jose/v4"},
	"mcp/mcpext/skills": {"go.yaml.in/yaml/v3"},
	"mcp/mcpotel": {
		"go.opentelemetry.io/otel", "go.opentelemetry.io/otel/log", "go.opentelemetry.io/otel/metric", "go.opentelemetry.io/otel/trace", "go.opentelemetry.io/auto/sdk",
		"github.com/go-logr/logr", "github.com/go-logr/stdr", "github.com/cespare/xxhash/v2",
	},
	"mcp/mcpware":         {"github.com/sony/gobreaker/v2"},
	"mcp/store/boltstore": {"go.etcd.io/bbolt", "golang.org/x/sys"},
	"mcp/store/natsstore": {
		"github.com/nats-io/nats.go", "github.com/nats-io/nkeys", "github.com/nats-io/nuid", "github.com/klauspost/compress",
		"golang.org/x/crypto", "golang.org/x/sys",
	},
	"mcp/store/pgstore": {
		"github.com/jackc/pgx/v5", "github.com/jackc/pgpassfile", "github.com/jackc/pgservicefile", "github.com/jackc/puddle/v2",
		"golang.org/x/sync",
	},
	"mcp/store/redisstore": {"github.com/redis/go-redis/v9", "github.com/cespare/xxhash/v2", "go.uber.org/atomic", "golang.org/x/sys"},
}

// jsonV1 lists the packages that may import encoding/json, with the reason.
var jsonV1 = map[string]string{
	"mcp/internal/jsonschema": "jsonschema takes numbers as json.Number",
}

func TestImportsGoDownward(t *testing.T) {
	eachSystem(t, func(t *testing.T, packages []listed) {
		for _, p := range packages {
			for _, imported := range p.Imports {
				if fault := importFault(p.path(), imported); fault != "" {
					t.Errorf("%s imports %s: %s", p.path(), imported, fault)
				}
			}
		}
	})
}

// importFault returns what is wrong with an import, or "".
func importFault(importer, imported string) string {
	switch {
	case imported == "encoding/json" && jsonV1[importer] == "":
		return "it takes duplicate members and names in any case; use encoding/json/v2, or give the reason in jsonV1"
	case imported == "os/exec" && covers("mcp/...", importer) && importer != "mcp/internal/spawn":
		return "processes are started by mcp/internal/spawn alone, which also ends them"
	case imported == module || strings.HasPrefix(imported, module+"/"):
		return floorFault(importer, ourPath(imported))
	case covers("mcp/...", importer) && !isStandard(imported) && !coveredBy(libraries[importer], imported):
		return "the SDK uses the standard library; a new library needs a decision record and a row in libraries"
	}
	return ""
}

func floorFault(importer, imported string) string {
	from, ok := placementOf(importer)
	to, known := placementOf(imported)
	switch {
	case !ok || !known:
		return "one of them has no floor: add a row to floors"
	case coveredBy(from.beside, imported):
		return ""
	case from.only != nil && !coveredBy(from.only, imported):
		return fmt.Sprintf("it may import %q only; move what it needs there, or to a lower floor", from.only)
	case from.only == nil && to.floor >= from.floor:
		return fmt.Sprintf("that leads from floor %d to floor %d, and imports go downward; move what both need to a lower floor", from.floor, to.floor)
	}
	return ""
}

func TestEachPackageHasAFloorAndAName(t *testing.T) {
	eachSystem(t, func(t *testing.T, packages []listed) {
		for _, p := range packages {
			if _, ok := placementOf(p.path()); !ok {
				t.Errorf("%s has no floor: add a row to floors, as low as what it imports allows", p.path())
			}
			if slices.Contains(vagueNames, p.Name) {
				t.Errorf("%s: the name %s does not say what the package contains: name it after the concept", p.path(), p.Name)
			}
		}
	})
}

var vagueNames = []string{"util", "utils", "common", "helper", "helpers", "types", "shared", "http", "server", "client"}

func TestUsersOfTheSDKBuildFewModules(t *testing.T) {
	eachSystem(t, func(t *testing.T, packages []listed) {
		for asked, modules := range builds(packages) {
			for _, p := range goList(t, append([]string{"-deps"}, asked...)...) {
				if p.Module != nil && p.Module.Path != module && !slices.Contains(modules, p.Module.Path) {
					t.Errorf("the SDK builds %s of module %s: drop the import that brings it, or give the reason in a decision record and a row in built", p.ImportPath, p.Module.Path)
				}
			}
		}
	})
}

// builds yields packages of the SDK with the modules that their users may build: first
// all packages that are not in chosen, then each that is.
func builds(packages []listed) iter.Seq2[[]string, []string] {
	return func(yield func([]string, []string) bool) {
		var plain []string
		for _, p := range packages {
			if covers("mcp/...", p.path()) && chosen[p.path()] == nil {
				plain = append(plain, p.ImportPath)
			}
		}
		more := yield(plain, built)
		for path, modules := range chosen {
			more = more && yield([]string{module + "/" + path}, append(modules, built...))
		}
	}
}

func TestForbiddenImportsAreFound(t *testing.T) {
	tests := []struct {
		importer, imported string
		refused            bool
	}{
		{"mcp", module + "/mcp/internal/jsonrpc", true},
		{"mcp/internal/sse", module + "/mcp/internal/jsonrpc", true},
		{"mcp/internal/peer", module + "/mcp", true},
		{"mcp/internal/dialect", module + "/mcp", false},
		{"mcp/internal/stdio", module + "/mcp/internal/exchange", false},
		{"mcp/internal/exchange", module + "/mcp/internal/stdio", true},
		{"mcp/mcpserver", module + "/mcp/internal/stdio", false},
		{"mcp/mcpserver", module + "/mcp/mcpclient", true},
		{"mcp/mcpserver", "encoding/json", true},
		{"mcp/mcpserver", "encoding/json/v2", false},
		{"mcp/mcpserver", "os/exec", true},
		{"mcp/mcpserver", "github.com/santhosh-tekuri/jsonschema/v6", true},
		{"mcp/internal/jsonschema", "github.com/santhosh-tekuri/jsonschema/v6/kind", false},
		{"mcp/mcpext/skills", "go.yaml.in/yaml/v3", false},
		{"mcp/mcpserver", "go.yaml.in/yaml/v3", true},
		{"mcp/mcptest", module + "/mcp/mcpclient", false},
		{"host", module + "/mcp/mcpclient", false},
		{"host/gateway", module + "/host", false},
		{"host/gateway", module + "/host/store", true},
		{"host/gateway", module + "/host/gateway/link", false},
		{"host/gateway/link", module + "/host/gateway", true},
		{"host/gateway/relay", module + "/host/gateway/catalog", true},
		{"host/gateway", module + "/host/cli", true},
		{"host/cli", module + "/host/gateway", false},
		{"cmd/fondaco", module + "/host/cli", false},
		{"examples/basket", module + "/host", true},
		{"examples/basket", module + "/mcp/mcpserver", false},
		{"mcp/mcpserver", module + "/mcp/internal/nowhere", true},
	}
	for _, test := range tests {
		if got := importFault(test.importer, test.imported); (got != "") != test.refused {
			t.Errorf("%s imports %s: got fault %q, want refused %v", test.importer, test.imported, got, test.refused)
		}
	}
}

// placementOf returns the row for a package: its own, else that of its subtree.
func placementOf(pkg string) (placement, bool) {
	i := slices.IndexFunc(floors, func(p placement) bool { return p.path == pkg })
	if i < 0 {
		i = slices.IndexFunc(floors, func(p placement) bool { return covers(p.path, pkg) })
	}
	if i < 0 {
		return placement{}, false
	}
	return floors[i], true
}

// covers reports whether a pattern, read as the go command reads it, matches an
// import path.
func covers(pattern, importPath string) bool {
	tree, isTree := strings.CutSuffix(pattern, "/...")
	return importPath == tree || isTree && strings.HasPrefix(importPath, tree+"/")
}

func coveredBy(patterns []string, importPath string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(p, importPath) })
}

// isStandard reports whether an import path belongs to the standard library,
// whose paths do not begin with a domain.
func isStandard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// A listed package is the description that go list prints.
type listed struct {
	ImportPath, Name string
	Imports          []string // by non-test files
	Module           *struct{ Path string }
}

// path is the import path below the module.
func (p listed) path() string { return ourPath(p.ImportPath) }

func ourPath(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

// eachSystem runs a test on the module's packages as each system builds them.
func eachSystem(t *testing.T, test func(*testing.T, []listed)) {
	t.Helper()
	for _, goos := range []string{"linux", "darwin", "windows"} {
		t.Run(goos, func(t *testing.T) {
			t.Setenv("GOOS", goos)
			test(t, goList(t, "./..."))
		})
	}
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Name,Imports,Module"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	var packages []listed
	decoder := jsontext.NewDecoder(bytes.NewReader(output))
	for {
		var p listed
		switch err := json.UnmarshalDecode(decoder, &p); {
		case errors.Is(err, io.EOF) && len(packages) > 0:
			return packages
		case err != nil:
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
