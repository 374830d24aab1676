package config

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// An edit is a text that is being changed as little as possible: everything that
// is not named stays as it is, byte for byte.
type edit struct {
	content []byte
	written span // what was written last
}

// splice puts a text in place of another.
func (e *edit) splice(start, end int, text string) {
	e.content = append(append(append([]byte(nil), e.content[:start]...), text...), e.content[end:]...)
	e.written = span{start, start + len(text)}
}

// set makes a value the member that names lead to, in JSONC. Objects that are not
// there are made; a member that is there is replaced.
func (e *edit) set(path []string, v jsontext.Value) error {
	if len(bytes.TrimSpace(e.content[e.mark():])) == 0 {
		text, err := nest(path, v)
		if err == nil {
			e.splice(e.mark(), len(e.content), e.style(nil).render(text, "")+"\n")
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
				e.insert(containerOf(at), e.style(root), name, inner)
			}
			return err
		}
		at = next
	}
	e.splice(at.StartOffset, at.EndOffset, e.style(root).render(v, e.indentAt(at.StartOffset)))
	return nil
}

// mark is the length of the mark that some editors begin a file with.
func (e *edit) mark() int {
	return len(e.content) - len(bytes.TrimPrefix(e.content, byteOrderMark))
}

// parse reads the text, with offsets in the whole content.
func (e *edit) parse() (*hujson.Value, error) {
	root, err := readJSONC(e.content[e.mark():])
	if err != nil {
		return nil, err
	}
	for v := range root.All() {
		v.StartOffset += e.mark()
		v.EndOffset += e.mark()
	}
	return &root, nil
}

// appendTo adds an element to an array that a name leads to, in JSONC.
func (e *edit) appendTo(name string, v jsontext.Value) error {
	if root, err := e.parse(); err == nil {
		if object, ok := root.Value.(*hujson.Object); ok {
			if array := memberOf(object, name); array != nil && array.Value.Kind() == '[' {
				e.insert(containerOf(array), e.style(root), "", v)
				return nil
			}
		}
	}
	return e.set([]string{name}, jsontext.Value("["+string(v)+"]"))
}

// nest puts a value into objects with one member each.
func nest(path []string, v jsontext.Value) (jsontext.Value, error) {
	for i := len(path) - 1; i >= 0; i-- {
		var o object
		o.add(path[i], v, true)
		text, err := json.Marshal(&o)
		if err != nil {
			return nil, err
		}
		v = text
	}
	return v, nil
}

// memberOf returns the last member with a name, which is what most programs take.
func memberOf(o *hujson.Object, name string) *hujson.Value {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if o.Members[i].Name.Value.(hujson.Literal).String() == name {
			return &o.Members[i].Value
		}
	}
	return nil
}

// A container is an object or an array to which something is added.
type container struct {
	open, close int // the bracket, and the closing one
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
	if last.AfterExtra != nil { // a comma follows it
		c.comma = last.EndOffset + len(last.AfterExtra)
	}
	return c
}

// insert adds an item after the others of a container.
func (e *edit) insert(c container, s style, name string, v jsontext.Value) {
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
		e.after(c, s.newline+indent+name+s.render(v, indent))
	default:
		s.compact = true
		e.after(c, " "+name+s.render(v, ""))
	}
}

// after writes an item after the last one and the comments on its line, with a
// comma where the others have one.
func (e *edit) after(c container, text string) {
	if c.comma >= 0 {
		at := e.lineEnd(c.comma+1, c.close)
		e.splice(at, at, text+",")
		return
	}
	at := e.lineEnd(c.last, c.close)
	e.splice(at, at, text)
	written := span{e.written.start + 1, e.written.end + 1}
	e.splice(c.last, c.last, ",")
	e.written = written
}

// lineEnd returns where the comments end that follow a place on its line.
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

// indentAt returns the white space that the line of a place begins with.
func (e *edit) indentAt(at int) string {
	line := e.content[bytes.LastIndexByte(e.content[:at], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// style is how a file is laid out.
type style struct {
	newline, unit string
	compact       bool // all of it is on one line
}

// style returns that of a file, or without a root the usual one.
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

// render lays out a value for a place with an indent.
func (s style) render(v jsontext.Value, indent string) string {
	text := append(jsontext.Value(nil), v...)
	if s.compact {
		_ = text.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true))
		return string(text)
	}
	_ = text.Indent(jsontext.WithIndentPrefix(indent), jsontext.WithIndent(s.unit))
	return strings.ReplaceAll(string(text), "\n", s.newline)
}
