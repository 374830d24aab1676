package mcpwire

import (
	"fmt"
	"io"
)

// Variable is the environment variable that makes programs write a log of their messages to standard
// error: "1" for lines that people read, "json" for lines of JSON, and "0" or empty for none.
// mcpserver.Main and the program fondaco read it.
const Variable = "FONDACO_WIRE"

// ForVariable returns the Log that a value of Variable asks for, nil for none. It returns an error for
// any other value.
func ForVariable(value string, w io.Writer) (*Log, error) {
	switch value {
	case "", "0":
		return nil, nil
	case "1":
		return NewLog(w, nil), nil
	case "json":
		return NewLog(w, &LogOptions{JSON: true}), nil
	}
	return nil, fmt.Errorf("%s=%q: want 1, json or 0", Variable, value)
}
