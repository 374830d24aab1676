package mcp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"strings"
	"testing"
)

// parseSource returns the files of the package, without its tests.
func parseSource(t *testing.T) []*ast.File {
	t.Helper()
	names, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// exportedTypes returns the exported types of the package, by name.
func exportedTypes(t *testing.T) map[string]*ast.TypeSpec {
	t.Helper()
	types := map[string]*ast.TypeSpec{}
	for _, file := range parseSource(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.IsExported() {
				types[spec.Name.Name] = spec
			}
			return true
		})
	}
	if len(types) < 80 {
		t.Fatalf("found %d exported types, want the whole vocabulary", len(types))
	}
	return types
}

// deprecated is every identifier of a deprecated feature, fields as Type.Field.
const deprecated = `
	Root ListRootsResult RootsCapability ClientCapabilities.Roots MethodRootsList NotificationRootsListChanged
	CreateMessageParams CreateMessageResult SamplingMessage ModelPreferences ModelHint IncludeContext IncludeNone
	IncludeThisServer IncludeAllServers ToolChoice ToolChoiceMode ToolChoiceAuto ToolChoiceRequired ToolChoiceNone
	StopReason StopEndTurn StopStopSequence StopMaxTokens StopToolUse ToolUseContent ToolResultContent
	SamplingCapability ClientCapabilities.Sampling SamplingTaskRequests TaskRequests.Sampling MethodCreateMessage
	LoggingMessageParams SetLevelParams LoggingLevel LevelDebug LevelInfo LevelNotice LevelWarning LevelError
	LevelCritical LevelAlert LevelEmergency LoggingLevelOf ServerCapabilities.Logging MethodSetLevel
	NotificationMessage MetaLogLevel`

func TestDeprecatedFeaturesSaySo(t *testing.T) {
	t.Parallel()
	docs := docComments(t)
	want := map[string]bool{}
	for name := range strings.FieldsSeq(deprecated) {
		want[name] = true
		_, notice, found := strings.Cut(docs[name], "Deprecated: ")
		switch {
		case !found:
			t.Errorf("%s: got no paragraph that starts with Deprecated", name)
		case !strings.Contains(notice, "SEP-2577") || !strings.Contains(notice, "2027-07-28"):
			t.Errorf("%s: got %q, want the SEP and the earliest date of removal", name, notice)
		}
	}
	for name, doc := range docs {
		if strings.Contains(doc, "Deprecated: ") && !want[name] {
			t.Errorf("%s is deprecated, want it in the list of this test", name)
		}
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	t.Parallel()
	docs := docComments(t)
	if len(docs) < 200 {
		t.Fatalf("found %d exported names, want the whole vocabulary", len(docs))
	}
	for name, doc := range docs {
		if doc == "" && !strings.Contains(name, ".") {
			t.Errorf("%s: got no comment", name)
		}
	}
}

// docComments returns the comments of all exported names: types, functions,
// methods, constants, variables and fields. One that stands in a group has
// that of the group as well.
func docComments(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	for _, file := range parseSource(t) {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil && decl.Name.IsExported() {
					docs[decl.Name.Name] = decl.Doc.Text()
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					addDocs(docs, decl.Doc.Text(), spec)
				}
			}
		}
	}
	return docs
}

func addDocs(docs map[string]string, group string, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() {
				docs[name.Name] = group + spec.Doc.Text()
			}
		}
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return
		}
		docs[spec.Name.Name] = group + spec.Doc.Text()
		body, ok := spec.Type.(*ast.StructType)
		if !ok {
			return
		}
		for _, field := range body.Fields.List {
			for _, name := range field.Names {
				docs[spec.Name.Name+"."+name.Name] = field.Doc.Text()
			}
		}
	}
}
