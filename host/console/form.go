package console

import (
	"encoding/base64"
	"slices"
	"strings"
)

const (
	// maxDepth limits how deep objects are in a form. What is deeper is a field with JSON.
	maxDepth = 4
	// maxFields limits the fields of a form. A tool with more has one field with JSON.
	maxFields = 200
	// maxItems limits the items of a list of a form, each with fields of its own.
	maxItems = 50
	// maxAlternatives limits what one field can be. A field with more is one with JSON.
	maxAlternatives = 16
	// maxHops limits how many references and wrappers lead to what a field is.
	maxHops = 8
	// maxFollowed limits the bytes that are read to follow references in a schema: each is looked up
	// in the whole schema. A field with a further reference is one with JSON.
	maxFollowed = 16 << 20
)

// field is a part of a form for a JSON Schema.
type field struct {
	// Name is the JSON Pointer of the value, which is the name of the input, too.
	Name, Label, Help string
	Required          bool
	// Input is what the user fills in.
	Input input
	// Type is that of an HTML input, for one line of text.
	Type string
	// Format is the format of the schema, and Limits are those of a number.
	Format, Limits string
	// Items is the input of each line of linesInput.
	Items input
	// Options are the values to choose from, as JSON.
	Options []choice
	// Value is what the user has written, or the default of the schema. Of alternatives it is the index of the chosen
	// one, and of a file its content in base64.
	Value string
	// Values are those that are chosen of choicesInput.
	Values []string
	// Suggestions are values for a text that the server has suggested; HasMore says that it has more. IsSuggested means
	// that it was asked.
	Suggestions          []suggestion
	IsSuggested, HasMore bool
	// Fields are those of an object, the alternatives, or the items of a list.
	Fields []*field
}

// The names of inputs that are no values end in one of these, which no JSON Pointer has.
const (
	alternativeMark = "~2" // which alternative is chosen; with its index, the name of that
	itemsMark       = "~3" // how many items a list has
	fileMark        = "~4" // a file
	mediaTypeMark   = "~5" // behind that of a file: its media type
)

// Alternative is the name of the input that says which alternative is chosen, and Count that of how many items there
// are, and File that of a file.
func (f *field) Alternative() string { return f.Name + alternativeMark }
func (f *field) Count() string       { return f.Name + itemsMark }
func (f *field) File() string        { return f.Name + fileMark }

// Size is the number of bytes of a file.
func (f *field) Size() int { return base64.StdEncoding.DecodedLen(len(f.Value)) }

// maxEcho limits a file that the form has again after a call, in bytes of its text.
const maxEcho = 64 << 10

// IsLong reports whether a file is not in the form after a call.
func (f *field) IsLong() bool { return len(f.Value) > maxEcho }

// hasFile reports whether a form has a file among its fields.
func hasFile(fields []*field) bool {
	return slices.ContainsFunc(fields, func(f *field) bool { return f.Input == fileInput || f.Input == dataInput || hasFile(f.Fields) })
}

// IsChosen reports whether one of the values of choicesInput is chosen.
func (f *field) IsChosen(value string) bool { return slices.Contains(f.Values, value) }

// Hint is what the user has to know for the input.
func (f *field) Hint() string {
	help := sentences(sentences(f.Help, examples[f.Format]), f.Limits)
	switch f.Input {
	case linesInput:
		return sentences(help, "One value on each line.")
	case jsonInput:
		return sentences(help, "Written as JSON.")
	}
	return help
}

// examples are values of the formats that browsers have no input for.
var examples = map[string]string{
	"date-time": "Such as 1985-04-12T23:20:50+01:00.",
	"time":      "Such as 18:30:00+01:00.",
	"duration":  "Such as PT1H30M.",
	"uuid":      "Such as 123e4567-e89b-42d3-a456-426614174000.",
	"ipv4":      "Such as 192.0.2.7.",
	"ipv6":      "Such as 2001:db8::7.",
	"hostname":  "Such as www.example.com.",
	"regex":     "A regular expression.",
}

// sentences joins two texts.
func sentences(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return strings.TrimRight(first, ". ") + ". " + second
}

// choice is a value that can be chosen.
type choice struct{ Value, Label string }

// input is a kind of field.
type input string

// The inputs.
const (
	textInput         input = "text"
	suggestInput      input = "suggest" // a text for which the server suggests values
	numberInput       input = "number"
	choiceInput       input = "choice"
	choicesInput      input = "choices" // an array of values to choose from
	linesInput        input = "lines"   // an array with one value on each line
	listInput         input = "list"    // an array whose items have fields
	jsonInput         input = "json"
	fileInput         input = "file"         // a string with the content of a file, in base64
	dataInput         input = "data"         // a string with a data URL of a file
	groupInput        input = "group"        // an object
	alternativesInput input = "alternatives" // one of several
)
