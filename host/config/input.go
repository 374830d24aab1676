package config

import "slices"

// Input is a value for which the user is asked, as in VS Code. Servers refer to it as
// ${input:ID}.
type Input struct {
	ID string
	// Description is the question.
	Description string
	// Password means that the answer must not be shown.
	Password bool
	// Options are the possible answers, if they are restricted.
	Options []string
	// Default is the value of an empty answer.
	Default string

	at value
}

func (f *file) readInputs(v value) {
	if f.inputsValue = v; !f.requireKind(v, kindArray) {
		return
	}
	for i := range v.elements {
		if element := v.at(i); f.requireKind(element, kindObject) {
			f.readInput(element)
		}
	}
}

func (f *file) readInput(v value) {
	in := Input{at: v}
	f.each(v, func(m member, v value) {
		switch m.name {
		case "id":
			in.ID = f.string(v).text
		case "description":
			in.Description = f.string(v).text
		case "default":
			in.Default = f.string(v).text
		case "password":
			in.Password = f.boolean(v)
		case "options":
			in.Options = f.options(v)
		}
	})
	if in.ID == "" {
		f.addError(v, `found no "id", want one for ${input:ID}`)
		return
	}
	f.inputs = append(f.inputs, in)
}

// options parses an array of texts, or of labels with values.
func (f *file) options(v value) (options []string) {
	if !f.requireKind(v, kindArray) {
		return nil
	}
	for i := range v.elements {
		option := v.at(i)
		if labelled := option.member("value"); labelled != nil {
			option = value{labelled, option.pointer.AppendToken("value")}
		}
		options = append(options, f.string(option).text)
	}
	return options
}

// input returns the value of ${input:ID}.
func (r *resolver) input(id string, f field) string {
	in, ok := r.inputNamed(id, f)
	if !ok {
		return ""
	}
	text, err := r.answers.get(in)
	if err != nil {
		r.addError(f.at, "input %q: %v", id, err)
	}
	return text
}

// checkInput reports an input that cannot have a value. It does not ask.
func (r *resolver) checkInput(id string, f field) {
	if in, ok := r.inputNamed(id, f); ok {
		if err := r.answers.canAnswer(in); err != nil {
			r.addError(f.at, "input %q: %v", id, err)
		}
	}
}

func (r *resolver) inputNamed(id string, f field) (Input, bool) {
	i := slices.IndexFunc(r.inputs, func(in Input) bool { return in.ID == id })
	if i < 0 {
		r.addError(f.at, "found ${input:%s}, want an input of that id among %q", id, "inputs")
		return Input{}, false
	}
	return r.inputs[i], true
}
