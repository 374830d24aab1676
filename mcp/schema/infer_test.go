package schema_test

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp/internal/jsonschema"
	"github.com/fondaco/fondaco/mcp/schema"
)

type (
	flight struct {
		Number string `json:"number" title:"Flight" doc:"flight number such as AZ612" pattern:"^[A-Z]{2}[0-9]+$" example:"AZ612"`
		Date   string `json:"date,omitzero" doc:"day, of departure" format:"date"`
	}
	limits struct {
		A int      `json:"a" min:"1" max:"10" multiple:"3" default:"9"`
		B float64  `json:"b" xmin:"0" xmax:"1e3"`
		C string   `json:"c" minlen:"1" maxlen:"5" const:"abc"`
		D []int    `json:"d" minitems:"1" maxitems:"3" unique:"true" default:"[1, 2]"`
		E string   `json:"e" enum:"x|y z" default:"y z"`
		F []string `json:"f" enum:"red|blue"`
		G bool     `json:"g" default:"true" header:"Go-Fast"`
		H int      `json:"h" enum:"1|2" example:"2"`
		I int64    `json:"i" min:"-9223372036854775808"`
	}
	kinds struct {
		Bool   bool
		Int    int
		Int8   int8
		Int32  int32
		Uint   uint
		Uint8  uint8
		Float  float32
		String string
		Bytes  []byte
		Sum    [4]byte
		Pair   [2]float64
		Any    any
		Raw    jsontext.Value
		Map    map[string]int
		Loose  map[string]any
		Time   time.Time
		Addr   netip.Addr
		Ptr    **int
		Deep   []*[]string
		Inner  struct{ X int }
		Own    celsius
	}
	celsius float64
	named   struct {
		Plain   int
		Tagged  int       `json:"tag ged"`
		Skipped int       `json:"-"`
		Quoted  int       `json:",string"`
		QuotedU uint8     `json:",string"`
		QuotedF float64   `json:"f,string"`
		Empty   string    `json:",omitempty"`
		Zero    time.Time `json:",omitzero"`
		Case    string    `json:",case:ignore"`
		hidden  int
		base
		*Remote
		Group struct{ G int } `json:",embed"`
	}
	base struct {
		Plain string // loses to named.Plain
		Base  int
	}
	Remote struct{ Far int }
	clash  struct {
		left
		right
		Own int
	}
	left  struct{ Both, Left int }
	right struct{ Both, Right int }
	open  struct {
		A     int
		Extra jsontext.Value `json:",embed"`
	}
	openInts struct {
		A     int
		Extra map[string]int `json:",embed"`
	}
	tree struct {
		Name string
		Kids []tree `json:",omitzero"`
	}
	forest struct {
		Best  *tree
		Trees map[string]*tree
		Even  *even
	}
	even  struct{ Next *odd }
	odd   struct{ Next *even }
	list  []list
	group struct { // is part of itself through types that have no name
		Parts []struct{ Of *group }
	}
	pair[T any] struct {
		Value T
		Rest  []pair[T]
	}
)

func (celsius) JSONSchema() jsontext.Value {
	return jsontext.Value(`{"type":"number","minimum":-273.15}`)
}

func TestSchemaFollowsTheGoType(t *testing.T) {
	claim.Shows(t, "R-352")
	_ = named{}.hidden
	tests := []struct {
		typ  reflect.Type
		use  schema.Use
		want string
	}{
		{reflect.TypeFor[struct{}](), schema.Input, `{"type":"object","additionalProperties":false}`},
		{reflect.TypeFor[struct{}](), schema.Output, `{"type":"object"}`},
		{reflect.TypeFor[*flight](), schema.Input, `{"type":"object","properties":{"number":{"type":"string","title":"Flight","description":"flight number such as AZ612","pattern":"^[A-Z]{2}[0-9]+$","examples":["AZ612"]},"date":{"type":"string","description":"day, of departure","format":"date"}},"required":["number"],"additionalProperties":false}`},
		{reflect.TypeFor[limits](), schema.Input, `{"type":"object","properties":{` +
			`"a":{"type":"integer","minimum":1,"maximum":10,"multipleOf":3,"default":9},` +
			`"b":{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":1e3},` +
			`"c":{"type":"string","minLength":1,"maxLength":5,"const":"abc"},` +
			`"d":{"type":"array","items":{"type":"integer"},"minItems":1,"maxItems":3,"uniqueItems":true,"default":[1,2]},` +
			`"e":{"type":"string","enum":["x","y z"],"default":"y z"},` +
			`"f":{"type":"array","items":{"type":"string","enum":["red","blue"]}},` +
			`"g":{"type":"boolean","default":true,"x-mcp-header":"Go-Fast"},` +
			`"h":{"type":"integer","enum":[1,2],"examples":[2]},` +
			`"i":{"type":"integer","minimum":-9223372036854775808}},` +
			`"required":["b","c","f","h","i"],"additionalProperties":false}`},
		{reflect.TypeFor[kinds](), schema.Input, `{"type":"object","properties":{` +
			`"Bool":{"type":"boolean"},"Int":{"type":"integer"},"Int8":{"type":"integer","minimum":-128,"maximum":127},"Int32":{"type":"integer","minimum":-2147483648,"maximum":2147483647},` +
			`"Uint":{"type":"integer","minimum":0},"Uint8":{"type":"integer","minimum":0,"maximum":255},` +
			`"Float":{"type":"number"},"String":{"type":"string"},` +
			`"Bytes":{"type":"string","contentEncoding":"base64"},"Sum":{"type":"string","contentEncoding":"base64"},` +
			`"Pair":{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2},"Any":{},"Raw":{},` +
			`"Map":{"type":"object","additionalProperties":{"type":"integer"}},"Loose":{"type":"object"},` +
			`"Time":{"type":"string","format":"date-time"},"Addr":{"type":"string"},"Ptr":{"type":"integer"},` +
			`"Deep":{"type":"array","items":{"type":"array","items":{"type":"string"}}},` +
			`"Inner":{"type":"object","properties":{"X":{"type":"integer"}},"required":["X"],"additionalProperties":false},` +
			`"Own":{"type":"number","minimum":-273.15}},` +
			`"required":["Bool","Int","Int8","Int32","Uint","Uint8","Float","String","Bytes","Sum","Pair","Any","Raw","Map","Loose","Time","Addr","Deep","Inner","Own"],"additionalProperties":false}`},
		{reflect.TypeFor[named](), schema.Input, `{"type":"object","properties":{"Plain":{"type":"integer"},"tag ged":{"type":"integer"},` +
			`"Quoted":{"type":"string","pattern":"^-?(0|[1-9][0-9]*)$"},"QuotedU":{"type":"string","pattern":"^(0|[1-9][0-9]*)$"},` +
			`"f":{"type":"string","pattern":"^-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][-+]?[0-9]+)?$"},` +
			`"Empty":{"type":"string"},"Zero":{"type":"string","format":"date-time"},"Case":{"type":"string"},` +
			`"Base":{"type":"integer"},"Far":{"type":"integer"},"G":{"type":"integer"}},` +
			`"required":["Plain","tag ged","Quoted","QuotedU","f","Case","Base","G"],"additionalProperties":false}`},
		{reflect.TypeFor[clash](), schema.Input, `{"type":"object","properties":{"Left":{"type":"integer"},"Right":{"type":"integer"},"Own":{"type":"integer"}},"required":["Left","Right","Own"],"additionalProperties":false}`},
		{reflect.TypeFor[open](), schema.Input, `{"type":"object","properties":{"A":{"type":"integer"}},"required":["A"]}`},
		{reflect.TypeFor[openInts](), schema.Input, `{"type":"object","properties":{"A":{"type":"integer"}},"required":["A"],"additionalProperties":{"type":"integer"}}`},
		{reflect.TypeFor[tree](), schema.Input, `{"type":"object","properties":{"Name":{"type":"string"},"Kids":{"type":"array","items":{"$ref":"#"}}},"required":["Name"],"additionalProperties":false}`},
		{reflect.TypeFor[list](), schema.Input, `{"type":"array","items":{"$ref":"#"}}`},
		{reflect.TypeFor[forest](), schema.Input, `{"type":"object","properties":{"Best":{"$ref":"#/$defs/tree"},"Trees":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"}},"Even":{"$ref":"#/$defs/even"}},"required":["Trees"],"additionalProperties":false,"$defs":{` +
			`"tree":{"type":"object","properties":{"Name":{"type":"string"},"Kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["Name"],"additionalProperties":false},` +
			`"even":{"type":"object","properties":{"Next":{"type":"object","properties":{"Next":{"$ref":"#/$defs/even"}},"additionalProperties":false}},"additionalProperties":false}}}`},
		{reflect.TypeFor[struct {
			A *int
			B *string `json:",omitzero"`
			C []*bool
			D *tree
			E *string `enum:"a|b"`
			F *any
		}](), schema.Output, `{"type":"object","properties":{"A":{"type":["integer","null"]},"B":{"type":"string"},"C":{"type":"array","items":{"type":["boolean","null"]}},` +
			`"D":{"anyOf":[{"$ref":"#/$defs/tree"},{"type":"null"}]},"E":{"anyOf":[{"type":"string","enum":["a","b"]},{"type":"null"}]},"F":{}},"required":["A","C","D","E","F"],` +
			`"$defs":{"tree":{"type":"object","properties":{"Name":{"type":"string"},"Kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["Name"]}}}`},
		{reflect.TypeFor[[]flight](), schema.Output, `{"type":"array","items":{"type":"object","properties":{"number":{"type":"string","title":"Flight","description":"flight number such as AZ612","pattern":"^[A-Z]{2}[0-9]+$","examples":["AZ612"]},"date":{"type":"string","description":"day, of departure","format":"date"}},"required":["number"]}}`},
		{reflect.TypeFor[[]tree](), schema.Input, `{"type":"array","items":{"$ref":"#/$defs/tree"},"$defs":{"tree":{"type":"object","properties":{"Name":{"type":"string"},"Kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["Name"],"additionalProperties":false}}}`},
		{reflect.TypeFor[struct{ Trees []tree }](), schema.Input, `{"type":"object","properties":{"Trees":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["Trees"],"additionalProperties":false,"$defs":{"tree":{"type":"object","properties":{"Name":{"type":"string"},"Kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["Name"],"additionalProperties":false}}}`},
		{reflect.TypeFor[struct{ Groups map[string]group }](), schema.Input, `{"type":"object","properties":{"Groups":{"type":"object","additionalProperties":{"$ref":"#/$defs/group"}}},"required":["Groups"],"additionalProperties":false,"$defs":{"group":{"type":"object","properties":{"Parts":{"type":"array","items":{"type":"object","properties":{"Of":{"$ref":"#/$defs/group"}},"additionalProperties":false}}},"required":["Parts"],"additionalProperties":false}}}`},
		{reflect.TypeFor[struct{ Pair []pair[int] }](), schema.Input, `{"type":"object","properties":{"Pair":{"type":"array","items":{"$ref":"#/$defs/pair"}}},"required":["Pair"],"additionalProperties":false,"$defs":{"pair":{"type":"object","properties":{"Value":{"type":"integer"},"Rest":{"type":"array","items":{"$ref":"#/$defs/pair"}}},"required":["Value","Rest"],"additionalProperties":false}}}`},
		{reflect.TypeFor[any](), schema.Input, `{}`},
		{reflect.TypeFor[struct {
			Seat  string   `json:"seat" enum:"window|aisle" default:"aisle"`
			Meals []string `json:"meals,omitzero" enum:"veg|fish" maxitems:"1"`
			Age   *uint8   `json:"age"`
		}](), schema.Elicitation, `{"type":"object","properties":{"seat":{"type":"string","enum":["window","aisle"],"default":"aisle"},"meals":{"type":"array","items":{"type":"string","enum":["veg","fish"]},"maxItems":1},"age":{"type":"integer","minimum":0,"maximum":255}}}`},
	}
	for _, tt := range tests {
		got, err := schema.ForType(tt.typ, tt.use)
		if err != nil {
			t.Errorf("%s: %v", tt.typ, err)
			continue
		}
		if string(got) != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.typ, got, tt.want)
		}
		v, err := jsonschema.Compile(got, nil)
		if err != nil {
			t.Errorf("%s: the inferred schema does not compile: %v", tt.typ, err)
		} else if w := v.Warnings(); len(w) > 0 {
			t.Errorf("%s: the inferred schema has keywords that are not checked: %v", tt.typ, w)
		}
	}
}

// The names and the order of properties are those that encoding/json/v2 writes.
func TestPropertiesAreTheMembersThatJSONWrites(t *testing.T) {
	one := 1
	for _, v := range []any{
		kinds{Raw: jsontext.Value("1"), Any: 1},
		named{Remote: &Remote{}, Empty: "x", Zero: time.Unix(1, 0)},
		clash{},
		limits{},
		flight{Date: "x"},
		struct {
			base
			Plain *int
		}{Plain: &one},
	} {
		text, err := json.Marshal(v, json.WithMarshalers(json.MarshalFunc(func(*int) ([]byte, error) { return []byte("1"), nil })))
		if err != nil {
			t.Fatal(err)
		}
		written := memberNames(t, text)
		inferred, err := schema.ForType(reflect.TypeOf(v), schema.Output)
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			Properties jsontext.Value `json:"properties"`
		}
		if err := json.Unmarshal(inferred, &s); err != nil {
			t.Fatal(err)
		}
		if got := memberNames(t, s.Properties); !slices.Equal(got, written) {
			t.Errorf("%T: properties %q, JSON has %q", v, got, written)
		}
	}
}

// What encoding/json/v2 writes for a value satisfies the output schema of its type.
func TestOutputSatisfiesItsSchema(t *testing.T) {
	for _, v := range []any{
		forest{},
		tree{Name: "x", Kids: []tree{{Kids: []tree{{}}}}},
		list{{{}}, {}},
		named{Quoted: -5, QuotedF: 1e300, Remote: &Remote{}},
		struct {
			A *int
			E *string `enum:"a|b"`
			T *tree
		}{},
		flight{Number: "AZ1"},
		open{Extra: jsontext.Value(`{"x":[]}`)},
		openInts{Extra: map[string]int{"y": 1}},
	} {
		text, err := schema.ForType(reflect.TypeOf(v), schema.Output)
		if err != nil {
			t.Fatal(err)
		}
		written, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if err := jsonschema.Lazy(text, nil).Validate(written); err != nil {
			t.Errorf("%T: %s: %v", v, written, err)
		}
	}
}

func memberNames(t *testing.T, object jsontext.Value) []string {
	t.Helper()
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	var names []string
	if _, err := dec.ReadToken(); err != nil {
		t.Fatal(err)
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name.String())
		if err := dec.SkipValue(); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func TestSchemaOfATypeBelongsToTheCaller(t *testing.T) {
	t.Parallel()
	first, err := schema.For[flight](schema.Input)
	if err != nil {
		t.Fatal(err)
	}
	want := string(first)
	clear(first)
	if got, err := schema.For[*flight](schema.Input); err != nil || string(got) != want {
		t.Errorf("after the first text was overwritten: got %s, %v, want %s", got, err, want)
	}
}

func TestInferenceIsDeterministic(t *testing.T) {
	for _, typ := range []reflect.Type{reflect.TypeFor[kinds](), reflect.TypeFor[named](), reflect.TypeFor[forest]()} {
		texts := map[string]bool{}
		for range 20 {
			text, err := schema.ForType(typ, schema.Output)
			if err != nil {
				t.Fatal(err)
			}
			texts[string(text)] = true
		}
		if len(texts) != 1 {
			t.Errorf("%s: %d different schemas: %q", typ, len(texts), slices.Collect(maps.Keys(texts)))
		}
	}
}
