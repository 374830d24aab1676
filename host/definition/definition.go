// Package definition stores which definitions of a server the user has approved: tools,
// prompts, resource templates and instructions, whose texts a model reads. Definitions that
// are new or have changed since wait, and clients do not see them.
//
// What waits of one server is one change with one digest: the user sees all of it, and
// approves it as a whole. The approvals belong to the name of the server in its configuration
// file: another version, or another way to start it, is compared with them.
package definition

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// item is one definition of a listing.
type item struct {
	kind host.DefinitionKind
	name string
	// text is the definition as canonical JSON, and digest that of it.
	text   jsontext.Value
	digest string
	// body is the digest of the description and the schemas, which a renamed definition
	// keeps. It is empty without a description.
	body string
}

// id identifies an item among those of its server.
func (i *item) id() string { return idOf(i.kind, i.name) }

// idOf returns the id of a definition, which records and lock files contain.
func idOf(kind host.DefinitionKind, name string) string { return string(kind) + "/" + name }

// cutID returns the kind and the name of an id.
func cutID(id string) (kind host.DefinitionKind, name string) {
	text, name, _ := strings.Cut(id, "/")
	return host.DefinitionKind(text), name
}

// itemsOf returns the definitions of a listing by kind and name. If several have one name, it
// returns the first, which is the one that clients see.
func itemsOf(s *mcp.Surface) ([]item, error) {
	var all []item
	seen := make(map[string]bool)
	add := func(kind host.DefinitionKind, name string, def any, described string, schemas ...any) error {
		i, err := newItem(kind, name, def, described, schemas...)
		if err != nil {
			return fmt.Errorf("%s %q: %w", kind, name, err)
		}
		if id := i.id(); !seen[id] {
			seen[id] = true
			all = append(all, i)
		}
		return nil
	}
	if s.Instructions != "" {
		if err := add(host.KindInstructions, "", s.Instructions, ""); err != nil {
			return nil, err
		}
	}
	for i := range s.Tools {
		t := s.Tools[i]
		t.Execution = nil // about messages of one revision
		if err := add(host.KindTool, t.Name, &t, t.Description, t.InputSchema, t.OutputSchema); err != nil {
			return nil, err
		}
	}
	for i := range s.Prompts {
		p := &s.Prompts[i]
		if err := add(host.KindPrompt, p.Name, p, p.Description, p.Arguments); err != nil {
			return nil, err
		}
	}
	for i := range s.Templates {
		t := &s.Templates[i]
		if err := add(host.KindTemplate, t.URITemplate, t, t.Description, t.MIMEType); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b item) int { return compareIDs(a.kind, a.name, b.kind, b.name) })
	return all, nil
}

// kinds are the kinds of definitions in the order in which they are shown.
var kinds = []host.DefinitionKind{host.KindInstructions, host.KindTool, host.KindPrompt, host.KindTemplate}

func compareIDs(kindA host.DefinitionKind, nameA string, kindB host.DefinitionKind, nameB string) int {
	return cmp.Or(cmp.Compare(slices.Index(kinds, kindA), slices.Index(kinds, kindB)), cmp.Compare(nameA, nameB))
}

func newItem(kind host.DefinitionKind, name string, def any, described string, schemas ...any) (item, error) {
	text, err := canonical(def)
	if err != nil {
		return item{}, err
	}
	i := item{kind: kind, name: name, text: text, digest: digestOf(text)}
	if described != "" {
		body, err := canonical(append([]any{described}, schemas...))
		if err != nil {
			return item{}, err
		}
		i.body = digestOf(body)
	}
	return i, nil
}

// canonical returns a definition as canonical JSON.
//
// Spec: RFC 8785, except that integers keep all digits.
func canonical(def any) (jsontext.Value, error) {
	encoded, err := json.Marshal(def, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	text := jsontext.Value(encoded)
	err = text.Canonicalize(jsontext.CanonicalizeRawInts(false))
	return text, err
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// pick returns the part of a surface that is admitted, by the ids of the items, which it
// deletes: of several definitions with one name only the first was compared.
func pick(s *mcp.Surface, admitted map[string]bool) mcp.Surface {
	var picked mcp.Surface
	if admitted[idOf(host.KindInstructions, "")] {
		picked.Instructions = s.Instructions
	}
	has := func(kind host.DefinitionKind, name string) bool {
		id := idOf(kind, name)
		ok := admitted[id]
		delete(admitted, id)
		return ok
	}
	picked.Tools = filter(s.Tools, func(t *mcp.Tool) bool { return has(host.KindTool, t.Name) })
	picked.Prompts = filter(s.Prompts, func(p *mcp.Prompt) bool { return has(host.KindPrompt, p.Name) })
	picked.Templates = filter(s.Templates, func(t *mcp.ResourceTemplate) bool { return has(host.KindTemplate, t.URITemplate) })
	return picked
}

// filter returns the elements for which keep is true: the list itself if these are all.
func filter[Def any](list []Def, keep func(*Def) bool) []Def {
	for i := range list {
		if keep(&list[i]) {
			continue
		}
		kept := slices.Clone(list[:i])
		for j := i + 1; j < len(list); j++ {
			if keep(&list[j]) {
				kept = append(kept, list[j])
			}
		}
		return kept
	}
	return list
}
