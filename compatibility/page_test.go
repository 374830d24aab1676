package compatibility

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"testing"
)

// pageRow matches a row of a table of the page that begins with the name of a row here.
var pageRow = regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\|")

func TestPageDescribesEveryRow(t *testing.T) {
	page, err := os.ReadFile("../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	// The rows of authorization servers are tested in mcp/mcpauth, those of files in host/config.
	for _, elsewhere := range []string{"\n## Authorization servers\n", "\n## Files\n"} {
		before, rest, _ := bytes.Cut(page, []byte(elsewhere))
		_, after, _ := bytes.Cut(rest, []byte("\n## "))
		page = slices.Concat(before, []byte("\n## "), after)
	}
	described := make(map[string]int)
	for _, m := range pageRow.FindAllSubmatch(page, -1) {
		described[string(m[1])]++
	}
	for _, name := range rowNames() {
		if described[name] != 1 {
			t.Errorf("docs/compatibility.md has %d lines for the row %q, want 1", described[name], name)
		}
		delete(described, name)
	}
	for name := range described {
		t.Errorf("docs/compatibility.md describes %q, but no row tests it", name)
	}
}

func TestNamesOfRowsAreUsable(t *testing.T) {
	usable, seen := regexp.MustCompile(`^[a-z0-9-]{1,30}$`), []string(nil)
	for _, name := range rowNames() {
		if !usable.MatchString(name) || slices.Contains(seen, name) {
			t.Errorf("row %q: want a name of its own, of 1 to 30 of a-z, 0-9 and '-'", name)
		}
		seen = append(seen, name)
	}
}

// rowNames returns the names of all rows.
func rowNames() (names []string) {
	for _, row := range serverRows {
		names = append(names, row.name)
	}
	for _, row := range clientRows {
		names = append(names, row.name)
	}
	for _, row := range networkRows {
		names = append(names, row.name)
	}
	for _, row := range slices.Concat(environmentRows, programRows) {
		names = append(names, row.name)
	}
	return names
}
