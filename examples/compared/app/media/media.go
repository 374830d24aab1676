// Package media makes pictures, sounds and tables.
package media

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"math"
	"strconv"
)

// Chart returns a PNG with a bar for each value between 0 and 100.
func Chart(values []float64) []byte {
	picture := image.NewGray(image.Rect(0, 0, 10*len(values), 100))
	for x := range 10 * len(values) {
		for y := range 100 {
			if x%10 == 9 || float64(100-y) > values[x/10] {
				picture.SetGray(x, y, color.Gray{Y: 255})
			}
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, picture) // fails for empty pictures and failing writers alone
	return b.Bytes()
}

// Tone returns a WAV of a tenth of a second.
func Tone(hertz float64) []byte {
	const rate, samples = 8000, 800
	b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, 36+samples)...)
	b = append(b, "WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00"...)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = append(b, "\x01\x00\x08\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, samples)
	for i := range samples {
		b = append(b, byte(128+100*math.Sin(2*math.Pi*hertz*float64(i)/rate)))
	}
	return b
}

// Table returns the values as CSV.
func Table(values []float64) string {
	text := "value\n"
	for _, v := range values {
		text += strconv.FormatFloat(v, 'f', -1, 64) + "\n"
	}
	return text
}
