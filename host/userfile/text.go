package userfile

import (
	"bytes"
	"errors"
)

// errUTF16 is the error for a text that editors and shells of Windows write.
var errUTF16 = errors.New("found text in UTF-16, want UTF-8: save the file in that encoding")

// Text returns the text of a file without a byte order mark of UTF-8. Text in UTF-16, with a byte order
// mark or with a NUL byte in one of the first two bytes, is an error, whose text has nothing of the file.
func Text(content []byte) ([]byte, error) {
	for _, start := range []string{"\xff\xfe", "\xfe\xff", "\x00"} {
		if bytes.HasPrefix(content, []byte(start)) {
			return nil, errUTF16
		}
	}
	if len(content) > 1 && content[1] == 0 {
		return nil, errUTF16
	}
	return bytes.TrimPrefix(content, []byte("\ufeff")), nil
}
