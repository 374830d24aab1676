package api_test

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAPIIsRecordedInTheListOfRenames shows that the changelog has each name of
// renames.txt, in the list that "make api" writes.
func TestAPIIsRecordedInTheListOfRenames(t *testing.T) {
	text, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	changelog, all := string(text), renames(t)
	if *update {
		if changelog, err = replaceRenameList(changelog, renameList(all)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("../CHANGELOG.md", []byte(changelog), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range all {
		if pkg, name := splitName(r.old); !listsRename(changelog, pkg, name) {
			t.Errorf("CHANGELOG.md: the list of renamed names does not have %s of %s: run make api", name, pkg)
		}
	}
}

const renameListTitle = "- Renamed exported names (`api/renames.txt` has them with their import paths):\n"

// listsRename reports whether a changelog has the old name of a package in a list of
// renames.
func listsRename(changelog, pkg, name string) bool {
	for _, list := range strings.Split(changelog, renameListTitle)[1:] {
		for line := range strings.Lines(joinWrapped(list)) {
			if !strings.HasPrefix(line, "  ") {
				break
			}
			if strings.HasPrefix(line, "  - "+pkg+": ") && strings.Contains(line, "`"+name+"`") {
				return true
			}
		}
	}
	return false
}

// joinWrapped puts each entry of a nested list on a line of its own.
func joinWrapped(list string) string { return strings.ReplaceAll(list, "\n    ", " ") }

// renameList returns the changelog's list of renames: an entry for each package, with
// old and new names.
func renameList(all []rename) string {
	byPackage := make(map[string][]string)
	var packages []string
	for _, r := range all {
		pkg, name := splitName(r.old)
		if byPackage[pkg] == nil {
			packages = append(packages, pkg)
		}
		byPackage[pkg] = append(byPackage[pkg], fmt.Sprintf("`%s` → %s", name, replacement(pkg, r)))
	}
	slices.Sort(packages)
	var b strings.Builder
	b.WriteString(renameListTitle)
	for _, pkg := range packages {
		slices.Sort(byPackage[pkg])
		b.WriteString(wrap("  - "+pkg+": "+strings.Join(byPackage[pkg], ", ")+".", "    "))
	}
	return b.String()
}

var goName = regexp.MustCompile(`^[\pL\pN_.]+$`)

// replacement says what replaces a name of a package: the new name, with its package
// if that is another one, or what to write.
func replacement(pkg string, r rename) string {
	name, manual := strings.CutPrefix(r.new, "manual: ")
	if !manual {
		newPackage, newName := splitName(r.new)
		if name = newName; newPackage != pkg {
			name = newPackage + "." + newName
		}
	}
	if !goName.MatchString(name) {
		return "see `renames.txt`"
	}
	return "`" + strings.TrimPrefix(name, pkg+".") + "`"
}

// splitName splits a name with its import path into the name of the package and the
// name in it.
func splitName(full string) (pkg, name string) {
	pkg, name, _ = strings.Cut(path.Base(full), ".")
	return pkg, name
}

// replaceRenameList returns the changelog with the list in place of the one that its
// newest section has under Changed, or else as a new entry there.
func replaceRenameList(changelog, list string) (string, error) {
	before, after, found := strings.Cut(changelog, "\n### Changed\n")
	if !found {
		return "", fmt.Errorf("CHANGELOG.md: want a heading \"### Changed\" under Unreleased")
	}
	section, rest := after, ""
	if i := strings.Index(after, "\n## "); i >= 0 {
		section, rest = after[:i], after[i:]
	}
	lines := slices.Collect(strings.Lines(section))
	i := slices.Index(lines, renameListTitle)
	if i < 0 {
		return before + "\n### Changed\n\n" + list + strings.TrimPrefix(after, "\n"), nil
	}
	end := i + 1
	for end < len(lines) && strings.HasPrefix(lines[end], "  ") {
		end++
	}
	lines = slices.Replace(lines, i, end, list)
	return before + "\n### Changed\n" + strings.Join(lines, "") + rest, nil
}

// wrap breaks a line between words so that it fits into 118 bytes where it can, and
// indents the further ones.
func wrap(text, indent string) string {
	const width = 118
	indentation := text[:len(text)-len(strings.TrimLeft(text, " "))]
	var b strings.Builder
	line := indentation
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+1+len(word) > width:
			b.WriteString(line + "\n")
			line = indent + word
		default:
			line += " " + word
		}
	}
	return b.String() + line + "\n"
}

func TestListOfRenamesReplacesTheOneBefore(t *testing.T) {
	t.Parallel()
	all := []rename{
		{module + "mcp/b.Old", module + "mcp/b.New"},
		{module + "mcp/a.T.M", "manual: a.T.N"},
		{module + "mcp/a.Gone", "manual: write it yourself"},
		{module + "mcp/a.Moved", module + "mcp/b.Moved"},
	}
	list := renameListTitle + "  - a: `Gone` → see `renames.txt`, `Moved` → `b.Moved`, `T.M` → `T.N`.\n  - b: `Old` → `New`.\n"
	if got := renameList(all); got != list {
		t.Fatalf("got %q, want %q", got, list)
	}
	const start, end = "## [Unreleased]\n\n### Changed\n\n", "- other\n\n### Fixed\n\n## [0.1.0]\n\n### Changed\n\n- old\n"
	for name, before := range map[string]string{"new": "", "replaced": renameListTitle + "  - a: `Old`\n    → `Older`.\n"} {
		got, err := replaceRenameList(start+before+end, list)
		if err != nil || got != start+list+end {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if changelog := start + strings.ReplaceAll(list, ", ", ",\n    ") + end; !listsRename(changelog, "a", "T.M") || listsRename(changelog, "a", "Old") {
		t.Errorf("in %q: want T.M of a, and not Old of a", changelog)
	}
}
