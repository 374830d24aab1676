// Package mcpmodel converts between MCP and the APIs of models: Anthropic (Messages), OpenAI
// (Chat Completions and Responses) and Gemini (generateContent). All four have the same
// methods, so an agent loop is written once:
//
//	api := mcpmodel.Anthropic
//	tools, err := api.Tools(list) // err names tools that the API cannot take; the others work
//	messages := []jsontext.Value{api.User(mcp.Text("What is the weather in Turin?"))}
//	for {
//		response := … // send messages and tools to the API
//		turn, err := tools.Turn(response)
//		messages = append(messages, turn.Messages...)
//		if len(turn.Calls) == 0 {
//			return turn.Text
//		}
//		var results []mcpmodel.Result
//		for _, call := range turn.Calls {
//			result, err := client.CallTool(ctx, call.Name, call.Arguments)
//			results = append(results, call.Result(result, err))
//		}
//		messages = append(messages, api.Results(results...)...)
//	}
//
// The package sends nothing: requests and responses are JSON values, for net/http or the SDK
// of a provider. It describes each API in one table (rules.go), as it was documented in
// November 2026. What a provider changes later needs a new version of this package.
//
// # Schemas
//
// The input schema of each tool is lowered to what the API takes: references are inlined
// (recursive ones are cut where they repeat), allOf is merged, oneOf becomes anyOf, unions at
// the root become one object, and keywords that the API does not know become a note in the
// description, or are dropped. The lowered schema is looser than the original or equal to
// it, so no valid call is lost; servers validate arguments anyway. Three rules narrow a schema:
// a missing type is inferred from the keywords beside it, an optional property whose name the
// API refuses is left out, and where a union becomes one object, a property has the schemas of
// those alternatives that name it.
//
// Schemas come from servers, which may be hostile. Reading, expanding and writing one is
// bounded; a schema over a bound is an error for its tool and leaves the other tools alone.
//
// # Names
//
// A name that an API refuses is an error for its tool. The tools of an mcpclient.Group have
// the names of mcp.QualifiedName, which are unique and fit every API here if the names of the
// servers begin with a letter: Gemini refuses a digit there.
package mcpmodel
