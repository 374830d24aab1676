package terminal

// Style is the style of a text on a terminal: the parameters of one SGR sequence.
//
// Spec: ECMA-48 8.3.117
type Style string

const (
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
)

// Paint gives text for Stdout a style, if Stdout is a terminal and the user allows
// colours. The text must be sanitized.
//
// Spec: https://no-color.org
func (t *IO) Paint(s Style, text string) string {
	unwanted, _ := t.Getenv("NO_COLOR")
	kind, _ := t.Getenv("TERM")
	if s == Plain || text == "" || !t.Terminal || unwanted != "" || kind == "dumb" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}
