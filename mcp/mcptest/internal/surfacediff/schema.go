package surfacediff

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"maps"
	"slices"
	"strconv"
)

// compareSchemas compares two JSON Schemas. A schema of arguments breaks clients if it accepts
// less, one of results if it accepts more.
func (d *Diff) compareSchemas(member jsontext.Pointer, a, b jsontext.Value, arguments bool) {
	if a.Kind() != '{' || b.Kind() != '{' {
		if !bytes.Equal(a, b) {
			d.here(member, true, "%s", changeText(a, b))
		}
		return
	}
	was, is := parseObject(a), parseObject(b)
	for _, keyword := range slices.Sorted(maps.Keys(mergedKeys(was, is))) {
		if x, y := was[keyword], is[keyword]; !bytes.Equal(x, y) {
			c := &keywordChange{d, member.AppendToken(keyword), x, y, arguments}
			c.compare(keyword)
		}
	}
}

// keywordChange is a keyword that two schemas have with other values; nil is an absent one.
type keywordChange struct {
	*Diff
	at        jsontext.Pointer
	was, is   jsontext.Value
	arguments bool
}

// narrower adds a change after which the schema accepts less.
func (c *keywordChange) narrower(text string) { c.here(c.at, c.arguments, "%s", text) }

// wider adds a change after which the schema accepts more.
func (c *keywordChange) wider(text string) { c.here(c.at, !c.arguments, "%s", text) }

// unknown adds a change that cannot be judged.
func (c *keywordChange) unknown() { c.here(c.at, true, "%s", changeText(c.was, c.is)) }

func (c *keywordChange) compare(keyword string) {
	switch keyword {
	case "title", "description", "$comment", "examples", "default", "deprecated", "$schema":
		c.here(c.at, false, "%s", changeText(c.was, c.is))
	case "type", "enum":
		c.compareSets()
	case "required":
		c.compareRequired()
	case "properties", "$defs", "definitions":
		c.compareMembers()
	case "additionalProperties":
		c.compareAdditional()
	case "items":
		c.compareItems()
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		c.compareBounds(1)
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		c.compareBounds(-1)
	case "pattern", "format", "const", "uniqueItems", "multipleOf":
		c.comparePresence()
	default:
		c.unknown()
	}
}

// compareSets compares the values that are allowed; without the keyword all are.
func (c *keywordChange) compareSets() {
	was, is := setOf(c.was), setOf(c.is)
	if c.was == nil || c.is == nil {
		c.comparePresence()
		return
	}
	for _, v := range slices.Sorted(maps.Keys(mergedKeys(was, is))) {
		switch {
		case !is[v]:
			c.narrower("removed " + v)
		case !was[v]:
			c.wider("added " + v)
		}
	}
}

// compareRequired compares the names of required properties.
func (c *keywordChange) compareRequired() {
	was, is := setOf(c.was), setOf(c.is)
	for _, name := range slices.Sorted(maps.Keys(mergedKeys(was, is))) {
		switch {
		case !was[name]:
			c.narrower("added " + name)
		case !is[name]:
			c.wider("removed " + name)
		}
	}
}

// compareMembers compares schemas by name. Who used one that is removed, misses it, in
// arguments and in results.
func (c *keywordChange) compareMembers() {
	was, is := parseObject(c.was), parseObject(c.is)
	for _, name := range slices.Sorted(maps.Keys(mergedKeys(was, is))) {
		x, y, at := was[name], is[name], c.at.AppendToken(name)
		switch {
		case y == nil:
			c.here(at, true, "removed")
		case x == nil:
			c.here(at, false, "added")
		default:
			c.compareSchemas(at, x, y, c.arguments)
		}
	}
}

// compareAdditional compares whether other properties are allowed. Absent means true.
func (c *keywordChange) compareAdditional() {
	was, is := string(c.was), string(c.is)
	was, is = cmp.Or(was, "true"), cmp.Or(is, "true")
	switch {
	case was == is:
	case was == "true" || is == "false":
		c.narrower(changeText(c.was, c.is))
	case is == "true" || was == "false":
		c.wider(changeText(c.was, c.is))
	default:
		c.compareSchemas(c.at, c.was, c.is, c.arguments)
	}
}

func (c *keywordChange) compareItems() {
	if c.was == nil || c.is == nil {
		c.comparePresence()
		return
	}
	c.compareSchemas(c.at, c.was, c.is, c.arguments)
}

// compareBounds compares a bound; sign is 1 for a lower one and -1 for an upper one.
func (c *keywordChange) compareBounds(sign int) {
	if c.was == nil || c.is == nil {
		c.comparePresence()
		return
	}
	was, err1 := strconv.ParseFloat(string(c.was), 64)
	is, err2 := strconv.ParseFloat(string(c.is), 64)
	switch order := sign * cmp.Compare(is, was); {
	case err1 != nil || err2 != nil || order == 0:
		c.unknown()
	case order > 0:
		c.narrower(changeText(c.was, c.is))
	default:
		c.wider(changeText(c.was, c.is))
	}
}

// comparePresence compares a keyword that restricts if it is present.
func (c *keywordChange) comparePresence() {
	switch {
	case c.was == nil:
		c.narrower(changeText(c.was, c.is))
	case c.is == nil:
		c.wider(changeText(c.was, c.is))
	default:
		c.unknown()
	}
}
