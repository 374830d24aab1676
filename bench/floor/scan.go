package main

// members iterates over the members of one JSON object without decoding them. The
// input must be valid JSON.
type members struct {
	b []byte
	i int
}

func object(b []byte) members {
	i := skipSpace(b, 0)
	if i < len(b) && b[i] == '{' {
		return members{b, i + 1}
	}
	return members{b, len(b)}
}

// next returns the name of the next member, without its quotes, and its value.
func (m *members) next() (name, value []byte, ok bool) {
	b := m.b
	i := skipSpace(b, m.i)
	if i < len(b) && b[i] == ',' {
		i = skipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		return nil, nil, false
	}
	end := skipString(b, i)
	name = b[i+1 : end-1]
	i = skipSpace(b, end)
	if i < len(b) && b[i] == ':' {
		i = skipSpace(b, i+1)
	}
	m.i = skipValue(b, i)
	return name, b[i:m.i], true
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	return i
}

func skipNested(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = skipString(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
	}
	return i
}
