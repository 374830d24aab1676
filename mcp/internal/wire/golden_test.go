package wire

import (
	"bytes"
	"encoding/json/v2"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

var update = flag.Bool("update", false, "write the schemas in testdata anew")

// The schemas stand in testdata for people to read, and for others to compare
// theirs with: a line for each part of a message and for each definition.
func TestSchemasMatchTheRecordedOnes(t *testing.T) {
	t.Parallel()
	for _, v := range mcp.Revisions() {
		name := filepath.Join("testdata", v.String()+".json")
		got := recorded(t, NewSchema(dialect.Of(v), nil, false))
		if *update {
			if err := os.WriteFile(name, got, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what is generated; see whether that is as the specification has it, and run with -update", name)
		}
	}
}

// recorded returns a schema as it stands in a file.
func recorded(t *testing.T, s *Schema) []byte {
	t.Helper()
	parts := make(map[string]node)
	for key, sh := range s.parts {
		parts[key] = sh.schema
	}
	var b bytes.Buffer
	b.WriteString("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\n\"parts\":{\n")
	writeLines(t, &b, parts)
	b.WriteString("},\n\"$defs\":{\n")
	writeLines(t, &b, s.defs)
	b.WriteString("}}\n")
	return b.Bytes()
}

func writeLines(t *testing.T, b *bytes.Buffer, nodes map[string]node) {
	t.Helper()
	for i, name := range slices.Sorted(maps.Keys(nodes)) {
		raw, err := json.Marshal(nodes[name], json.Deterministic(true))
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(b, "%q:%s", name, raw)
	}
	b.WriteString("\n")
}
