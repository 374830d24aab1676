package config

import (
	"fmt"
	"slices"
)

// Input is something that the user is asked for, as VS Code has it. Servers refer
// to it as ${input:ID}.
type Input struct {
	ID string
	// Description is the question.
	Description string
	// Password tells that the answer must not be seen.
	Password bool
	// Options are the answers to choose from, if there are any.
	Options []string
	// Default is the answer of one who does not say anything else.
	Default string

	at value
}

func (f *file) readInputs(v value) {
	if f.listed = v; !f.want(v, kindArray) {
		return
	}
	for i := range v.elements {
		if element := v.at(i); f.want(element, kindObject) {
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
		f.fault(v, `found no "id", want one for ${input:ID}`)
		return
	}
	f.inputs = append(f.inputs, in)
}

// options reads texts, or labels with values.
func (f *file) options(v value) (options []string) {
	if !f.want(v, kindArray) {
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

// input returns the answer for ${input:ID}.
func (r *resolver) input(id string, f field) string {
	i := slices.IndexFunc(r.inputs, func(in Input) bool { return in.ID == id })
	if i < 0 {
		r.fault(f.at, "found ${input:%s}, want an input of that id among %q", id, "inputs")
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
		r.fault(f.at, "input %q: %v", id, err)
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
		return "", fmt.Errorf("nobody can be asked for it; want the variable %s set", variableOf(in.ID))
	}
	return r.opts.Ask(in)
}
