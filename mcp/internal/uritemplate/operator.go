package uritemplate

// operator defines how the values of an expression are written.
//
// Spec: RFC 6570 3.2.1 and appendix A
type operator struct {
	first     string // before the first value
	separator string // between values
	named     bool   // values are written as name=value
	ifEmpty   string // after the name of an empty value
	reserved  bool   // reserved characters and percent-encoded triplets are not encoded

	// The fields below are for matching, which RFC 6570 does not define.

	required bool   // every variable must have a value that is not empty
	stop     string // characters that a value has only in encoded form
	splits   bool   // so is the separator, even for a single variable

	place place // what a value may have, see Check
}

// place is where an expression stands in a URI.
type place uint8

const (
	inSegment place = iota // in one segment of a path
	inPath                 // in several segments of a path
	inText                 // in a query or a fragment
)

// operators are the operators by the first character of the expression; 0 means that there
// is none.
var operators = map[byte]*operator{
	0:   {separator: ",", required: true, stop: "/?#"},
	'+': {separator: ",", required: true, reserved: true, place: inPath},
	'#': {first: "#", separator: ",", reserved: true, place: inText},
	'.': {first: ".", separator: ".", stop: "/?#"},
	'/': {first: "/", separator: "/", stop: "?#", splits: true},
	';': {first: ";", separator: ";", named: true, stop: "/?#", splits: true},
	'?': {first: "?", separator: "&", named: true, ifEmpty: "=", stop: "#", splits: true, place: inText},
	'&': {first: "&", separator: "&", named: true, ifEmpty: "=", stop: "#", splits: true, place: inText},
}

// reservedOperators are reserved by RFC 6570 for extensions.
const reservedOperators = "=,!@|"
