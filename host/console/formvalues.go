package console

import (
	"bytes"
	"encoding/base64"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// set sets the value of a field, which may be nil.
func (f *field) set(value jsontext.Value) {
	if value == nil {
		return
	}
	switch f.Input {
	case textInput, fileInput, dataInput:
		f.Value = stringOf(value)
	case linesInput:
		f.Value = linesOf(value)
	case choicesInput:
		for _, item := range valuesIn(value) {
			f.Values = append(f.Values, string(item))
		}
	case groupInput:
		for name, member := range members(value) {
			if i := slices.IndexFunc(f.Fields, func(one *field) bool { return one.Label == name }); i >= 0 {
				f.Fields[i].set(member)
			}
		}
	case listInput:
		for i, item := range valuesIn(value) {
			if i < len(f.Fields) {
				f.Fields[i].set(item)
			}
		}
	case alternativesInput: // which one the value is for is not known
	default:
		f.Value = string(value)
	}
}

// fill puts what the user has sent into the fields. A file that was chosen stands for the text beside it.
func fill(fields []*field, form url.Values) {
	for _, f := range fields {
		switch f.Input {
		case groupInput, listInput:
			fill(f.Fields, form)
			continue
		case alternativesInput:
			f.Value = form.Get(f.Alternative())
			fill(f.Fields, form)
			continue
		case choicesInput:
			f.Values = form[f.Name]
			continue
		}
		f.Value = strings.ReplaceAll(form.Get(f.Name), "\r\n", "\n")
		if file := form.Get(f.File()); file != "" && f.Input == fileInput {
			f.Value = file
		} else if file != "" && f.Input == dataInput {
			f.Value = "data:" + form.Get(f.File()+mediaTypeMark) + ";base64," + file
		}
	}
}

// encodeForm returns the object that the user has written. Fields without a value are left out, and
// so are objects without members, unless they are required.
func encodeForm(fields []*field) (jsontext.Value, error) {
	var failed []error
	object := encodeFields(fields, &failed)
	return object, errors.Join(failed...)
}

func encodeFields(fields []*field, failed *[]error) jsontext.Value {
	var b bytes.Buffer
	for _, f := range fields {
		value, err := f.encode(failed)
		switch {
		case err != nil:
			*failed = append(*failed, fmt.Errorf("%s: %w", f.Label, err))
			continue
		case value == nil:
			continue
		}
		name, err := json.Marshal(f.Label)
		if err != nil { // it is from JSON, but may have been no UTF-8
			*failed = append(*failed, err)
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%s:%s", name, value)
	}
	return jsontext.Value("{" + b.String() + "}")
}

// encode returns the value of a field, or nil if it has none.
func (f *field) encode(failed *[]error) (jsontext.Value, error) {
	switch {
	case f.Input == groupInput:
		object := encodeFields(f.Fields, failed)
		if len(object) == len("{}") && !f.Required {
			return nil, nil
		}
		return object, nil
	case f.Input == listInput:
		return f.encodeItems(failed), nil
	case f.Input == alternativesInput:
		if chosen, err := strconv.Atoi(f.Value); err == nil && chosen >= 0 && chosen < len(f.Fields) {
			return f.Fields[chosen].encode(failed)
		}
		return nil, nil
	case f.Input == choicesInput:
		return encodeArray(f.Values, f.Required)
	case strings.TrimSpace(f.Value) == "":
		return nil, nil
	case f.Input == linesInput:
		var items []string
		for line := range strings.SplitSeq(strings.TrimRight(f.Value, "\n"), "\n") {
			item, err := encodeLine(f.Items, line)
			if err != nil {
				return nil, err
			}
			items = append(items, string(item))
		}
		return encodeArray(items, true)
	case f.Input == fileInput:
		if _, err := base64.StdEncoding.DecodeString(f.Value); err != nil {
			return nil, fmt.Errorf("found %.40q, want a file, or base64", f.Value)
		}
		return json.Marshal(f.Value)
	case f.Input == dataInput:
		return json.Marshal(f.Value)
	}
	return encodeLine(f.Input, f.Value)
}

// encodeItems returns the array of the items that have a value.
func (f *field) encodeItems(failed *[]error) jsontext.Value {
	var items []string
	for _, item := range f.Fields {
		value, err := item.encode(failed)
		if err != nil {
			*failed = append(*failed, fmt.Errorf("%s: %s: %w", f.Label, item.Label, err))
		} else if value != nil {
			items = append(items, string(value))
		}
	}
	array, _ := encodeArray(items, f.Required) // each was encoded above
	return array
}

// encodeArray returns an array of values that are JSON, or nil if it is empty and not required.
func encodeArray(items []string, required bool) (jsontext.Value, error) {
	if len(items) == 0 && !required {
		return nil, nil
	}
	array := jsontext.Value("[" + strings.Join(items, ",") + "]")
	if !array.IsValid() {
		return nil, errors.New("want values of the form")
	}
	return array, nil
}

// resize changes how many items a list has in what the user has sent, if a button of the form says so, and reports
// whether it does.
func resize(form url.Values) bool {
	for button, change := range map[string]int{"more": 1, "fewer": -1} {
		if name := form.Get(button); name != "" {
			n, _ := strconv.Atoi(form.Get(name + itemsMark))
			form.Set(name+itemsMark, strconv.Itoa(min(max(n+change, 0), maxItems)))
			return true
		}
	}
	return false
}

// encodeLine returns one value that is no array.
func encodeLine(as input, text string) (jsontext.Value, error) {
	if as == textInput {
		return json.Marshal(text)
	}
	raw := jsontext.Value(strings.TrimSpace(text))
	switch {
	case as == numberInput && raw.Kind() != '0':
		return nil, fmt.Errorf("found %.40q, want a number", text)
	case !raw.IsValid():
		return nil, fmt.Errorf("found %.40q, want JSON", text)
	}
	return raw, nil
}
