package demo

import (
	"context"
	"fmt"
	"strconv"
)

type conversion struct {
	Value float64 `json:"value"`
	From  string  `json:"from" doc:"unit of the value" enum:"m|km|cm|mm|in|ft|mi|kg|g|lb|oz|l|ml|gal|C|F|K|s|min|h|d"`
	To    string  `json:"to" doc:"unit wanted, of the same quantity" enum:"m|km|cm|mm|in|ft|mi|kg|g|lb|oz|l|ml|gal|C|F|K|s|min|h|d"`
}

type amount struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// unit is a unit of a quantity: value·factor + offset is the value in the base
// unit of the quantity.
type unit struct {
	quantity       string
	factor, offset float64
}

var units = map[string]unit{
	"m": {"length", 1, 0}, "km": {"length", 1000, 0}, "cm": {"length", 0.01, 0}, "mm": {"length", 0.001, 0},
	"in": {"length", 0.0254, 0}, "ft": {"length", 0.3048, 0}, "mi": {"length", 1609.344, 0},
	"kg": {"mass", 1, 0}, "g": {"mass", 0.001, 0}, "lb": {"mass", 0.45359237, 0}, "oz": {"mass", 0.028349523125, 0},
	"l": {"volume", 1, 0}, "ml": {"volume", 0.001, 0}, "gal": {"volume", 3.785411784, 0},
	"C": {"temperature", 1, 273.15}, "F": {"temperature", 5.0 / 9, 273.15 - 32*5.0/9}, "K": {"temperature", 1, 0},
	"s": {"time", 1, 0}, "min": {"time", 60, 0}, "h": {"time", 3600, 0}, "d": {"time", 86400, 0},
}

func convert(_ context.Context, in conversion) (amount, error) {
	from, to := units[in.From], units[in.To]
	if from.quantity != to.quantity {
		return amount{}, fmt.Errorf("%s is a unit of %s, %s one of %s: want units of the same quantity", in.From, from.quantity, in.To, to.quantity)
	}
	value := (in.Value*from.factor + from.offset - to.offset) / to.factor
	return amount{round(value), in.To}, nil
}

// round removes the rounding errors of binary fractions.
func round(x float64) float64 {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 12, 64), 64)
	return rounded
}
