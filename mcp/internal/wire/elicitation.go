package wire

import (
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
)

// elicitParams is the schema of a form or, if the revision has modes, of a URL elicitation.
func elicitParams(g *generator) node {
	kinds := g.since(g.facts.ElicitURL, []form{elicitForm}, urlElicitation)
	return oneOf(kinds...)(g)
}

func elicitForm(g *generator) node {
	properties := g.questionMembers()
	properties["requestedSchema"] = of[mcp.ElicitSchema](g)
	if g.facts.ElicitURL {
		properties["mode"] = node{"const": string(mcp.ElicitForm)}
	}
	return record([]string{"message", "requestedSchema"}, properties)
}

func urlElicitation(g *generator) node {
	properties, required := g.questionMembers(), []string{"message", "mode", "url"}
	properties["mode"] = node{"const": string(mcp.ElicitURL)}
	properties["url"] = uri(g)
	if g.facts.Era == dialect.SessionEra {
		properties["elicitationId"] = str(g)
		required = append(required, "elicitationId")
	}
	return record(required, properties)
}

// questionMembers are those of a form and of a URL elicitation.
func (g *generator) questionMembers() node {
	properties := node{"message": str(g)}
	if g.facts.Era == dialect.SessionEra {
		properties["_meta"] = requestMeta(g)
	}
	if g.facts.TaskSupport {
		properties["task"] = of[mcp.TaskMetadata](g)
	}
	return properties
}

func elicitSchema(g *generator) node {
	properties := node{
		"type":       node{"const": "object"},
		"properties": dictionary(primitiveSchema)(g),
		"required":   strs(g),
	}
	if g.facts.RichForms {
		properties["$schema"] = str(g)
	}
	return record([]string{"properties", "type"}, properties)
}

func primitiveSchema(g *generator) node {
	return g.define("PrimitiveSchema", func(g *generator) node {
		kinds := []form{of[mcp.StringSchema], of[mcp.NumberSchema], of[mcp.BooleanSchema], choice}
		kinds = g.since(g.facts.RichForms, kinds, titledChoice, choices(untitledItems), choices(titledItems))
		return oneOf(kinds...)(g)
	})
}

// choice is one value of several, with titles as the first revisions had them.
func choice(g *generator) node {
	out := selection(g, "string", "enum", strs(g))
	properties := out["properties"].(node)
	properties["enumNames"] = strs(g)
	if g.facts.RichForms {
		properties["default"] = str(g)
	}
	return out
}

func titledChoice(g *generator) node {
	out := selection(g, "string", "oneOf", list(of[mcp.EnumOption])(g))
	out["properties"].(node)["default"] = str(g)
	return out
}

// choices are any number of values.
func choices(items form) form {
	return func(g *generator) node {
		out := selection(g, "array", "items", items(g))
		properties := out["properties"].(node)
		properties["minItems"], properties["maxItems"] = node{"type": "integer"}, node{"type": "integer"}
		properties["default"] = strs(g)
		return out
	}
}

func untitledItems(g *generator) node {
	return record([]string{"enum", "type"}, node{"type": node{"const": "string"}, "enum": strs(g)})
}

func titledItems(g *generator) node {
	return record([]string{"anyOf"}, node{"anyOf": list(of[mcp.EnumOption])(g)})
}

// selection is the schema of a choice whose options stand under a keyword.
func selection(g *generator, kind, keyword string, options node) node {
	return record([]string{keyword, "type"}, node{
		"type": node{"const": kind}, "title": str(g), "description": str(g), keyword: options,
	})
}

// answers are the content of a form that was filled in.
func answers(g *generator) node {
	value := func(*generator) node { return node{"type": []string{"string", "number", "boolean"}} }
	return dictionary(oneOf(g.since(g.facts.RichForms, []form{value}, strs)...))(g)
}
