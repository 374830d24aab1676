package catalog

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
)

// Limits of what one upstream lists, in bytes of JSON. What exceeds them is left out and named
// in the upstream's status.
const (
	// maxText limits one text of a feature, icons excepted.
	maxText = 64 << 10
	// maxFeature limits the definition of one feature.
	maxFeature = 256 << 10
	// maxCatalog limits the definitions of all features together.
	maxCatalog = 8 << 20
	// maxListedBytes limits what is read of the lists, with the features that are left out.
	maxListedBytes = 4 * maxCatalog
	// variableSize is what a variable of a template counts: in a parsed template it takes much more
	// memory than in the text. A template with more than maxTemplateVariables cannot be parsed.
	variableSize         = 256
	maxTemplateVariables = 64
)

// catalogBudget is what one read of the lists of an upstream has used of its limits.
type catalogBudget struct {
	kept    int // bytes of the features that are kept
	listed  int // bytes of all features
	leftOut omissionTexts
}

// admit reports whether a feature is within the limits, and notes why it is not. Icons that
// make a feature too large are removed from it.
func (b *catalogBudget) admit(kind, name string, def any, icons *[]mcp.Icon) bool {
	size, longest, err := measure(def)
	b.listed += size
	if size > maxFeature && len(*icons) > 0 {
		*icons = nil
		all := size
		if size, longest, err = measure(def); size <= maxFeature {
			b.leaveOut(kind, name, "its icons, because it has %d bytes; the limit is %d", all, maxFeature)
		}
	}
	switch {
	case err != nil:
		b.leaveOut(kind, name, "%v", err)
	case size > maxFeature:
		b.leaveOut(kind, name, "%d bytes; the limit of one feature is %d", size, maxFeature)
	case longest > maxText:
		b.leaveOut(kind, name, "a text of %d bytes; the limit is %d", longest, maxText)
	case b.kept+size > maxCatalog:
		b.leaveOut(kind, name, "all features of the server together have more than %d bytes", maxCatalog)
	default:
		b.kept += size
		return true
	}
	return false
}

func (b *catalogBudget) leaveOut(kind, name, format string, args ...any) {
	b.leftOut.add("%s %q is left out: %s", kind, host.CutText(name, maxOmittedName), fmt.Sprintf(format, args...))
}

// measure returns the size of a definition, and of its longest text if that may be too long. The
// variables of a template count, too.
func measure(def any) (size, longest int, err error) {
	encoded, err := json.Marshal(def)
	if len(encoded) > maxText {
		longest = longestText(encoded)
	}
	size = len(encoded)
	if t, ok := def.(*mcp.ResourceTemplate); ok {
		variables := strings.Count(t.URITemplate, "{") + strings.Count(t.URITemplate, ",")
		size += variableSize * min(variables, maxTemplateVariables)
	}
	return size, longest, err
}

// exhausted reports whether nothing more is read.
func (b *catalogBudget) exhausted() bool { return b.listed > maxListedBytes }

// longestText returns the size of the longest string of a definition, without its icons.
func longestText(definition jsontext.Value) (longest int) {
	d := jsontext.NewDecoder(bytes.NewBuffer(definition))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return longest
		}
		if token.Kind() != '"' {
			continue
		}
		text := token.String()
		if d.StackDepth() == 1 && text == "icons" {
			if _, n := d.StackIndex(1); n%2 == 1 { // the name of a member
				if d.SkipValue() != nil {
					return longest
				}
				continue
			}
		}
		longest = max(longest, len(text))
	}
}

const (
	// maxOmissions limits the texts about omitted features of one upstream, maxOmission one of
	// them, and maxOmittedName a name in it, in bytes.
	maxOmissions   = 100
	maxOmission    = 500
	maxOmittedName = 200
)

// omissionTexts are the texts about omitted features, within limits.
type omissionTexts struct {
	texts []string
	more  int // that are counted only
}

func (o *omissionTexts) add(format string, args ...any) {
	if len(o.texts) == maxOmissions {
		o.more++
		return
	}
	o.texts = append(o.texts, host.CutText(fmt.Sprintf(format, args...), maxOmission))
}

// all returns the texts, the last of which counts the others.
func (o *omissionTexts) all() []string {
	if o == nil {
		return nil
	}
	all := slices.Clip(o.texts)
	if o.more > 0 {
		all = append(all, fmt.Sprintf("%d more", o.more))
	}
	return all
}

// omissions has for each upstream, by key, which of its features are not registered, and why.
type omissions map[string]*omissionTexts

func (o omissions) add(key, format string, args ...any) {
	if o[key] == nil {
		o[key] = new(omissionTexts)
	}
	o[key].add(format, args...)
}
