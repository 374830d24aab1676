package config

import (
	"fmt"
	"slices"
	"sync"
)

// inputAnswers are the values of the inputs of one file. Each is asked for once, when a
// server that refers to it is first resolved.
type inputAnswers struct {
	env Env
	ask func(Input) (string, error)

	mu      sync.Mutex
	answers map[string]*inputAnswer // guarded by mu
}

type inputAnswer struct {
	done chan struct{} // closed when text and err are set
	text string
	err  error
}

// canAnswer reports whether an input has a value or can be asked for.
func (a *inputAnswers) canAnswer(in Input) error {
	if _, ok := a.env(variableOf(in.ID)); ok || a.ask != nil {
		return nil
	}
	return fmt.Errorf("there is no terminal to ask for it; set the variable %s", variableOf(in.ID))
}

// get returns the value of an input. Of several callers one asks, and the others wait for
// its answer. An error is not remembered.
func (a *inputAnswers) get(in Input) (string, error) {
	a.mu.Lock()
	answer, asked := a.answers[in.ID]
	if !asked {
		answer = &inputAnswer{done: make(chan struct{})}
		a.answers[in.ID] = answer
	}
	a.mu.Unlock()
	if !asked {
		answer.text, answer.err = a.find(in)
		if answer.err != nil {
			a.mu.Lock()
			delete(a.answers, in.ID)
			a.mu.Unlock()
		}
		close(answer.done)
	}
	<-answer.done
	return answer.text, answer.err
}

func (a *inputAnswers) find(in Input) (text string, err error) {
	if err := a.canAnswer(in); err != nil {
		return "", err
	}
	text, ok := a.env(variableOf(in.ID))
	if !ok {
		text, err = a.ask(in)
	}
	if err == nil && len(in.Options) > 0 && !slices.Contains(in.Options, text) {
		err = fmt.Errorf("want %s", oneOf(in.Options))
	}
	return text, err
}
