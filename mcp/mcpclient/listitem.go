package mcpclient

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

// decode decodes the result of a request of the client. Of a page of a list it leaves out what
// cannot be decoded, alone and with a line in the log.
func (r *Request) decode(raw jsontext.Value) error {
	err := dialect.Decode(raw, r.result)
	if err == nil {
		return nil
	}
	p := pageDecoder{reason: err}
	switch out := r.result.(type) {
	case *mcp.ListToolsResult:
		err = decodePage(&p, raw, out, "tools")
	case *mcp.ListPromptsResult:
		err = decodePage(&p, raw, out, "prompts")
	case *mcp.ListResourcesResult:
		err = decodePage(&p, raw, out, "resources")
	case *mcp.ListResourceTemplatesResult:
		err = decodePage(&p, raw, out, "resourceTemplates")
	}
	if err != nil {
		return err
	}
	r.client.opts.logger().Warn("left out of a list what cannot be read",
		"server", r.client.target.String(), "method", r.Method, "count", p.leftOut, "first", p.first, "error", p.reason)
	return nil
}

// pageDecoder counts what is left out of a page.
type pageDecoder struct {
	leftOut int
	first   string // a name
	reason  error
}

func (p *pageDecoder) leaveOut(name string, err error) {
	if p.leftOut++; p.leftOut == 1 {
		p.first, p.reason = name, err
	}
}

// decodePage decodes the members of a page and the items in one of them one by one. It fails if the
// result is no object, or has no array of items.
func decodePage[Page any](p *pageDecoder, raw jsontext.Value, out *Page, items string) error {
	if raw.Kind() != '{' || rawjson.Member(raw, items).Kind() != '[' {
		return p.reason
	}
	*out = *new(Page)
	fits := func(name string, value jsontext.Value) error {
		return json.Unmarshal(object(name, value), new(Page))
	}
	var members []byte
	for quoted, value := range rawjson.Members(raw) {
		name := string(quoted)
		if name == items {
			value = goodItems(p, value, func(item jsontext.Value) error {
				return fits(items, append(append(jsontext.Value{'['}, item...), ']'))
			})
		} else if err := fits(name, value); err != nil {
			p.leaveOut(name, err)
			continue
		}
		members = appendMember(members, name, value)
	}
	return json.Unmarshal(append(append([]byte{'{'}, members...), '}'), out)
}

// goodItems returns the items of an array that fit, some of them without hints that do not.
func goodItems(p *pageDecoder, array jsontext.Value, fits func(item jsontext.Value) error) jsontext.Value {
	good := jsontext.Value{'['}
	for item := range rawjson.Elements(array) {
		err := fits(item)
		if err != nil && item.Kind() == '{' {
			if repaired := withoutBadHints(item, fits); fits(repaired) == nil {
				p.leaveOut(nameOf(item)+" annotations", err)
				item, err = repaired, nil
			}
		}
		if err != nil {
			p.leaveOut(nameOf(item), err)
			continue
		}
		if len(good) > 1 {
			good = append(good, ',')
		}
		good = append(good, item...)
	}
	return append(good, ']')
}

// withoutBadHints returns an item without those members of its annotations that do not fit. A hint
// that is not given has a default, which is the careful one.
func withoutBadHints(item jsontext.Value, fits func(item jsontext.Value) error) jsontext.Value {
	const annotations = "annotations"
	var members []byte
	for name, value := range rawjson.Members(item) {
		if string(name) == annotations {
			var hints []byte
			for hint, value := range rawjson.Members(value) {
				if fits(object(annotations, object(string(hint), value))) == nil {
					hints = appendMember(hints, string(hint), value)
				}
			}
			value = append(append(jsontext.Value{'{'}, hints...), '}')
		}
		members = appendMember(members, string(name), value)
	}
	return append(append(jsontext.Value{'{'}, members...), '}')
}

// nameOf returns what to call an item in the log.
func nameOf(item jsontext.Value) string {
	for _, member := range []string{"name", "uri", "uriTemplate"} {
		if value := rawjson.Member(item, member); value.Kind() == '"' {
			return fmt.Sprintf("%.64s", rawjson.Unquote(value))
		}
	}
	return "an item without a name"
}

// object returns an object with one member.
func object(name string, value jsontext.Value) jsontext.Value {
	return append(append(jsontext.Value{'{'}, appendMember(nil, name, value)...), '}')
}

func appendMember(members []byte, name string, value jsontext.Value) []byte {
	if len(members) > 0 {
		members = append(members, ',')
	}
	return append(append(rawjson.AppendString(members, name), ':'), value...)
}
