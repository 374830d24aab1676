package config

import (
	"fmt"
	"slices"
)

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
	i := slices.IndexFunc(r.inputs, func(in Input) bool { return in.ID == id })
	if i < 0 {
		r.addError(f.at, "found ${input:%s}, want an input of that id among %q", id, "inputs")
		return ""
	}
	if known, ok := r.answers[id]; ok {
		return known.text
	}
	answer, err := r.answer(r.inputs[i])
	if err == nil && len(r.inputs[i].Options) > 0 && !slices.Contains(r.inputs[i].Options, answer) {
		err = fmt.Errorf("want %s", oneOf(r.inputs[i].Options))
	}
	if err != nil {
		r.addError(f.at, "input %q: %v", id, err)
		return ""
	}
	r.answers[id] = field{text: answer}
	return answer
}

func (r *resolver) answer(in Input) (string, error) {
	if v, ok := r.env(variableOf(in.ID)); ok {
		return v, nil
	}
	if r.opts == nil || r.opts.Ask == nil {
		return "", fmt.Errorf("there is no terminal to ask for it; set the variable %s", variableOf(in.ID))
	}
	return r.opts.Ask(in)
}
