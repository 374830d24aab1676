// Package accounts is an application that knows its users by JWTs.
package accounts

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// User is what a JWT says.
type User struct {
	jwt.RegisteredClaims
	Scope string `json:"scope"`
}

// Scopes returns what the user may do.
func (u *User) Scopes() []string { return strings.Fields(u.Scope) }

// App is the application. Its key is at least 32 bytes long.
type App struct{ Key []byte }

// Parse returns the user of a JWT.
func (a *App) Parse(token string) (*User, error) {
	u := new(User)
	_, err := jwt.ParseWithClaims(token, u, func(*jwt.Token) (any, error) { return a.Key, nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithAudience("app"), jwt.WithExpirationRequired())
	if err != nil {
		return nil, err
	}
	return u, nil
}

// User returns the user of a request.
func (a *App) User(r *http.Request) (*User, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return nil, errors.New("the request has no JWT")
	}
	return a.Parse(token)
}

// Token returns a JWT for an hour.
func (a *App) Token(name, scope string) (string, error) {
	u := User{Scope: scope, RegisteredClaims: jwt.RegisteredClaims{
		Subject: name, Audience: jwt.ClaimStrings{"app"}, ExpiresAt: jwt.NewNumericDate(time.Now().Add(time.Hour)),
	}}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, u).SignedString(a.Key)
}

// Home is a page of the application.
func (a *App) Home(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("the application")) }
