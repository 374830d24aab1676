module github.com/fondaco/fondaco/examples/mounted

go 1.27.0

require (
	github.com/fondaco/fondaco v0.0.0
	github.com/go-chi/chi/v5 v5.5.0
	github.com/golang-jwt/jwt/v5 v5.3.1
)

require (
	github.com/go-jose/go-jose/v4 v4.1.8 // indirect
	github.com/santhosh-tekuri/jsonschema/v6 v6.0.3 // indirect
	golang.org/x/text v0.43.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace github.com/fondaco/fondaco => ../../
