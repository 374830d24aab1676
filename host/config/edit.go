package config

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// An edit changes a text as little as possible: everything else stays as it is, byte for
// byte.
type edit struct {
	content     []byte
	lastWritten span // of the last splice
}

// splice replaces a part of the text.
func (e *edit) splice(start, end int, text string) {
	e.content = append(append(append([]byte(nil), e.content[:start]...), text...), e.content[end:]...)
	e.lastWritten = span{start, start + len(text)}
}

// set sets the member at a path of names, in JSONC. It creates missing objects, and
// replaces an existing member.
func (e *edit) set(path []string, v jsontext.Value) error {
	if len(bytes.TrimSpace(e.content[e.bomLength():])) == 0 {
		text, err := nest(path, v)
		if err == nil {
			e.splice(e.bomLength(), len(e.content), e.style(nil).render(text, "")+"\n")
		}
		return err
	}
	root, err := e.parse()
	if err != nil {
		return err
	}
	at := root
	for i, name := range path {
		object, ok := at.Value.(*hujson.Object)
		if !ok {
			return fmt.Errorf("/%s: found no object to add %q to", strings.Join(path[:i], "/"), name)
		}
		next := memberOf(object, name)
		if next == nil {
			inner, err := nest(path[i+1:], v)
			if err == nil {
				e.insertItem(containerOf(at), e.style(root), name, inner)
			}
			return err
		}
		at = next
	}
	e.splice(at.StartOffset, at.EndOffset, e.style(root).render(v, e.indentAt(at.StartOffset)))
	return nil
}

// bomLength is the length of a byte order mark at the start.
func (e *edit) bomLength() int {
	return len(e.content) - len(bytes.TrimPrefix(e.content, byteOrderMark))
}

// parse parses the text, with offsets in the whole content.
func (e *edit) parse() (*hujson.Value, error) {
	root, err := readJSONC(e.content[e.bomLength():])
	if err != nil {
		return nil, err
	}
	for v := range root.All() {
		v.StartOffset += e.bomLength()
		v.EndOffset += e.bomLength()
	}
	return &root, nil
}

// appendTo appends an element to the array at a name, in JSONC.
func (e *edit) appendTo(name string, v jsontext.Value) error {
	if root, err := e.parse(); err == nil {
		if object, ok := root.Value.(*hujson.Object); ok {
			if array := memberOf(object, name); array != nil && array.Value.Kind() == '[' {
				e.insertItem(containerOf(array), e.style(root), "", v)
				return nil
			}
		}
	}
	return e.set([]string{name}, jsontext.Value("["+string(v)+"]"))
}

// nest wraps a value in objects with one member each.
func nest(path []string, v jsontext.Value) (jsontext.Value, error) {
	for i := len(path) - 1; i >= 0; i-- {
		var o orderedObject
		o.add(path[i], v, true)
		text, err := json.Marshal(&o)
		if err != nil {
			return nil, err
		}
		v = text
	}
	return v, nil
}

// memberOf returns the last member with a name, which most programs use.
func memberOf(o *hujson.Object, name string) *hujson.Value {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if o.Members[i].Name.Value.(hujson.Literal).String() == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

// A container is an object or an array to which an item is added.
type container struct {
	open, close int // offsets of the opening and the closing bracket
	first, last int // where the first item starts and the last one ends
	comma       int // after the last item, or -1
	empty       bool
}

func containerOf(v *hujson.Value) container {
	c := container{open: v.StartOffset, close: v.EndOffset - 1, comma: -1}
	var last *hujson.Value
	switch v := v.Value.(type) {
	case *hujson.Object:
		if c.empty = len(v.Members) == 0; !c.empty {
			c.first, last = v.Members[0].Name.StartOffset, &v.Members[len(v.Members)-1].Value
		}
	case *hujson.Array:
		if c.empty = len(v.Elements) == 0; !c.empty {
			c.first, last = v.Elements[0].StartOffset, &v.Elements[len(v.Elements)-1]
		}
	}
	if last == nil {
		return c
	}
	c.last = last.EndOffset
	if last.AfterExtra != nil { // followed by a comma
		c.comma = last.EndOffset + len(last.AfterExtra)
	}
	return c
}

// insertItem adds an item after the last one of a container.
func (e *edit) insertItem(c container, s style, name string, v jsontext.Value) {
	if name != "" {
		quoted, _ := json.Marshal(name)
		name = string(quoted) + ": "
	}
	inLines := !c.empty && bytes.ContainsRune(e.content[c.open:c.first], '\n')
	switch {
	case c.empty && s.compact:
		e.splice(c.close, c.close, name+s.render(v, ""))
	case c.empty:
		outer := e.indentAt(c.open)
		body := bytes.TrimRight(e.content[c.open+1:c.close], " \t\r\n")
		from := c.open + 1 + len(body)
		e.splice(from, c.close, s.newline+outer+s.unit+name+s.render(v, outer+s.unit)+s.newline+outer)
	case inLines:
		indent := e.indentAt(c.first)
		e.appendItem(c, s.newline+indent+name+s.render(v, indent))
	default:
		s.compact = true
		e.appendItem(c, " "+name+s.render(v, ""))
	}
}

// appendItem writes an item after the last one and the comments on its line, with a comma
// as for the others.
func (e *edit) appendItem(c container, text string) {
	if c.comma >= 0 {
		at := e.lineEnd(c.comma+1, c.close)
		e.splice(at, at, text+",")
		return
	}
	at := e.lineEnd(c.last, c.close)
	e.splice(at, at, text)
	written := span{e.lastWritten.start + 1, e.lastWritten.end + 1}
	e.splice(c.last, c.last, ",")
	e.lastWritten = written
}

// lineEnd returns the end of the comments that follow an offset on its line.
func (e *edit) lineEnd(from, limit int) int {
	end := from
	for i := from; i < limit; {
		rest := e.content[i:limit]
		switch {
		case rest[0] == ' ' || rest[0] == '\t':
			i++
			continue
		case bytes.HasPrefix(rest, []byte("//")):
			if n := bytes.IndexByte(rest, '\n'); n >= 0 {
				return i + len(bytes.TrimRight(rest[:n], "\r"))
			}
			return limit
		case bytes.HasPrefix(rest, []byte("/*")):
			i += bytes.Index(rest, []byte("*/")) + 2
			end = i
			continue
		}
		break
	}
	return end
}

// indentAt returns the white space at the start of the line of an offset.
func (e *edit) indentAt(at int) string {
	line := e.content[bytes.LastIndexByte(e.content[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// style is the formatting of a file.
type style struct {
	newline, unit string
	compact       bool // everything is on one line
}

// style returns the style of a file, or the default without a root.
func (e *edit) style(root *hujson.Value) style {
	s := style{newline: "\n", unit: "  "}
	if bytes.Contains(e.content, []byte("\r\n")) {
		s.newline = "\r\n"
	}
	if root == nil {
		return s
	}
	c := containerOf(root)
	s.compact = !c.empty && !bytes.ContainsRune(e.content[c.open:c.close], '\n')
	if !c.empty {
		if unit := strings.TrimPrefix(e.indentAt(c.first), e.indentAt(c.open)); unit != "" {
			s.unit = unit
		}
	}
	return s
}

// render formats a value for a position with an indent.
func (s style) render(v jsontext.Value, indent string) string {
	text := append(jsontext.Value(nil), v...)
	if s.compact {
		_ = text.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
		return string(text)
	}
	_ = text.Indent(jsontext.WithIndentPrefix(indent), jsontext.WithIndent(s.unit))
	return strings.ReplaceAll(string(text), "\n", s.newline)
}
