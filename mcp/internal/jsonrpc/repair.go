package jsonrpc

import (
	"bytes"
	"cmp"
	"encoding/json/jsontext"
	"slices"
	"unicode/utf8"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// repair returns the text of a message as strict JSON, if only the following is wrong with it:
//
//   - A string value is not valid Unicode: it has a lone surrogate, because a program has cut a
//     text in the middle of a character, or it is not UTF-8. U+FFFD replaces what is wrong.
//     Names of members, and the values that identifies lists, are not repaired: two
//     different ones could become equal.
//   - A member occurs twice below the envelope of a response. The last one stays, as most
//     parsers would have it. In a request this remains an error, because a request is what
//     policies are applied to.
//
// Everything else is copied as it is. The result is at most three times as long as the text.
func repair(text []byte, limits Limits) ([]byte, *DecodeError) {
	if !limits.fits(text) {
		return nil, invalidf("%d bytes exceed the limit of %d", len(text), limits.Size)
	}
	var o outline
	if start := trimStart(text); len(start) > 0 && start[0] == '{' {
		_, _ = o.readForward(start)
	}
	response := o.kind() == Response
	r := &repairer{
		scanner:  newScanner(text, limits, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(response)),
		response: response,
	}
	defer r.release()
	if err := r.read(); err != nil {
		return nil, err
	}
	return r.apply(limits.Repaired)
}

// repairer reads one text and collects what has to change.
type repairer struct {
	*scanner
	response bool        // members that occur twice are removed
	open     []container // outermost first
	edits    []edit
}

// edit replaces text[from:to].
type edit struct {
	from, to int
	by       []byte
}

// container is an object or array that the scanner has entered.
type container struct {
	key     string // the name of the member that it is the value of, or an element
	data    bool   // nothing in it identifies anything
	member  string // an object: the name that was read last
	members []memberSpan
	last    map[string]int // by name: its last occurrence in members
}

// memberSpan is a member of an object with the comma behind it. The last member has no end
// yet.
type memberSpan struct{ from, to int }

func (r *repairer) read() *DecodeError {
	for {
		start := r.dec.InputOffset()
		if err := r.token(); err != nil {
			return err
		}
		text := r.since(start)
		from := int(r.dec.InputOffset()) - len(text)
		switch text[0] {
		case '{', '[':
			r.enter()
		case '}', ']':
			r.open = r.open[:len(r.open)-1]
		case '"':
			if err := r.str(text, from); err != nil {
				return err
			}
		}
		if len(r.open) == 0 {
			return r.end()
		}
	}
}

// enter adds the container whose opening bracket was read.
func (r *repairer) enter() {
	if len(r.open) == 0 {
		r.open = append(r.open, container{})
		return
	}
	outer := &r.open[len(r.open)-1]
	kind, _ := r.dec.StackIndex(r.dec.StackDepth())
	r.open = append(r.open, container{key: outer.name(), data: outer.data || r.holdsData(outer.member, kind)})
}

// name returns the name of the member whose value is read next, or of which it is an element.
func (c *container) name() string { return cmp.Or(c.member, c.key) }

// str handles a string, the name of a member or a value.
func (r *repairer) str(text []byte, from int) *DecodeError {
	fixed, ok := replaceInvalid(text)
	if len(r.open) == 0 {
		return nil // Not a message. The envelope is checked later.
	}
	in := &r.open[len(r.open)-1]
	switch {
	case r.isName() && !ok:
		return parseErrorf("member name %s is not valid Unicode (byte %d)", excerpt(fixed), from)
	case r.isName():
		return r.name(in, string(rawjson.Unquote(text)), from)
	case ok:
		return nil
	case !in.data && identifies(in):
		return parseErrorf("member %s is not valid Unicode: found %s (byte %d)", in.name(), excerpt(fixed), from)
	}
	r.edits = append(r.edits, edit{from, from + len(text), fixed})
	return nil
}

// name notes the name of a member, and removes an earlier member with that name.
func (r *repairer) name(in *container, name string, from int) *DecodeError {
	in.member = name
	if !r.response {
		return nil // The decoder refuses what occurs twice.
	}
	last := len(in.members) - 1
	if last >= 0 {
		in.members[last].to = from
	} else {
		in.last = make(map[string]int)
	}
	if earlier, twice := in.last[name]; twice {
		if len(r.open) == 1 {
			return parseErrorf("member name %s occurs twice in one object (byte %d)", excerpt(name), from)
		}
		r.edits = append(r.edits, edit{from: in.members[earlier].from, to: in.members[earlier].to})
	}
	in.last[name] = last + 1
	in.members = append(in.members, memberSpan{from: from})
	return nil
}

// apply returns the text after all edits, if that fits into a limit above 0. Edits within a
// removed member have no effect.
func (r *repairer) apply(limit int) ([]byte, *DecodeError) {
	slices.SortStableFunc(r.edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	size, copied := len(r.text), 0
	for _, e := range r.edits {
		if e.from >= copied {
			size += len(e.by) - (e.to - e.from)
			copied = e.to
		}
	}
	if limit > 0 && size > limit {
		return nil, invalidf("message longer than %d bytes with U+FFFD in place of what is not valid Unicode", limit)
	}
	out := make([]byte, 0, size)
	copied = 0
	for _, e := range r.edits {
		if e.from < copied {
			continue
		}
		out = append(append(out, r.text[copied:e.from]...), e.by...)
		copied = e.to
	}
	return append(out, r.text[copied:]...), nil
}

// replaceInvalid returns the text of a string with U+FFFD in place of what is not valid
// Unicode, and reports whether the text was valid.
func replaceInvalid(text []byte) (fixed []byte, ok bool) {
	if utf8.Valid(text) && !bytes.Contains(text, []byte(`\u`)) {
		return text, true
	}
	decoded, err := jsontext.AppendUnquote(nil, text)
	if err == nil {
		return text, true
	}
	return rawjson.AppendString(nil, string(decoded)), false
}

// identifiers are the members whose strings name something: a method, a feature, a resource, a
// request, a page, a state. An element of an array has the name of the array.
var identifiers = map[string]bool{
	"jsonrpc": true, "id": true, "method": true,
	"name": true, "uri": true, "uriTemplate": true, "url": true, "resourceSubscriptions": true,
	"cursor": true, "nextCursor": true, "requestState": true,
	"progressToken": true, "requestId": true, "taskId": true, "elicitationId": true, "toolUseId": true,
}

// identifies reports whether a string in the container identifies something. The names of
// roots are texts for people.
func identifies(in *container) bool {
	return identifiers[in.name()] && !(in.member == "name" && in.key == "roots")
}

// dataMembers are the members whose value is data of an application: a member of it with the
// name of an identifier is none.
var dataMembers = map[string]bool{
	"structuredContent": true, "input": true, "data": true,
	"inputSchema": true, "outputSchema": true, "requestedSchema": true,
}

// holdsData reports whether the object or array that begins is data of an application, if it
// is the value of that member; an element of an array has no member of its own. Arguments are data unless they are the array that describes those of
// a prompt. The content of a result or an answer is data if it is an object, such as a form that
// a user has filled in; it has identifiers if it is an array of contents.
func (r *repairer) holdsData(key string, kind jsontext.Kind) bool {
	switch key {
	case "arguments":
		return kind == '{'
	case "content":
		n := len(r.open)
		return kind == '{' && (r.open[n-1].key == "result" || n >= 2 && r.open[n-2].key == "inputResponses")
	}
	return dataMembers[key]
}
