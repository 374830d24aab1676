package wire

import (
	"maps"
	"reflect"
	"slices"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// written has the forms of the types whose JSON reflection does not show.
var written map[reflect.Type]form

func init() {
	written = map[reflect.Type]form{
		reflect.TypeFor[[]byte]():                base64,
		reflect.TypeFor[mcp.Meta]():              object,
		reflect.TypeFor[mcp.ProgressToken]():     requestID,
		reflect.TypeFor[mcp.Reference]():         reference,
		reflect.TypeFor[mcp.ResourceContents]():  resourceContents,
		reflect.TypeFor[mcp.Content]():           contentBlock,
		reflect.TypeFor[mcp.Contents]():          list(contentBlock),
		reflect.TypeFor[mcp.TextContent]():       tagged[mcp.TextContent]("text"),
		reflect.TypeFor[mcp.ImageContent]():      tagged[mcp.ImageContent]("image"),
		reflect.TypeFor[mcp.AudioContent]():      tagged[mcp.AudioContent]("audio"),
		reflect.TypeFor[mcp.ResourceLink]():      tagged[mcp.ResourceLink]("resource_link"),
		reflect.TypeFor[mcp.EmbeddedResource]():  tagged[mcp.EmbeddedResource]("resource"),
		reflect.TypeFor[mcp.ToolUseContent]():    tagged[mcp.ToolUseContent]("tool_use"),
		reflect.TypeFor[mcp.ToolResultContent](): tagged[mcp.ToolResultContent]("tool_result"),
		reflect.TypeFor[mcp.PromptMessage]():     plain[mcp.PromptMessage],
		reflect.TypeFor[mcp.ElicitParams]():      elicitParams,
		reflect.TypeFor[mcp.ElicitSchema]():      elicitSchema,
		reflect.TypeFor[mcp.StringSchema]():      tagged[mcp.StringSchema]("string"),
		reflect.TypeFor[mcp.NumberSchema]():      tagged[mcp.NumberSchema]("number", "integer"),
		reflect.TypeFor[mcp.BooleanSchema]():     tagged[mcp.BooleanSchema]("boolean"),
	}
}

// of is the form of a type.
func of[T any](g *generator) node { return g.of(reflect.TypeFor[T]()) }

// plain is the form of a struct that has its own JSON encoding, but with the members
// of its fields.
func plain[T any](g *generator) node { return g.object(reflect.TypeFor[T]()) }

// tagged is the form of a struct whose JSON has a member "type" in addition to its fields.
func tagged[T any](tags ...string) form {
	return func(g *generator) node {
		out := plain[T](g)
		out["properties"].(node)["type"] = node{"enum": tags}
		required, _ := out["required"].([]string)
		out["required"] = append(required, "type")
		return out
	}
}

func list(element form) form {
	return func(g *generator) node { return node{"type": "array", "items": element(g)} }
}

func dictionary(value form) form {
	return func(g *generator) node { return node{"type": "object", "additionalProperties": value(g)} }
}

func oneOf(alternatives ...form) form {
	return func(g *generator) node {
		var nodes []any
		for _, alternative := range alternatives {
			nodes = append(nodes, alternative(g))
		}
		return node{"anyOf": nodes}
	}
}

// since adds alternatives to a list if a fact holds.
func (g *generator) since(holds bool, alternatives []form, more ...form) []form {
	if holds {
		return append(alternatives, more...)
	}
	return alternatives
}

func anything(*generator) node  { return node{} }
func object(*generator) node    { return node{"type": "object"} }
func str(*generator) node       { return node{"type": "string"} }
func base64(*generator) node    { return node{"type": "string", "contentEncoding": "base64"} }
func uri(*generator) node       { return node{"type": "string", "format": "uri"} }
func natural(*generator) node   { return node{"type": "integer", "minimum": 0} }
func fraction(*generator) node  { return node{"type": "number", "minimum": 0, "maximum": 1} }
func requestID(*generator) node { return node{"type": []string{"string", "integer"}} }

var (
	strs    = list(str)
	texts   = dictionary(str)
	objects = dictionary(object)
)

// extensions are also negotiated in sessions, although no revision of the session era
// describes it.
func extensions(g *generator) node {
	if g.facts.Era == dialect.StatelessEra {
		return objects(g)
	}
	return node{}
}

// uriTemplate does not check the grammar of RFC 6570: the format of JSON Schema covers only
// a part of it, and templates are parsed when they are registered.
func uriTemplate(g *generator) node { return str(g) }

// takes is the form of the capability to run requests as tasks. Each side has other
// kinds of requests.
func takes(kinds ...string) form {
	return func(g *generator) node {
		requests := plain[mcp.TaskRequests](g)
		maps.DeleteFunc(requests["properties"].(node), func(kind string, _ any) bool { return !slices.Contains(kinds, kind) })
		out := plain[mcp.TasksCapability](g)
		out["properties"].(node)["requests"] = requests
		return out
	}
}

// record is the form of an object that has no Go type of its own.
func record(required []string, properties node) node {
	return node{"type": "object", "properties": properties, "required": required}
}

func reference(g *generator) node {
	prompt := node{"type": node{"const": string(mcp.RefPrompt)}, "name": str(g)}
	if g.facts.Titles {
		prompt["title"] = str(g)
	}
	resource := node{"type": node{"const": string(mcp.RefResource)}, "uri": uriTemplate(g)}
	return node{"anyOf": []any{
		record([]string{"name", "type"}, prompt),
		record([]string{"type", "uri"}, resource),
	}}
}

func resourceContents(g *generator) node {
	of := func(member string, value node) node {
		properties := node{"uri": uri(g), "mimeType": str(g), member: value}
		if g.facts.MetaOnListed {
			properties["_meta"] = object(g)
		}
		return record([]string{member, "uri"}, properties)
	}
	return node{"anyOf": []any{of("text", str(g)), of("blob", base64(g))}}
}

func contentBlock(g *generator) node {
	kinds := []form{of[mcp.TextContent], of[mcp.ImageContent], of[mcp.EmbeddedResource]}
	kinds = g.since(g.facts.Audio, kinds, of[mcp.AudioContent])
	kinds = g.since(g.facts.ResourceLinks, kinds, of[mcp.ResourceLink])
	return oneOf(kinds...)(g)
}

// samplingContent is one block or, in revisions with tools in sampling, any number of them.
func samplingContent(g *generator) node {
	kinds := []form{of[mcp.TextContent], of[mcp.ImageContent]}
	kinds = g.since(g.facts.Audio, kinds, of[mcp.AudioContent])
	kinds = g.since(g.facts.SamplingTools, kinds, of[mcp.ToolUseContent], of[mcp.ToolResultContent])
	kinds = g.since(g.facts.SamplingTools, kinds, list(oneOf(kinds...)))
	return oneOf(kinds...)(g)
}

// resultType is the type of a result. The schema allows any, but each result has its own.
func resultType(kind mcp.ResultType) form {
	return func(g *generator) node {
		if g.strict {
			return node{"const": string(kind)}
		}
		return str(g)
	}
}

func structuredContent(g *generator) node {
	if g.facts.Structured == dialect.AnyStructured {
		return node{}
	}
	return node{"type": "object"}
}

// completionValues are at most 100. The schema says so only in the stateless era.
func completionValues(g *generator) node {
	out := strs(g)
	if g.facts.Era == dialect.StatelessEra {
		out["maxItems"] = 100
	}
	return out
}

func inputSchema(g *generator) node {
	out := toolSchema(g)
	out["properties"].(node)["type"] = node{"const": "object"}
	out["required"] = []string{"type"}
	return out
}

func outputSchema(g *generator) node {
	if g.facts.Structured == dialect.AnyStructured {
		return toolSchema(g)
	}
	return inputSchema(g)
}

// toolSchema is the form of the JSON Schema of a tool, without a condition on its root.
func toolSchema(g *generator) node {
	properties := node{}
	if g.facts.RichForms {
		properties["$schema"] = str(g)
	}
	if g.facts.Era == dialect.SessionEra {
		properties["properties"] = objects(g)
		properties["required"] = strs(g)
	}
	return node{"type": "object", "properties": properties}
}

func inputRequests(g *generator) node {
	ask := func(method string, params form, required ...string) form {
		return func(g *generator) node {
			return record(append(required, "method"), node{"method": node{"const": method}, "params": params(g)})
		}
	}
	noParams := func(g *generator) node { return node{"type": "object", "properties": node{"_meta": object(g)}} }
	return dictionary(oneOf(
		ask(mcp.MethodElicit, of[mcp.ElicitParams], "params"),
		ask(mcp.MethodCreateMessage, of[mcp.CreateMessageParams], "params"),
		ask(mcp.MethodRootsList, noParams),
	))(g)
}

func inputResponses(g *generator) node {
	return dictionary(oneOf(of[mcp.ElicitResult], of[mcp.CreateMessageResult], of[mcp.ListRootsResult]))(g)
}
