package jsonschema

import (
	"encoding/json/jsontext"
	"math"

	library "github.com/santhosh-tekuri/jsonschema/v6"
)

// Steps returns the steps that the budget counts for an instance, and the
// applications of object schemas that the library makes.
func Steps(text, instance jsontext.Value) (counted, made int64, err error) {
	doc, g, err := parse(text, nil)
	if err != nil {
		return 0, 0, err
	}
	value, err := decode(instance, maxNesting)
	if err != nil {
		return 0, 0, err
	}
	c := library.NewCompiler()
	c.DefaultDraft(g.draft)
	c.UseLoader(noLoader{})
	c.RegisterVocabulary(&library.Vocabulary{
		URL: "schema://counter",
		Compile: func(*library.CompilerContext, map[string]any) (library.SchemaExt, error) {
			return counter{&made}, nil
		},
	})
	c.AssertVocabs()
	if err := c.AddResource(documentURL, doc); err != nil {
		return 0, 0, err
	}
	s, err := c.Compile(documentURL)
	if err != nil {
		return 0, 0, err
	}
	_ = s.Validate(value) // the verdict does not matter here
	b := budget{left: math.MaxInt64 / 2}
	b.apply(value, []application{{g.root, 1}})
	return math.MaxInt64/2 - b.left, made, nil
}

// Judge is the verdict of the library.
func (v *Validator) Judge(instance jsontext.Value) error { return v.validate(instance) }

type counter struct{ n *int64 }

func (c counter) Validate(*library.ValidatorContext, any) { *c.n++ }

// SamePrograms reports whether two validators share one compiled program.
func SamePrograms(a, b *Validator) bool {
	p, err1 := a.program()
	q, err2 := b.program()
	return err1 == nil && err2 == nil && p == q
}

// Cached returns the number of programs that a cache of the given limits keeps
// after it was asked for all texts, and the bytes of their texts.
func Cached(entries, bytes int, texts ...jsontext.Value) (n, size int) {
	c := cache{entries: entries, bytes: bytes}
	for _, text := range texts {
		c.get(text, nil)
	}
	return c.order.Len(), c.size
}
