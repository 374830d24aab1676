package schema_test

import (
	"reflect"
	"testing"

	"github.com/fondaco/fondaco/mcp/schema"
)

// tagged returns a struct type with one field City of a type and with a tag.
func tagged[T any](tag reflect.StructTag) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: "City", Type: reflect.TypeFor[T](), Tag: tag}})
}

func TestTagsOfOtherLibrariesSayWhatToWriteInstead(t *testing.T) {
	t.Parallel()
	const always = `tag required: leave it out: a field is required unless its json tag has omitzero or omitempty, it is a pointer, or it has a default`
	for _, tt := range []struct {
		typ  reflect.Type
		want string
	}{
		{tagged[string](`description:"name of a city"`), `tag description: want doc:"name of a city"`},
		{tagged[string](`jsonschema_description:"name of a city"`), `tag jsonschema_description: want doc:"name of a city"`},
		{tagged[string](`jsonschema:"name of a city"`), `tag jsonschema: want doc:"name of a city"`},
		{tagged[string](`jsonschema:"the name, in English"`), `tag jsonschema: want doc:"the name, in English"`},
		{tagged[string](`jsonschema:"required,description=name\\, in English,enum=Oslo,enum=Rome,minLength=2"`), `tag jsonschema: want doc:"name, in English" enum:"Oslo|Rome" minlen:"2"`},
		{tagged[int](`jsonschema:"minimum=1,maximum=9,default=3"`), `tag jsonschema: want min:"1" max:"9" default:"3"`},
		{tagged[string](`jsonschema:"required"`), `tag jsonschema: leave it out; the tags of this package are listed in its documentation`},
		{tagged[string](`required:"true"`), always},
		{tagged[string](`json:"city" required:"false"`), `tag required: want json:"city,omitzero", or a pointer: every other field is required`},

		{tagged[string](`maxLength:"80"`), `tag maxLength: want maxlen:"80"`},
		{tagged[string](`max_len:"80"`), `tag max_len: want maxlen:"80"`},
		{tagged[string](`Doc:"x"`), `tag Doc: want doc:"x"`},
		{tagged[int](`minimum:"1"`), `tag minimum: want min:"1"`},
		{tagged[int](`exclusiveMaximum:"1"`), `tag exclusiveMaximum: want xmax:"1"`},
		{tagged[[]int](`uniqueItems:"true"`), `tag uniqueItems: want unique:"true"`},
		{tagged[[]int](`minItems:"1"`), `tag minItems: want minitems:"1"`},
		{tagged[string](`patern:"x"`), `tag patern: want pattern:"x"`},
		{tagged[string](`pattren:"x"`), `tag pattren: want pattern:"x"`},
		{tagged[string](`fromat:"date"`), `tag fromat: want format:"date"`},
		{tagged[string](`examples:"x"`), `tag examples: want example:"x"`},
		{tagged[string](`x-mcp-header:"Region"`), `tag x-mcp-header: want header:"Region"`},
		{tagged[string](`json:"city" doc: "x"`), "tag `doc: \"x\"`: malformed; want doc:\"…\", and a space between two tags"},
		{tagged[string](`maxLength:80`), "tag `maxLength:80`: malformed; want maxlen:\"…\", and a space between two tags"},

		{tagged[string](`enum:"Oslo,Rome"`), `enum "Oslo,Rome": commas separate no values; want enum:"Oslo|Rome", or const for one value that has a comma`},
		{tagged[int](`enum:"1, 2"`), `enum "1, 2": commas separate no values; want enum:"1|2", or const for one value that has a comma`},
		{tagged[[]string](`enum:"a,b"`), `enum "a,b": commas separate no values; want enum:"a|b", or const for one value that has a comma`},
	} {
		for _, use := range []schema.Use{schema.Input, schema.Output} {
			if text, err := schema.ForType(tt.typ, use); err == nil || err.Error() != "field City: "+tt.want {
				t.Errorf("%v:\ngot  %v %s\nwant field City: %s", tt.typ, err, text, tt.want)
			}
		}
	}
}

func TestTagsOfOtherPackagesAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, tag := range []reflect.StructTag{
		`db:"city" yaml:"city" xml:"city,attr" bson:"city" toml:"city" mapstructure:"city" form:"city" uri:"city" msgpack:"city"`,
		`validate:"required,max=80" binding:"required" gorm:"size:80" protobuf:"bytes,1,opt,name=city" env:"CITY" long:"city"`,
		`enum:"Oslo, Norway|Rome, Italy"`,
		`doc:"a, b | c"`,
		`free text`,
	} {
		if _, err := schema.ForType(tagged[string](tag), schema.Input); err != nil {
			t.Errorf("`%s`: %v", tag, err)
		}
	}
}
