// Basket keeps state between calls: one tool creates a basket and returns its handle, the
// other tools take the handle.
package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/fondaco/fondaco/mcp/mcpext/handles"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

type basket struct {
	Items []item `json:"items"`
}

type item struct {
	Article string `json:"article"`
	Count   int    `json:"count"`
}

var baskets = handles.New[basket](&handles.Options{Prefix: "basket_"})

func main() {
	srv := mcpserver.New("basket", "1.0.0", nil)
	srv.Tool("create_basket", "Create an empty basket. It is kept for 30 minutes after it was used last.", create, mcpserver.NonDestructive())
	srv.Tool("add_item", "Put an article into a basket", add, mcpserver.NonDestructive())
	srv.Tool("show_basket", "Show what is in a basket", show, mcpserver.ReadOnly())
	srv.Tool("check_out", "Buy what is in a basket, and give the basket back", checkOut)
	mcpserver.Main(srv)
}

type handle struct {
	Basket string `json:"basket" doc:"handle of the basket, as create_basket returned it"`
}

type addition struct {
	Basket  string `json:"basket" doc:"handle of the basket, as create_basket returned it"`
	Article string `json:"article" maxlen:"80"`
	Count   int    `json:"count" min:"1" max:"99" default:"1"`
}

func create(ctx context.Context, _ struct{}) (handle, error) {
	h, err := baskets.New(ctx, basket{Items: []item{}})
	return handle{h}, err
}

func add(ctx context.Context, in addition) (basket, error) {
	return baskets.Update(ctx, in.Basket, func(b *basket) error {
		i := slices.IndexFunc(b.Items, func(i item) bool { return i.Article == in.Article })
		if i < 0 {
			i = len(b.Items)
			b.Items = append(b.Items, item{Article: in.Article})
		}
		b.Items[i].Count += in.Count
		return nil
	})
}

func show(ctx context.Context, in handle) (basket, error) { return baskets.Get(ctx, in.Basket) }

func checkOut(ctx context.Context, in handle) (string, error) {
	b, err := baskets.Delete(ctx, in.Basket)
	return fmt.Sprintf("Bought %d articles.", len(b.Items)), err
}
