package repository_test

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What bounds the bytes that a type holds, if it is neither a limit with a name nor a row of
// docs/limits.md.
const (
	author   = "author"   // no peer: it comes from the author of the program, or has a fixed size
	request  = "request"  // it ends with its request, whose params count to the limit `calls`
	replicas = "replicas" // the other replicas of the server, which have its keys
	message  = "message.bytes"
)

// keptTypes are the types of a server that can outlive a request and hold texts, bytes or tables, each
// with what bounds those that a peer has sent: the name of a limit, the beginning of a row of
// docs/limits.md, or a constant above. The types behind one of the author are not searched. pkg.* is
// for all types of a package.
//
// A new type needs a bound in bytes and by owner. Usually that is limit.KeptBytes: see
// mcp/mcpserver/keptbytes.go, and add how to open the table to mcp/mcpserver/keptwalk_test.go, which
// measures it.
var keptTypes = map[string]string{
	"apps.*":                     author,
	"changes.Event":              author,
	"changes.Hub":                "watched",
	"changes.Subscriber":         "watched",
	"changes.Topic":              "watched",
	"changes.replicas":           author,
	"changes.subscription":       "watched",
	"dialect.Call":               "kept",
	"dialect.Facts":              author,
	"dialect.Headers":            request,
	"dialect.Part":               "unsent",
	"dialect.Reply":              "unsent",
	"dialect.RequestMeta":        "kept",
	"dialect.Server":             author,
	"dialect.Session":            "kept",
	"durable.Queue":              "tasks",
	"durable.Term":               author,
	"exchange.HTTPRequest":       "kept",
	"exchange.Inbound":           "size of an access token",
	"exchange.Session":           "size of an access token",
	"exchange.Wire":              "size of an access token",
	"exchange.outbox":            "unsent",
	"exchange.queued":            "kept",
	"files.*":                    author,
	"handles.counter":            "handles",
	"handles.use":                "handles",
	"jsonrpc.Error":              request,
	"jsonrpc.ID":                 request,
	"jsonrpc.Message":            request,
	"limit.Gate":                 "calls",
	"limit.LogRate":              author,
	"limit.Pool":                 "kept",
	"limit.Reporter":             author,
	"limit.group":                "kept",
	"limit.groupKey":             "size of an access token",
	"limit.table":                "owners in one table of rates",
	"listen.Listener":            "connections",
	"mcpserver.Background":       author,
	"mcpserver.MemoryBus":        "messages of a `MemoryBus`",
	"mcpserver.MemoryStore":      "the store in memory: entries",
	"mcpserver.Options":          author,
	"mcpserver.Request":          "kept",
	"mcpserver.Server":           "kept",
	"mcpserver.Session":          "sessions",
	"mcpserver.admission":        "owners in one table of rates",
	"mcpserver.answeredStates":   "states whose first call is remembered",
	"mcpserver.evictable":        "kept",
	"mcpserver.extensions":       author,
	"mcpserver.handlerContext":   "kept",
	"mcpserver.middleware":       author,
	"mcpserver.ownerQuestions":   "questions",
	"mcpserver.ownerRate":        "owners in one table of rates",
	"mcpserver.resumption":       "kept",
	"mcpserver.routeTable":       author,
	"mcpserver.sessions":         "sessions",
	"mcpserver.storeEntry":       "the store in memory: entries",
	"mcpserver.storedStates":     "kept",
	"mcpserver.storedUsedStates": "the store in memory: entries",
	"mcpserver.suspension":       author,
	"mcpserver.urlElicitation":   "URL elicitations whose completion",
	"mcpserver.urlElicitations":  "URL elicitations whose completion",
	"mcpserver.waitingCalls":     "kept",
	"mcpserver.waitingQuestions": "questions",
	"mcpserver.workers":          author,
	"memory.end":                 message,
	"oversize.Message":           message,
	"peer.Pending":               "questions",
	"peer.Running":               "calls.session",
	"peer.Work":                  "calls.session",
	"quota.Group":                "principals and tools whose rates",
	"quota.Key":                  "principals and tools whose rates",
	"quota.Options":              author,
	"quota.entry":                "principals and tools whose rates",
	"rawjson.Text":               request,
	"registry.*":                 author,
	"replay.Answer":              "kept",
	"replay.Entry":               "kept",
	"replay.Memory":              "kept",
	"replay.Parked":              "parked",
	"replay.Question":            "kept",
	"replay.Run":                 "parked",
	"replay.UsedStates":          author,
	"replay.parkedSet":           "parked",
	"replay.parkedValue":         "parked",
	"replica.Group":              replicas,
	"replica.Options":            author,
	"seal.keyCiphers":            author,
	"skills.*":                   author,
	"stdio.Child":                author,
	"stdio.answer":               message,
	"stdio.lineReader":           message,
	"stdio.lineWriter":           message,
	"stdio.pump":                 message,
	"streamhttp.Handler":         author,
	"streamhttp.Options":         author,
	"streamhttp.SSEHandler":      "streams",
	"streamhttp.eventLog":        "events of one stream that an event store",
	"streamhttp.eventMemory":     "events kept for clients that reconnect",
	"streamhttp.followedStream":  replicas,
	"streamhttp.lifetime":        author,
	"streamhttp.originCheck":     author,
	"streamhttp.posted":          message,
	"streamhttp.queue":           "kept",
	"streamhttp.refusal":         author,
	"streamhttp.session":         "sessions",
	"streamhttp.sessionKeyEntry": "ids of ended sessions",
	"streamhttp.sessionKeys":     "ids of ended sessions",
	"streamhttp.sessionRecord":   "records of sessions",
	"streamhttp.sessions":        "sessions",
	"streamhttp.sharedQuestion":  "questions",
	"streamhttp.sharedSession":   "subscriptions of one session that replicas share",
	"streamhttp.sharedSessions":  "questions",
	"streamhttp.sharedStreams":   "streams",
	"streamhttp.stream":          "streams",
	"streamhttp.streamConn":      "streams",
	"streamhttp.streamRecord":    "record of an open stream",
	"tasks.*":                    "tasks",
	"usercode.Panic":             author,
}

// A failure here means that something which a client sends may stay in the memory of a server, and that
// nobody has said what bounds it. Closures and fields of type any are not searched.
func TestEachTypeThatKeepsBytesOfAPeerHasABound(t *testing.T) {
	t.Parallel()
	bounds := namedBounds(t)
	w := &keptWalk{packages: typesOfServers(t), seen: make(map[types.Type]bool), used: make(map[string]bool)}
	for _, found := range w.all() {
		t.Errorf("%s can hold bytes of a peer for longer than a request: bound them in bytes and by owner, and add the type to keptTypes", found)
	}
	for name, bound := range keptTypes {
		if !w.used[name] {
			t.Errorf("%s: there is no such type, or nothing holds bytes there: drop it from keptTypes", name)
		}
		if !slices.ContainsFunc(bounds, func(b string) bool { return strings.HasPrefix(b, bound) }) {
			t.Errorf("%s: the bound %q is no name of a limit and begins no row of docs/limits.md", name, bound)
		}
	}
}

// namedBounds returns the constants, and the names of the limits and the rows of docs/limits.md.
func namedBounds(t *testing.T) []string {
	page, err := os.ReadFile("docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	bounds := []string{author, request, replicas}
	for line := range strings.Lines(string(page)) {
		if cells := strings.Split(strings.Trim(line, "| \n"), " | "); len(cells) > 1 {
			bounds = append(bounds, cells[0])
			for _, m := range regexp.MustCompile("`([a-z.]+)`").FindAllStringSubmatch(cells[len(cells)-1], -1) {
				bounds = append(bounds, m[1])
			}
		}
	}
	return bounds
}

// keptWalk follows the fields of types.
type keptWalk struct {
	packages []*types.Package
	seen     map[types.Type]bool
	used     map[string]bool // the keys of keptTypes that were found
	found    []string        // types that are not there, each with one field
}

// serverSide are the packages in which each type with a lock is searched, with all that it reaches. A
// type that several requests use at the same time outlives them.
var serverSide = regexp.MustCompile(`/mcp/(mcpserver|mcpext/\w+|internal/(changes|durable|exchange|limit|listen|memory|peer|quota|registry|replay|replica|stdio|streamhttp))$`)

func (w *keptWalk) all() []string {
	for _, pkg := range w.packages {
		for _, named := range namedTypes(pkg) {
			if serverSide.MatchString(pkg.Path()) && hasLock(named.Underlying()) {
				w.walk(named)
			}
		}
	}
	slices.Sort(w.found)
	return w.found
}

func namedTypes(pkg *types.Package) (all []*types.Named) {
	for _, name := range pkg.Scope().Names() {
		if n, ok := pkg.Scope().Lookup(name).Type().(*types.Named); ok {
			all = append(all, n)
		}
	}
	return all
}

func hasLock(t types.Type) bool {
	s, ok := t.(*types.Struct)
	return ok && slices.ContainsFunc(slices.Collect(s.Fields()), func(f *types.Var) bool {
		return strings.HasPrefix(f.Type().String(), "sync.")
	})
}

func (w *keptWalk) walk(t types.Type) {
	if t = types.Unalias(t); w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		for arg := range t.TypeArgs().Types() {
			w.walk(arg)
		}
		if pkg := t.Obj().Pkg(); pkg != nil && strings.HasPrefix(pkg.Path(), module) {
			w.walkNamed(t, pkg.Name()+"."+t.Obj().Name())
		}
	case *types.Map:
		w.walk(t.Key())
		w.walk(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			w.walk(f.Type())
		}
	case interface{ Elem() types.Type }:
		w.walk(t.Elem())
	}
}

func (w *keptWalk) walkNamed(t *types.Named, name string) {
	if isOfClients(t) || w.isOfAuthor(t, name) {
		return
	}
	switch u := t.Underlying().(type) {
	case *types.Interface:
		w.walkImplementations(u)
	case *types.Struct:
		for f := range u.Fields() {
			if holdsBytes(f.Type()) {
				w.hold(name, f)
			}
		}
		w.walk(u)
	default:
		w.walk(u)
	}
}

// isOfClients reports whether a type belongs to clients, or is data of package mcp.
func isOfClients(t *types.Named) bool {
	_, isInterface := t.Underlying().(*types.Interface)
	return t.Obj().Pkg().Name() == "mcp" && !isInterface || ofClients.MatchString(t.Obj().Pkg().Path())
}

var ofClients = regexp.MustCompile(`/(mcpclient|mcpmodel|mcpauth|httpclient|sse|spawn|resultcache|sharedcache|oauth|egress)$`)

func (w *keptWalk) isOfAuthor(t *types.Named, name string) bool {
	if all := t.Obj().Pkg().Name() + ".*"; keptTypes[all] != "" {
		w.used[all] = true
		return true
	}
	if keptTypes[name] == author {
		w.used[name] = true
		return true
	}
	return false
}

func (w *keptWalk) hold(name string, f *types.Var) {
	if _, ok := keptTypes[name]; ok {
		w.used[name] = true
		return
	}
	if !slices.ContainsFunc(w.found, func(found string) bool { return strings.HasPrefix(found, name+" ") }) {
		w.found = append(w.found, fmt.Sprintf("%s (its field %s)", name, f.Name()))
	}
}

func (w *keptWalk) walkImplementations(of *types.Interface) {
	if of.NumMethods() == 0 {
		return
	}
	for _, pkg := range w.packages {
		for _, named := range namedTypes(pkg) {
			if !types.IsInterface(named) && named.TypeParams() == nil && types.Implements(types.NewPointer(named), of) {
				w.walk(named)
			}
		}
	}
}

// holdsBytes reports whether a value of a type holds text or bytes, or a table. Fields of structs of
// this module are searched by themselves, except those of package mcp.
func holdsBytes(t types.Type) bool {
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		return t.Kind() == types.String
	case *types.Map:
		return true
	case *types.Slice:
		return types.Identical(t.Elem(), types.Typ[types.Byte]) || holdsBytes(t.Elem())
	case *types.Struct:
		return slices.ContainsFunc(slices.Collect(t.Fields()), func(f *types.Var) bool { return holdsBytes(f.Type()) })
	case interface{ Elem() types.Type }: // a pointer, an array, a channel
		return holdsBytes(t.Elem())
	case *types.Named:
		return namedHoldsBytes(t)
	}
	return false
}

func namedHoldsBytes(t *types.Named) bool {
	pkg := t.Obj().Pkg()
	if pkg == nil || types.IsInterface(t) {
		return false
	}
	if _, ok := t.Underlying().(*types.Struct); ok && pkg.Name() != "mcp" {
		return slices.Contains([]string{"net/http", "net/url", "bytes", "bufio", "strings", "container/list"}, pkg.Path())
	}
	if _, ok := t.Underlying().(*types.Basic); ok && pkg.Name() == "mcp" {
		return false // one of a few names
	}
	return holdsBytes(t.Underlying())
}

// typesOfServers returns the packages of this module that a server is made of, with all their types.
func typesOfServers(t *testing.T) (all []*types.Package) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", "./mcp/mcpserver", "./mcp/mcpext/...")
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	list, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.Bytes())
	}
	l := &typeLoader{fset: token.NewFileSet(), exports: make(map[string]string), ours: make(map[string]*types.Package)}
	l.others = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(l.exports[path]) })
	for d := jsontext.NewDecoder(bytes.NewReader(list)); ; {
		var p listedPackage
		err := json.UnmarshalDecode(d, &p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := l.load(p)
		if err != nil {
			t.Fatal(err)
		}
		if pkg != nil {
			all = append(all, pkg)
		}
	}
}

type listedPackage struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// typeLoader reads the packages of this module from their source, so that unexported types are there,
// and others from what the compiler has exported.
type typeLoader struct {
	fset    *token.FileSet
	exports map[string]string
	others  types.Importer
	ours    map[string]*types.Package
}

// load returns nil for a package of another module.
func (l *typeLoader) load(p listedPackage) (*types.Package, error) {
	l.exports[p.ImportPath] = p.Export
	if !strings.HasPrefix(p.ImportPath, module) {
		return nil, nil
	}
	files := make([]*ast.File, len(p.GoFiles))
	for i, name := range p.GoFiles {
		file, err := parser.ParseFile(l.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files[i] = file
	}
	config := types.Config{Importer: l, IgnoreFuncBodies: true}
	pkg, err := config.Check(p.ImportPath, l.fset, files, nil)
	l.ours[p.ImportPath] = pkg
	return pkg, err
}

// Import implements types.Importer.
func (l *typeLoader) Import(path string) (*types.Package, error) {
	if pkg := l.ours[path]; pkg != nil {
		return pkg, nil
	}
	return l.others.Import(path)
}
