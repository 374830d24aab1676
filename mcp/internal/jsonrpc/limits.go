package jsonrpc

import (
	"cmp"

	"github.com/fondaco/fondaco/mcp/internal/rawjson"
)

const (
	defaultDepth    = 128
	defaultElements = 100_000
	maxBatch        = 100
	maxIDSize       = 256
	maxNumberSize   = 1024
	maxExponentSize = 20
	maxSafeInteger  = 1<<53 - 1
)

// Limits bounds one text, which is a message or a batch. A zero field means
// its default.
type Limits struct {
	// Size is the greatest length in bytes. The default is no limit: transports
	// bound a message before they buffer it.
	Size int
	// Repaired is the greatest length in bytes of a text that Decode has repaired, which can
	// be three times as long as it was. The default is no limit.
	Repaired int
	// Depth is how deep objects and arrays may nest, the message itself
	// included. The default is 128; more than 10,000 has no effect.
	Depth int
	// Elements is the maximum number of values: objects, arrays and scalars, but not member
	// names. The default is 100,000.
	Elements int
}

func (l Limits) depth() int    { return cmp.Or(l.Depth, defaultDepth) }
func (l Limits) elements() int { return cmp.Or(l.Elements, defaultElements) }

func (l Limits) fits(text []byte) bool { return l.Size <= 0 || len(text) <= l.Size }

func (l Limits) raw() rawjson.Limits {
	return rawjson.Limits{Depth: l.depth(), Elements: l.elements()}
}
