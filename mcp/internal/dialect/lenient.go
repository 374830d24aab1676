package dialect

import (
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// DecodeLenient decodes what Decode refuses: a result off its format, or what a client says about itself
// in initialize, into a pointer to its type. It reports what it has left out. It fails if nothing can be
// kept: for a list that is no array, and for types that it does not know.
//
//   - A value that stands where a list is wanted is a list of one. A result that is no object is its content.
//   - An element that cannot be read is left out, and so is a member that may be absent, each alone.
//   - Text is text: what is no string, where the model or the user reads text, is the text of its JSON. So are
//     content blocks that are none. Names, URIs and cursors are never converted.
//   - What is no boolean is true, but for null, 0 and the texts "", "0", "no", "off" and "false". A hint is
//     left out instead, because its default is the careful one.
//   - A capability is declared by true and by an empty list, too.
//   - Bytes may be base64 in any of its alphabets, with or without padding, also in a data URL.
//
// See docs/decisions/0023-results-off-their-format.md.
func DecodeLenient(raw jsontext.Value, out any) (LeftOut, error) {
	r := newLenientReader()
	switch out := out.(type) {
	case *mcp.CallToolResult:
		return decodeLenient(r, asMember("content", raw), out)
	case *mcp.ReadResourceResult:
		return decodeLenient(r, asMember("contents", raw), out)
	case *mcp.GetPromptResult:
		return decodeLenient(r, asMember("messages", raw), out)
	case *mcp.CompleteResult:
		return decodeLenient(r, asMember("completion", raw), out)
	case *mcp.EmptyResult:
		return decodeLenient(r, asMember("value", raw), out)
	case *mcp.ListToolsResult:
		return decodePage(r, raw, out, "tools")
	case *mcp.ListPromptsResult:
		return decodePage(r, raw, out, "prompts")
	case *mcp.ListResourcesResult:
		return decodePage(r, raw, out, "resources")
	case *mcp.ListResourceTemplatesResult:
		return decodePage(r, raw, out, "resourceTemplates")
	case *mcp.InitializeParams:
		if rawjson.Member(raw, "protocolVersion").Kind() == '"' {
			return decodeLenient(r, raw, out)
		}
	case *mcp.InitializeResult:
		if rawjson.Member(raw, "protocolVersion").Kind() == '"' {
			return decodeLenient(r, raw, out)
		}
	case *mcp.DiscoverResult:
		return decodePage(r, raw, out, "supportedVersions")
	case *mcp.LoggingMessageParams:
		return decodeLenient(r, raw, out)
	case *mcp.ProgressParams:
		if rawjson.Member(raw, "progress").Kind() == '0' {
			return decodeLenient(r, raw, out)
		}
	}
	return LeftOut{}, errors.New("nothing can be kept")
}

// LeftOut is what was left out of a result.
type LeftOut struct {
	Count int
	Names []string // of the first ones: the name of an item, or the place in the result
}

// maxNamed limits the names in a LeftOut, and maxNamedBytes each of them.
const (
	maxNamed      = 16
	maxNamedBytes = 64
)

func (l *LeftOut) add(name string) {
	if l.Count++; len(l.Names) < maxNamed {
		l.Names = append(l.Names, shortName(name))
	}
}

// shortName returns at most maxNamedBytes characters of a name.
func shortName(name string) string { return validText(fmt.Sprintf("%.*s", maxNamedBytes, name)) }

func decodeLenient[T any](r *lenientReader, raw jsontext.Value, out *T) (LeftOut, error) {
	*out = *new(T)
	err := json.Unmarshal(raw, out, r.options)
	return r.leftOut, err
}

// decodePage decodes one page of a list.
func decodePage[T any](r *lenientReader, raw jsontext.Value, out *T, items string) (LeftOut, error) {
	if rawjson.Member(raw, items).Kind() != '[' {
		return LeftOut{}, fmt.Errorf("%s: want an array", items)
	}
	return decodeLenient(r, raw, out)
}

// asMember returns a result as an object: what is none is the value of its main member.
func asMember(name string, raw jsontext.Value) jsontext.Value {
	switch raw.Kind() {
	case '{':
		return raw
	case 'n':
		return jsontext.Value("{}")
	}
	return withMember(jsontext.Value("{}"), name, raw)
}

// lenientReader decodes one result. Its options have a function for each type in which a value of another
// type can be borne.
type lenientReader struct {
	options json.Options
	inside  string // the name of the element that is decoded
	leftOut LeftOut
}

func newLenientReader() *lenientReader {
	r := new(lenientReader)
	r.options = json.WithUnmarshalers(json.JoinUnmarshalers(
		// Members that may be absent.
		optional[string](r), optional[*string](r), optional[mcp.Role](r), optional[mcp.IconTheme](r),
		optional[mcp.CacheScope](r), optional[mcp.TaskSupport](r), optional[mcp.LoggingLevel](r), optional[mcp.ResultType](r),
		optional[*bool](r), optional[float64](r), optional[*float64](r), optional[mcp.Meta](r), optional[map[string]jsontext.Value](r),
		object[mcp.Annotations](r), object[mcp.ToolAnnotations](r), object[mcp.ToolExecution](r), object[mcp.TasksCapability](r), object[mcp.TaskRequests](r),
		json.UnmarshalFromFunc(r.readInteger), json.UnmarshalFromFunc(readTruth), json.UnmarshalFromFunc(readBytes),
		// The peer.
		whole[mcp.ServerCapabilities](r), whole[mcp.ClientCapabilities](r), whole[mcp.Implementation](r),
		declared[mcp.Capability](r), declared[mcp.ListCapability](r), declared[mcp.ResourcesCapability](r),
		declared[mcp.ElicitationCapability](r), declared[mcp.SamplingCapability](r), declared[mcp.RootsCapability](r),
		// Lists.
		elementwise[[]string](r, decodeElement[string]), elementwise[[]mcp.Role](r, decodeElement[mcp.Role]),
		elementwise[[]mcp.Icon](r, named(r, func(i *mcp.Icon) string { return i.Src })),
		elementwise[[]mcp.PromptArgument](r, named(r, func(a *mcp.PromptArgument) string { return a.Name })),
		elementwise[[]mcp.Tool](r, named(r, func(t *mcp.Tool) string { return t.Name })),
		elementwise[[]mcp.Prompt](r, named(r, func(p *mcp.Prompt) string { return p.Name })),
		elementwise[[]mcp.Resource](r, named(r, func(v *mcp.Resource) string { return v.URI })),
		elementwise[[]mcp.ResourceTemplate](r, named(r, func(t *mcp.ResourceTemplate) string { return t.URITemplate })),
		// Contents.
		elementwise[mcp.Contents](r, r.readBlock), elementwise[[]mcp.PromptMessage](r, r.readMessages),
		elementwise[[]mcp.ResourceContents](r, r.readContents), json.UnmarshalFromFunc(r.readEmbedded),
		json.UnmarshalFromFunc(r.readCompletion),
	))
	return r
}

// path returns where the next value of a decoder is.
func (r *lenientReader) path(dec *jsontext.Decoder) string {
	return strings.TrimPrefix(r.inside+string(dec.StackPointer()), "/")
}

// optional returns a function that leaves out a member which cannot be decoded.
func optional[T any](r *lenientReader) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v *T) error {
		where := r.path(dec)
		raw, err := dec.ReadValue()
		if err == nil && json.Unmarshal(raw, v) != nil {
			*v = *new(T)
			r.leftOut.add(where)
		}
		return err
	})
}

// object returns a function that leaves out a member which is no object.
func object[T any](r *lenientReader) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, _ **T) error {
		if kind := dec.PeekKind(); kind == '{' || kind == 'n' {
			return errors.ErrUnsupported
		}
		r.leftOut.add(r.path(dec))
		return dec.SkipValue()
	})
}

// whole returns a function that takes a member which is no object for an empty one.
func whole[T any](r *lenientReader) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, _ *T) error {
		if dec.PeekKind() == '{' {
			return errors.ErrUnsupported
		}
		r.leftOut.add(r.path(dec))
		return dec.SkipValue()
	})
}

// declared returns a function that takes true and an empty list for an empty object, which declares a capability:
// some encoders know no difference between empty lists and objects.
func declared[T any](r *lenientReader) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, v **T) error {
		if kind := dec.PeekKind(); kind == '{' || kind == 'n' {
			return errors.ErrUnsupported
		}
		where := r.path(dec)
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		empty := true
		for range rawjson.Elements(raw) {
			empty = false
		}
		switch kind := raw.Kind(); {
		case kind == 't' || kind == '[' && empty:
			*v = new(T)
		case kind != 'f':
			r.leftOut.add(where)
		}
		return nil
	})
}

// elementwise returns a function that reads the elements of an array one by one. Read returns what an element
// stands for; if it fails, the element is left out.
func elementwise[S ~[]T, T any](r *lenientReader, read func(element jsontext.Value) ([]T, error)) *json.Unmarshalers {
	return json.UnmarshalFromFunc(func(dec *jsontext.Decoder, list *S) error {
		where, outside := r.path(dec), r.inside
		defer func() { r.inside = outside }()
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}
		*list = S{}
		i := 0
		for element := range elementsOf(raw) {
			before := r.leftOut
			r.inside = where + "/" + strconv.Itoa(i)
			if found, err := read(element); err == nil {
				*list = append(*list, found...)
			} else {
				r.leftOut = before
				r.leftOut.add(r.inside)
			}
			i++
		}
		return nil
	})
}

// elementsOf yields the elements of an array, nothing for null, and any other value itself.
func elementsOf(raw jsontext.Value) iter.Seq[jsontext.Value] {
	switch raw.Kind() {
	case '[':
		return rawjson.Elements(raw)
	case 'n':
		return func(func(jsontext.Value) bool) {}
	}
	return func(yield func(jsontext.Value) bool) { yield(raw) }
}

// decodeElement decodes an element without parts that could be left out.
func decodeElement[T any](element jsontext.Value) ([]T, error) {
	var v T
	if element.Kind() == 'n' {
		return nil, errors.New("found null")
	}
	err := json.Unmarshal(element, &v)
	return []T{v}, err
}

// named returns a function that decodes an element which has to be an object with a name.
func named[T any](r *lenientReader, name func(*T) string) func(jsontext.Value) ([]T, error) {
	return func(element jsontext.Value) ([]T, error) {
		for _, member := range []string{"name", "uri", "uriTemplate"} {
			if value := rawjson.Member(element, member); value.Kind() == '"' {
				r.inside = shortName(string(rawjson.Unquote(value))) // it is copied for each member
				break
			}
		}
		if element.Kind() != '{' {
			return nil, fmt.Errorf("found %s, want an object", kindName(byte(element.Kind())))
		}
		var v T
		if err := json.Unmarshal(element, &v, r.options); err != nil {
			return nil, err
		}
		if name(&v) == "" {
			return nil, errors.New("has no name")
		}
		return []T{v}, nil
	}
}

// readInteger decodes an integer that may be absent, and may be written as one with a fraction of zeros or an exponent.
func (r *lenientReader) readInteger(dec *jsontext.Decoder, v **int64) error {
	const exact = 1 << 53
	where := r.path(dec)
	raw, err := dec.ReadValue()
	if err != nil || raw.Kind() == 'n' || json.Unmarshal(raw, v) == nil {
		return err
	}
	*v = nil
	if n, err := strconv.ParseFloat(string(raw), 64); err == nil && n == math.Trunc(n) && math.Abs(n) <= exact {
		*v = new(int64(n))
		return nil
	}
	r.leftOut.add(where)
	return nil
}

// readTruth decodes a boolean.
func readTruth(dec *jsontext.Decoder, v *bool) error {
	raw, err := dec.ReadValue()
	if err != nil {
		return err
	}
	switch raw.Kind() {
	case 'n', 'f':
		*v = false
	case '0':
		n, err := strconv.ParseFloat(string(raw), 64)
		*v = n != 0 || err != nil
	case '"':
		switch strings.ToLower(strings.TrimSpace(string(rawjson.Unquote(raw)))) {
		case "", "0", "no", "off", "false":
			*v = false
		default:
			*v = true
		}
	default:
		*v = true
	}
	return nil
}

// readBytes decodes base64 that need not be in its canonical form.
func readBytes(dec *jsontext.Decoder, v *[]byte) error {
	raw, err := dec.ReadValue()
	if err != nil || raw.Kind() == 'n' {
		return err
	}
	if raw.Kind() != '"' {
		return fmt.Errorf("found %s, want base64", kindName(byte(raw.Kind())))
	}
	text := string(rawjson.Unquote(raw))
	if head, data, found := strings.Cut(text, ","); found && strings.HasPrefix(head, "data:") && strings.HasSuffix(head, ";base64") {
		text = data
	}
	text = strings.Map(func(c rune) rune {
		switch c {
		case '-':
			return '+'
		case '_':
			return '/'
		case ' ', '\t', '\r', '\n', '=':
			return -1
		}
		return c
	}, text)
	*v, err = base64.RawStdEncoding.DecodeString(text)
	return err
}

// textOf returns a value as text: a string as it is, nothing for null, and the JSON of any other value.
func textOf(raw jsontext.Value) string {
	switch raw.Kind() {
	case '"':
		return string(rawjson.Unquote(raw))
	case 'n', 0:
		return ""
	}
	return string(raw)
}
