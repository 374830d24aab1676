package handles_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/fondaco/fondaco/mcp/mcpext/handles"
)

// One tool makes a basket and returns its handle, others take the handle as an
// argument.
func ExampleHandles() {
	type Basket struct{ Items []string }
	baskets := handles.New[Basket](&handles.Options{Prefix: "basket_"})
	ctx := context.Background() // that of a call

	handle, err := baskets.New(ctx, Basket{})
	fmt.Println(strings.HasPrefix(handle, "basket_"), err)
	b, err := baskets.Update(ctx, handle, func(b *Basket) error {
		b.Items = append(b.Items, "pear")
		return nil
	})
	fmt.Println(b.Items, err)
	_, err = baskets.Get(ctx, "basket_OFSOMEBODYELSE")
	fmt.Println(errors.Is(err, handles.ErrUnknown))
	// Output:
	// true <nil>
	// [pear] <nil>
	// true
}
