module github.com/fondaco/fondaco/interop/peers

go 1.27.0

require (
	github.com/google/jsonschema-go v0.3.0
	github.com/mark3labs/mcp-go v0.32.0
	github.com/modelcontextprotocol/go-sdk v1.2.0
)

require (
	github.com/google/uuid v1.6.0 // indirect
	github.com/spf13/cast v1.7.1 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	golang.org/x/oauth2 v0.30.0 // indirect
)
