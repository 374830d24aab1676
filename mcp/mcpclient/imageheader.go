package mcpclient

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image/jpeg"
	"image/png"

	"github.com/fondaco/fondaco/mcp"
)

// image checks the bytes of an icon and finds their type and size. It reads only the
// header of the image and decompresses nothing.
func (o *IconOptions) image(data []byte) (*IconImage, error) {
	icon, err := mcp.IconFromBytes(data)
	if err != nil {
		return nil, err
	}
	image := &IconImage{Data: data, MIMEType: icon.MIMEType}
	if image.MIMEType == typeSVG {
		if !o.SVG {
			return nil, errors.New("icon: found SVG: want PNG, JPEG or WebP, see IconOptions.SVG")
		}
		return image, nil
	}
	if image.Width, image.Height, err = imageSize(image.MIMEType, data); err != nil {
		return nil, fmt.Errorf("icon: %s: %w", image.MIMEType, err)
	}
	if min(image.Width, image.Height) < 1 || max(image.Width, image.Height) > maxIconSide {
		return nil, fmt.Errorf("icon: %dx%d pixels: want from 1 to %d each", image.Width, image.Height, maxIconSide)
	}
	return image, nil
}

func imageSize(mimeType string, data []byte) (width, height int, err error) {
	switch mimeType {
	case "image/png":
		if isAnimated(data) {
			return 0, 0, errAnimated
		}
		config, err := png.DecodeConfig(bytes.NewReader(data))
		return config.Width, config.Height, err
	case "image/jpeg":
		config, err := jpeg.DecodeConfig(bytes.NewReader(data))
		return config.Width, config.Height, err
	}
	return webpSize(data)
}

var errAnimated = errors.New("the image is animated, want a still image")

// isAnimated reports whether a PNG has an animation control chunk, which has to stand
// before the image data.
//
// Spec: PNG (third edition) 11.3.6.1
func isAnimated(png []byte) bool {
	head, _, _ := bytes.Cut(png, []byte("IDAT"))
	return bytes.Contains(head, []byte("acTL"))
}

// webpHead is the number of bytes that contain the size of a WebP image, in each form.
const webpHead = 30

// webpSize reads the size of an image in WebP: lossy, lossless or extended.
//
// Spec: RFC 9649 2.5 to 2.7, 3.4; RFC 6386 9.1
func webpSize(data []byte) (width, height int, err error) {
	if len(data) < webpHead {
		return 0, 0, errors.New("the image is truncated")
	}
	payload := data[20:]
	switch form := string(data[12:16]); {
	case form == "VP8 " && payload[0]&1 == 0 && string(payload[3:6]) == "\x9d\x01\x2a":
		return int(binary.LittleEndian.Uint16(payload[6:])) & 0x3fff, int(binary.LittleEndian.Uint16(payload[8:])) & 0x3fff, nil
	case form == "VP8L" && payload[0] == 0x2f:
		bits := binary.LittleEndian.Uint32(payload[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, nil
	case form == "VP8X" && payload[0]&2 != 0:
		return 0, 0, errAnimated
	case form == "VP8X":
		return uint24(payload[4:]) + 1, uint24(payload[7:]) + 1, nil
	}
	return 0, 0, errors.New("the header of the image is invalid")
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
